"""Where our own files about archives lie, all under DATA_DIR: plan histories and index locks."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from archives.models import Workspace
from openclaw_web.paths import data_dir


def history_of(agent_id: str) -> Path:
    """Where earlier texts of an agent's plans are kept."""
    return data_dir() / "plan-history" / _folder_name(agent_id)


@contextmanager
def index_lock(workspace: Workspace, *, wait: bool = True) -> Iterator[bool]:
    """Hold the right to index a workspace, across processes; yields False where it is held and `wait` is not set."""
    folder = data_dir() / "locks"
    folder.mkdir(exist_ok=True)
    name = folder / f"index-{_folder_name(workspace.agent_id)}"
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            held = True
        except BlockingIOError:
            held = False
        yield held
    finally:
        os.close(handle)


def _folder_name(agent_id: str) -> str:
    # Agent ids come from a configuration file; only plain ones become folder names as they are.
    plain = "".join(char if char.isalnum() or char in "-_" else f"%{ord(char):x}" for char in agent_id)
    return plain[:120] or "%"
