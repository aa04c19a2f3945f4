"""A workspace of agent `ops` on a real disk, known to archives."""

import os
from pathlib import Path

import pytest

from archives.models import Workspace

TS = "2026-04-16-14-30-05"
OLD = 1_700_000_000  # folders this old are settled: their times are trusted


@pytest.fixture
def workspace(db, tmp_path) -> Workspace:
    root = tmp_path / "workspace-ops"
    root.mkdir()
    return Workspace.objects.create(agent_id="ops", root=str(root), label="Ops", zone="UTC")


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
