"""A workspace of agent `ops` on a real disk, known to archives."""

import json
import os
from pathlib import Path

import pytest

from archives.models import Workspace

TS = "2026-04-16-14-30-05"
OLD = 1_700_000_000  # folders this old are settled: their times are trusted


@pytest.fixture
def know(db, state_dir):
    """`know("ops", root)` makes an agent known: in openclaw.json, which pages follow, and as a workspace."""
    agents: dict[str, dict] = {}

    def make_known(agent_id: str, root: Path | str) -> Workspace:
        agents[agent_id] = {"id": agent_id, "name": agent_id.title(), "workspace": str(root)}
        (state_dir / "openclaw.json").write_text(
            json.dumps({"agents": {"defaults": {"userTimezone": "UTC"}, "list": list(agents.values())}})
        )
        row, _made = Workspace.objects.update_or_create(
            agent_id=agent_id,
            defaults={
                "root": str(root),
                "label": agent_id.title(),
                "zone": "UTC",
                "indexed_zone": "UTC",
            },
        )
        return row

    return make_known


@pytest.fixture
def workspace(know, tmp_path) -> Workspace:
    root = tmp_path / "workspace-ops"
    root.mkdir()
    return know("ops", root)


@pytest.fixture
def put(workspace):
    """`put("archives/main/…/a.md", data)` writes a file as an agent would, without our store."""

    def write(path: str, data: bytes | str = b"content", *, root: Path | None = None) -> Path:
        file = (root or workspace.path) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return file

    return write


@pytest.fixture
def settle(workspace):
    """Makes every folder look old, so that the next scan trusts their times."""

    def make_old() -> None:
        for folder, _names, _files in os.walk(workspace.path):
            os.utime(folder, (OLD, OLD))

    return make_old
