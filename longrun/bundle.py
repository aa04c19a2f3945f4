"""The file side of `manage.py skills install`: the shipped skills, and what of them stands in a workspace.

Takes the workspace's root; nothing is followed that is a symlink. What was installed is remembered by hash in
`.openclaw-web/installed.json`, which is how an edited file is told from an old one.
"""

import difflib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from archives.errors import NotThere
from archives.opening import open_folder, open_in_folder
from archives.store import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, sweep_temporaries

SHIPPED = Path(__file__).resolve().parent.parent / "skills"
OWN = ".openclaw-web"
MANIFEST = "installed.json"
CONFIG = "client.json"
_NEVER = {"__pycache__", ".task-state.json", "watchdog.log"}

Kind = Literal["same", "new", "update", "edited", "gone"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file of the bundle against the workspace. `path` is relative to the workspace (`skills/…`).

    `edited`: it is neither what is shipped now nor what was installed before; `diff` shows how it differs.
    `gone`: it was installed before, is unedited, and is not shipped any more.
    """

    path: str
    kind: Kind
    executable: bool = False
    diff: str = ""


def shipped_files(source: Path = SHIPPED) -> dict[str, tuple[bytes, bool]]:
    """Every file of the bundle by its path in a workspace: bytes, and whether it is run."""
    found = {}
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if path.is_file() and not _NEVER & set(inside.parts) and path.suffix != ".pyc":
            found[f"skills/{inside.as_posix()}"] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def compare(root: Path, files: Mapping[str, tuple[bytes, bool]]) -> list[Change]:
    """What installing would do to each file. Changes nothing. Raises PathRefused for a symlink on the way."""
    before = read_manifest(root)
    changes = []
    for path, (wanted, executable) in files.items():
        there = read(root, path)
        if there == wanted:
            changes.append(Change(path, "same", executable))
        elif there is None:
            changes.append(Change(path, "new", executable))
        elif before.get(path) == digest(there):
            changes.append(Change(path, "update", executable))
        else:
            changes.append(Change(path, "edited", executable, _diff(path, there, wanted)))
    for path, known in before.items():
        if path not in files and (there := read(root, path)) is not None and digest(there) == known:
            changes.append(Change(path, "gone"))
    return changes


def read_manifest(root: Path) -> dict[str, str]:
    """Path → SHA-256 of what was installed; empty where nothing was, or where it cannot be read."""
    try:
        found = json.loads(read(root, f"{OWN}/{MANIFEST}") or b"{}")
    except ValueError:
        return {}
    return {str(path): str(known) for path, known in found.items()} if isinstance(found, dict) else {}


def write_manifest(root: Path, hashes: Mapping[str, str]) -> None:
    write(root, f"{OWN}/{MANIFEST}", json.dumps(dict(sorted(hashes.items())), indent=1).encode() + b"\n")


def read(root: Path, path: str) -> bytes | None:
    """The bytes of a regular file below `root`, None where there is none. Raises PathRefused."""
    *folders, name = path.split("/")
    try:
        with open_folder(root, folders) as folder, open_in_folder(folder, name, path) as file:
            return file.read()
    except NotThere:
        return None


def write(root: Path, path: str, data: bytes, *, mode: int = 0o644) -> None:
    """Writes a file whole or not at all: temporary, flushed, renamed, its folder flushed.

    The temporary file has `mode` from the first moment, so a secret is never readable by others.
    """
    *folders, name = path.split("/")
    draft = f"{TEMPORARY_PREFIX}{os.urandom(12).hex()}{TEMPORARY_SUFFIX}"
    with open_folder(root, folders, create=True) as folder:
        handle = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode & 0o700, dir_fd=folder
        )
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)


def sweep(root: Path, files: Iterable[str]) -> None:
    """Removes what an installation that was killed more than an hour ago left beside `files`."""
    folders = {tuple(path.split("/")[:-1]) for path in files} | {(OWN,)}
    for folder in folders:
        with suppress(NotThere):
            sweep_temporaries(root, folder, older_than=time.time() - 3600)


def remove(root: Path, path: str) -> None:
    *folders, name = path.split("/")
    with open_folder(root, folders) as folder:
        os.unlink(name, dir_fd=folder)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _diff(path: str, there: bytes, wanted: bytes) -> str:
    lines = difflib.unified_diff(
        there.decode(errors="replace").splitlines(),
        wanted.decode(errors="replace").splitlines(),
        f"{path} (in the workspace)",
        f"{path} (shipped)",
        lineterm="",
    )
    return "\n".join(lines)
