"""One writer at a time per target skill, over processes, without a trace after a kill.

The lock is an advisory `flock` on an empty file in `<state-dir>/skill-workshop/.locks/`: the kernel drops it
with its process. It lies in the state folder because that is what all writers of one Workshop share.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT_SECONDS = 20.0
_STEP = 0.01


class LockBusy(Exception):
    """Somebody else holds the lock."""


def lock_name(agent_id: str, target_dir: str) -> str:
    """The file name that stands for a target; hashed, since a key may be longer than a name can be."""
    return hashlib.sha256(f"{agent_id}\0{target_dir}".encode("utf-8", "replace")).hexdigest()[:32]


@contextmanager
def hold(state_dir: Path, name: str, *, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the named lock. Raises LockBusy after `wait` seconds; `wait=0` only tries once."""
    folder = state_dir / "skill-workshop" / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _acquire(handle, name, wait)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, name: str, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockBusy(name) from None
            time.sleep(_STEP)
