"""The demo's two agents: an openclaw.json with comments, and their workspace files in two languages."""

from pathlib import Path

from django.utils.translation import gettext as _

from agents.models import GoodRoster
from agents.roster import config_path, forget_roster, sync_workspaces
from archives.models import Workspace
from gateway.demo import DemoError, World

FILES = Path(__file__).parent / "demo_files"
AGENTS = ("main", "ops")


def build(world: World) -> None:
    """Two agents with eleven workspace files, so that everything else has somewhere to lie."""
    if config_path() != world.root / "openclaw.json":
        raise DemoError(
            _(
                "OPENCLAW_CONFIG_PATH names another configuration, so the demo's agents would not be seen. "
                "Unset it for the demo."
            ),
            code="taken",
        )
    for agent_id in AGENTS:
        for source in sorted((FILES / agent_id).iterdir()):
            world.write(f"workspace-{agent_id}/{source.name}", source.read_bytes())
    world.write("openclaw.json", (FILES / "openclaw.json").read_bytes())
    forget_roster()
    sync_workspaces()


def remove(world: World) -> None:
    """What the pages remember of them; the files go with the world."""
    GoodRoster.objects.filter(source=str(config_path())).delete()
    Workspace.objects.filter(agent_id__in=AGENTS, root__startswith=f"{world.root}/").delete()
    forget_roster()
