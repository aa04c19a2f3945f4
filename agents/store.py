"""The files of an agent's workspace that say who it is and how it works: read, never followed, never guessed.

Source: spec/agents.md §2, seeds/openclaw-docs.txt, reports.md rows 38 and 39. Only the names below, only regular
files, opened without following links and without waiting (a FIFO, a device or a link is refused by what was
opened, not by what was looked at before). What could not be read is never reported as read.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

FILE_NAMES = (
    "AGENTS.md",
    "SOUL.md",
    "IDENTITY.md",
    "USER.md",
    "TOOLS.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "MEMORY.md",
)
IDENTITY_FILES = ("SOUL.md", "IDENTITY.md")
MAX_BYTES = 2 * 1024 * 1024

Status = Literal["read", "found", "missing", "refused", "failed"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


_SHOWN = {"utf-8-sig": "utf-8"}


@dataclass(frozen=True)
class WorkspaceFile:
    """One allowed name in one workspace, as it was at `looked_at`.

    `status`: `read` (text, hash and encoding are there), `found` (a regular file that was only looked at),
    `missing`, `refused` (there is something, and it is not opened: `reason` link | not_regular | hard_link |
    too_large), `failed` (`reason` no_permission | not_a_folder | changing | io). `bad_byte` is the offset of the
    first byte that is not valid in `encoding`; such bytes show as U+FFFD.
    """

    name: str
    path: Path
    status: Status
    looked_at: datetime
    reason: str = ""
    size: int | None = None
    changed_at: datetime | None = None
    text: str = ""
    sha256: str = ""
    encoding: str = ""
    bad_byte: int | None = None

    @property
    def is_identity(self) -> bool:
        return self.name in IDENTITY_FILES

    @property
    def was_read(self) -> bool:
        return self.status == "read"


def list_files(workspace: Path) -> list[WorkspaceFile]:
    """Every allowed name, looked at but not opened. Never raises: a bad workspace makes eight failed files."""
    now = datetime.now(UTC)
    try:
        with _folder(workspace) as folder:
            return [_look(workspace, folder, name, now) for name in FILE_NAMES]
    except OSError as error:
        status, reason = _why(error)
        return [WorkspaceFile(name, workspace / name, status, now, reason) for name in FILE_NAMES]


def read_file(workspace: Path, name: str) -> WorkspaceFile:
    """One allowed file, read whole. Raises ValueError for a name that is not allowed; all else is in the status."""
    if name not in FILE_NAMES:
        raise ValueError(name)
    now = datetime.now(UTC)
    path = workspace / name
    try:
        with _folder(workspace) as folder:
            # Looked at first: to open a device can do something. Asked again of what was opened, below.
            seen = _look(workspace, folder, name, now)
            if seen.status != "found":
                return seen
            with _opened(name, folder) as handle:
                return _read(path, name, handle, now)
    except OSError as error:
        status, reason = _why(error)
        return WorkspaceFile(name, path, status, now, reason)


@contextmanager
def _folder(workspace: Path) -> Iterator[int]:
    # The workspace itself may be a link: it is the operator's own setting. What is in it may not.
    handle = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _look(workspace: Path, folder: int, name: str, now: datetime) -> WorkspaceFile:
    path = workspace / name
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        status, reason = _why(error)
        return WorkspaceFile(name, path, status, now, reason)
    refusal = _refusal(found)
    return WorkspaceFile(
        name,
        path,
        "refused" if refusal else "found",
        now,
        refusal,
        size=found.st_size if stat.S_ISREG(found.st_mode) else None,
        changed_at=datetime.fromtimestamp(found.st_mtime, UTC),
    )


def _read(path: Path, name: str, handle: int, now: datetime) -> WorkspaceFile:
    for _attempt in range(2):
        before = os.fstat(handle)
        refusal = _refusal(before)
        changed_at = datetime.fromtimestamp(before.st_mtime, UTC)
        if refusal:
            return WorkspaceFile(name, path, "refused", now, refusal, changed_at=changed_at)
        data = _all_bytes(handle)
        after = os.fstat(handle)
        is_still = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        if is_still and len(data) == after.st_size:
            text, encoding, bad_byte = decode(data)
            digest = hashlib.sha256(data).hexdigest()
            return WorkspaceFile(
                name, path, "read", now, "", len(data), changed_at, text, digest, encoding, bad_byte
            )
    # Half of an old text and half of a new one is no text that anybody wrote.
    return WorkspaceFile(name, path, "failed", now, "changing", changed_at=changed_at)


def _all_bytes(handle: int) -> bytes:
    """From the beginning, one byte more than is allowed at most."""
    parts, place = [], 0
    while place <= MAX_BYTES:
        part = os.pread(handle, min(1 << 20, MAX_BYTES + 1 - place), place)
        if not part:
            break
        parts.append(part)
        place += len(part)
    return b"".join(parts)


def _refusal(found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return "link"
    if not stat.S_ISREG(found.st_mode):
        return "not_regular"
    if found.st_nlink > 1:
        # A second name of a file elsewhere: an agent could so show the page what it may not.
        return "hard_link"
    return "too_large" if found.st_size > MAX_BYTES else ""


def _why(error: OSError) -> tuple[Status, str]:
    if error.errno == errno.ENOENT:
        return "missing", ""
    if error.errno == errno.ELOOP:
        return "refused", "link"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "failed", "no_permission"
    if error.errno == errno.ENOTDIR:
        return "failed", "not_a_folder"
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return "refused", "not_regular"
    return "failed", "io"


def decode(data: bytes) -> tuple[str, str, int | None]:
    """Text, the encoding it was read in, and the offset of the first byte that is not valid in it.

    UTF-8 unless a byte order mark says otherwise; nothing is guessed beyond that.
    """
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "utf-8")
    try:
        return data.decode(encoding), _SHOWN.get(encoding, encoding), None
    except UnicodeDecodeError as error:
        return data.decode(encoding, "replace"), _SHOWN.get(encoding, encoding), error.start
