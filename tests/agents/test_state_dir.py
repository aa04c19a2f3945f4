"""Every page over a state dir with Chinese names, links out of the workspace and a broken openclaw.json."""

import pytest

from archives.models import ArchiveFile, Workspace
from archives.tasks import follow_disk
from tests.agents.world import SECRET, TOKEN, break_config, dress, fingerprint, walk

pytestmark = pytest.mark.django_db

CONFIG = """// the state dir of two agents
{
  gateway: { auth: { mode: "token", token: "%s" } },
  agents: {
    entries: {
      main: { workspace: "${OPENCLAW_STATE_DIR}/workspace" },
      ops: { name: "运维" },
    },
  },
}
"""


def check_every_page(client, config, workspaces, outside, *, files, each, limit):
    """What the issue asks of a real state dir, step by step; used with the real one too."""
    before = fingerprint(*workspaces.values(), outside)
    assert client.get("/agents/").status_code == 200
    follow_disk()
    assert ArchiveFile.objects.count() == files
    assert set(Workspace.objects.values_list("agent_id", flat=True)) == set(workspaces)
    opened = walk(client, each=each, limit=limit)
    for view in (
        "home",
        "agents:roster",
        "agents:agent",
        "agents:file",
        "archives:archives",
        "archives:archive",
    ):
        assert opened.get(view), f"no link led to {view}"
    page = client.get("/archives/main/任务-000/").content.decode()
    assert "第00000份 报告🦞.md" in page
    assert "泄漏 leak.md" not in client.get("/archives/main/main/", follow=True).content.decode()

    line, column = break_config(config)
    html = client.get("/agents/").content.decode()
    assert f"Line {line}, column {column}." in html
    assert "Shown is the last good roster" in html
    assert TOKEN not in html
    assert walk(client, each=each, limit=limit // 2)["agents:file"] > 0
    assert ArchiveFile.objects.count() == files
    for agent_id in workspaces:
        for name, why in (("USER.md", "Links in a workspace"), ("MEMORY.md", "It has a second name")):
            html = client.get(f"/agents/{agent_id}/files/{name}").content.decode()
            assert why in html
            assert SECRET not in html
    assert fingerprint(*workspaces.values(), outside) == before


def test_every_page_is_right_nothing_raises_and_nothing_escapes(administrator, state_dir, tmp_path):
    (state_dir / "openclaw.json").write_text(CONFIG.replace("%s", TOKEN))
    workspaces = {"main": state_dir / "workspace", "ops": state_dir / "workspace-ops"}
    dress(workspaces, tmp_path / "outside", files=240)
    check_every_page(
        administrator,
        state_dir / "openclaw.json",
        workspaces,
        tmp_path / "outside",
        files=240,
        each=4,
        limit=150,
    )
