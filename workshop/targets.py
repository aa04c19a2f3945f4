"""The live side of one proposal: where it would write, whether it may, what stands there now.

`root` is an agent's `workshop-skills` folder, `target_dir` a folder relative to it. The root itself may be
reached through a link (it is the operator's choice); nothing below it may be.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from workshop import safefiles
from workshop.bundle import SKILL_NAME
from workshop.errors import FileProblem
from workshop.hashes import js_string, locale_sorted, sha256
from workshop.names import utf8
from workshop.supportpaths import MAX_FILE_BYTES

MAX_LIVE_BYTES = 8 * MAX_FILE_BYTES
MAX_TREE_FILES = 2000
_TOOL_FOLDERS = frozenset({".clawhub", ".clawdhub", ".openclaw"})


def _bytes(root: Path, rel: str) -> bytes:
    return os.path.join(os.path.realpath(os.fsencode(root)), utf8(rel))  # noqa: PTH118


def require_inside(root: Path, rel: str) -> None:
    """Refuse (FileProblem `outside`) a path that resolves outside the root, whatever part of it exists."""
    base = os.path.realpath(os.fsencode(root))
    try:
        real = os.path.realpath(os.path.join(base, utf8(rel)))  # noqa: PTH118
    except (OSError, ValueError) as error:
        raise FileProblem("outside", rel) from error
    if real != base and not real.startswith(base + b"/"):
        raise FileProblem("outside", rel, resolved=os.fsdecode(real))


def exists(root: Path, rel: str) -> bool:
    """Whether something (a link included) stands there. A name too long for the disk does not exist."""
    try:
        return os.path.lexists(_bytes(root, rel))
    except (OSError, ValueError):
        return False


def live_hash(root: Path, rel: str) -> str | None:
    """SHA-256 of a live file, None when it is missing. Raises FileProblem for anything but a regular file."""
    try:
        return sha256(safefiles.read_file(root, rel, limit=MAX_LIVE_BYTES, links=None).data)
    except FileNotFoundError:
        return None
    except FileProblem as problem:
        if problem.code == "missing":
            return None
        raise


def skill_file(target_dir: str) -> str:
    return f"{target_dir}/{SKILL_NAME}"


def tree_files(folder: Path, *, whole: bool = False) -> dict[str, tuple[str, int]]:
    """`{path: (SHA-256, bytes)}` of every regular file of a skill's folder. Links are left out, and so are the
    tools' own folders at its root unless `whole` asks for them. At most `MAX_TREE_FILES`."""
    found: dict[str, tuple[str, int]] = {}
    for place, folders, names in os.walk(folder, followlinks=False):
        at_root = Path(place) == folder
        folders[:] = sorted(name for name in folders if whole or not at_root or name not in _TOOL_FOLDERS)
        for name in sorted(names):
            path = Path(place) / name
            if path.is_symlink() or not path.is_file() or len(found) >= MAX_TREE_FILES:
                continue
            rel = path.relative_to(folder).as_posix()
            try:
                data = safefiles.read_file(folder, rel, limit=MAX_LIVE_BYTES, links=None).data
            except FileProblem as problem:
                found[rel] = (problem.code, 0)
                continue
            found[rel] = (sha256(data), len(data))
    return found


def tree_hashes(root: Path, target_dir: str) -> dict[str, str]:
    """`{path: SHA-256}` of a live skill, relative to its folder."""
    return {
        path: digest
        for path, (digest, _size) in tree_files(Path(os.path.realpath(root)) / target_dir).items()
    }


def tree_digest(files: dict[str, tuple[str, int]]) -> str:
    """One hash over a tree: the peer's `targetTreeSha256` (read in its package, checked against it)."""
    rows = [
        {"path": path, "sha256": files[path][0], "sizeBytes": files[path][1]} for path in locale_sorted(files)
    ]
    return sha256(utf8(js_string(rows)))


def changed_paths(before: dict[str, str], now: dict[str, str], ignore: Iterable[str] = ()) -> list[str]:
    """Paths whose content differs, appeared or vanished."""
    skipped = set(ignore)
    return sorted(
        path for path in {*before, *now} if before.get(path) != now.get(path) and path not in skipped
    )
