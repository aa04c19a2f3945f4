"""Every write about agents: those made in the dashboard, the last good roster, the roots the archives know."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agents.entries import Agent, Listing, normal_id
from agents.errors import AgentsError
from agents.models import GoodRoster, MadeAgent
from archives.models import Workspace
from gateway import audit, events
from gateway.callers import ADMIN, Caller

_SYSTEM_FOLDERS = ("/proc", "/sys", "/dev", "/etc", "/boot", "/bin", "/sbin", "/usr", "/lib")


def make_agent(
    caller: Caller, *, agent_id: str, name: str = "", workspace: str = "", description: str = ""
) -> MadeAgent:
    """Makes an agent of the dashboard; its folder is made too, where it does not exist.

    Without `workspace` it lives in `<state-dir>/workspace-<id>`. Raises AgentsError; needs the admin scope.
    """
    caller.require_scope(ADMIN)
    if normal_id(agent_id) != agent_id.strip():
        raise AgentsError(
            _("An id is 1–64 characters: a–z, 0–9, - and _, and begins with a letter or a digit."),
            code="bad_id",
        )
    agent_id = agent_id.strip()
    if MadeAgent.objects.filter(agent_id=agent_id).exists():
        raise AgentsError(_("There is already an agent “%(id)s”.") % {"id": agent_id}, code="id_taken")
    root = checked_workspace(workspace or str(Path(settings.OPENCLAW_STATE_DIR) / f"workspace-{agent_id}"))
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise AgentsError(
            _("The folder %(path)s cannot be made: %(why)s.") % {"path": root, "why": error.strerror},
            code="bad_workspace",
        ) from error
    try:
        made = MadeAgent.objects.create(
            agent_id=agent_id,
            name=checked_name(name or agent_id),
            workspace=str(root),
            description=description.strip()[:1000],
            made_by=caller.label[:200],
        )
    except IntegrityError:
        raise AgentsError(
            _("There is already an agent “%(id)s”.") % {"id": agent_id}, code="id_taken"
        ) from None
    audit.record(caller, "agent.make", subject=agent_id, agent_id=agent_id, detail={"workspace": str(root)})
    events.publish("agent.made", agent_id=agent_id, subject=made.name, caller=caller)
    return made


def change_agent(
    made: MadeAgent, caller: Caller, *, name: str, workspace: str, description: str = ""
) -> MadeAgent:
    """Changes what people call an agent of the dashboard, or where it lives. No file is moved."""
    caller.require_scope(ADMIN)
    before = made.workspace
    made.name = checked_name(name)
    made.workspace = str(checked_workspace(workspace))
    made.description = description.strip()[:1000]
    made.save(update_fields=["name", "workspace", "description"])
    moved = {"from": before, "to": made.workspace} if made.workspace != before else {}
    audit.record(caller, "agent.change", subject=made.agent_id, agent_id=made.agent_id, detail=moved)
    events.publish("agent.changed", agent_id=made.agent_id, subject=made.name, caller=caller)
    return made


def remove_agent(made: MadeAgent, caller: Caller) -> None:
    """Takes an agent of the dashboard off the roster. Its folder and files stay where they are."""
    caller.require_scope(ADMIN)
    agent_id, name = made.agent_id, made.name
    made.delete()
    audit.record(caller, "agent.remove", subject=agent_id, agent_id=agent_id)
    events.publish("agent.removed", agent_id=agent_id, subject=name, caller=caller)


def checked_name(name: str) -> str:
    """The name without space around it. Raises AgentsError `bad_name`."""
    bare = name.strip()
    if not bare or len(bare) > 200 or not bare.isprintable():
        raise AgentsError(_("A name has 1–200 visible characters."), code="bad_name")
    return bare


def checked_workspace(text: str) -> Path:
    """An absolute, normal path that may be a workspace. Raises AgentsError `bad_workspace`."""
    bare = text.strip()
    if bare.startswith("~"):
        bare = str(Path(bare).expanduser())
    if not bare.startswith("/") or not bare.isprintable() or len(bare) > 1000:
        raise AgentsError(
            _("A workspace is an absolute path, such as /home/me/agents/ops."), code="bad_workspace"
        )
    path = Path(os.path.normpath(bare))
    real = Path(os.path.realpath(path))
    ours = Path(os.path.realpath(settings.DATA_DIR))
    forbidden = [Path(folder) for folder in _SYSTEM_FOLDERS]
    if real == Path("/") or real == Path(os.path.realpath(settings.OPENCLAW_STATE_DIR)):
        raise AgentsError(
            _("%(path)s cannot be a workspace as a whole.") % {"path": path}, code="bad_workspace"
        )
    if any(real.is_relative_to(folder) for folder in (*forbidden, ours)) or ours.is_relative_to(real):
        raise AgentsError(
            _("%(path)s belongs to the system or to this dashboard.") % {"path": path}, code="bad_workspace"
        )
    if path.exists() and not path.is_dir():
        raise AgentsError(_("%(path)s is not a folder.") % {"path": path}, code="bad_workspace")
    return path


def keep_roster(source: Path, listing: Listing, read_at: datetime) -> None:
    """Remembers a roster that could be read, for the time when the file cannot be."""
    agents = [
        {**asdict(agent), "workspace": str(agent.workspace), "agent_dir": str(agent.agent_dir)}
        for agent in listing.agents
    ]
    GoodRoster.objects.update_or_create(
        source=str(source),
        defaults={
            "agents": agents,
            "default_id": listing.default_id,
            "ownership": listing.ownership,
            "selection_required": listing.selection_required,
            "session_scope": listing.session_scope,
            "read_at": read_at,
        },
    )


def listing_of(kept: GoodRoster) -> Listing:
    """The listing that was kept."""
    return Listing(
        agents=tuple(
            Agent(
                **{
                    **row,
                    "workspace": Path(row["workspace"]),
                    "agent_dir": Path(row["agent_dir"]),
                    "unset": tuple(row["unset"]),
                }
            )
            for row in kept.agents
        ),
        ownership=kept.ownership,  # type: ignore[arg-type]
        default_id=kept.default_id,
        selection_required=kept.selection_required,
        session_scope=kept.session_scope,
    )


def follow_roster(agents: Iterable[Agent]) -> int:
    """Gives the archives one root per agent; agents whose path names an unset variable have none.

    Only rows that differ are written. Returns how many roots there are.
    """
    wanted = {agent.id: (str(agent.workspace), agent.name) for agent in agents if not agent.unset}
    known = {row.agent_id: (row.root, row.label) for row in Workspace.objects.all()}
    if wanted == known:
        return len(wanted)
    with transaction.atomic():
        for agent_id, (root, label) in wanted.items():
            if known.get(agent_id) != (root, label):
                Workspace.objects.update_or_create(agent_id=agent_id, defaults={"root": root, "label": label})
        Workspace.objects.exclude(agent_id__in=wanted).delete()
    return len(wanted)
