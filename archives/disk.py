"""What lies under `archives/` of a workspace, read for the index: names, sizes and times, no contents.

A folder whose modification time is the one remembered is not listed again. A time younger than two seconds is
remembered as 0 ("look again"): a file added within the same tick of the clock would not change it.
"""

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from archives.errors import ArchivesError, NotThere, PathRefused
from archives.opening import open_folder
from archives.protocol import PLAN, ROOT, check_name, is_safe_id, read_timestamp
from archives.store import is_temporary

SETTLED_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One regular file: its size in bytes and modification time in nanoseconds."""

    name: str
    size: int
    modified_ns: int


@dataclass(slots=True)
class Snapshot:
    """One archive on the disk. `buckets` are all bucket folders with the time to remember; `listed` holds the
    contents of those that had to be read."""

    archive_id: str
    folder_mtime_ns: int
    plan: FileFacts | None = None
    buckets: dict[str, int] = field(default_factory=dict)
    listed: dict[str, list[FileFacts]] = field(default_factory=dict)


def list_archive_ids(root: Path) -> tuple[list[str], int]:
    """The archive folders of a workspace and the time to remember for `archives/`; empty where there is none."""
    try:
        with open_folder(root, (ROOT,)) as folder:
            modified = settled(os.fstat(folder).st_mtime_ns)
            with os.scandir(folder) as entries:
                found = [
                    one.name for one in entries if is_safe_id(one.name) and one.is_dir(follow_symlinks=False)
                ]
    except NotThere as error:
        if error.code == "no-workspace":
            raise
        return [], 0
    return sorted(found), modified


def folder_time(root: Path) -> int:
    """The modification time of `archives/` in ns; 0 where it cannot be read."""
    try:
        with open_folder(root, (ROOT,)) as folder:
            return os.fstat(folder).st_mtime_ns
    except (ArchivesError, OSError):
        return 0


def read_archive(
    root: Path, archive_id: str, known: Mapping[str, int], *, every: bool = False, again: Collection[str] = ()
) -> Snapshot | None:
    """Read one archive; None when it is gone.

    Buckets whose time is the `known` one are not listed, unless `every` or named in `again`: writing into a file
    that is there already does not change its folder's time.
    """
    try:
        with open_folder(root, (ROOT, archive_id)) as folder:
            snapshot = Snapshot(archive_id, settled(os.fstat(folder).st_mtime_ns))
            with os.scandir(folder) as entries:
                for one in entries:
                    _note(snapshot, one)
            changed = [
                name
                for name, at in snapshot.buckets.items()
                if every or not at or name in again or known.get(name) != at
            ]
    except (NotThere, PathRefused):
        return None
    for name in changed:
        try:
            with open_folder(root, (ROOT, archive_id, name)) as folder:
                snapshot.listed[name] = _files(folder)
        except (NotThere, PathRefused):
            del snapshot.buckets[name]
    return snapshot


def settled(modified_ns: int) -> int:
    """The time to remember for a folder: 0 while it is so young that it may change unseen."""
    return modified_ns if time.time_ns() - modified_ns > SETTLED_NS else 0


def _note(snapshot: Snapshot, entry: os.DirEntry[str]) -> None:
    try:
        if entry.name == PLAN and entry.is_file(follow_symlinks=False):
            facts = entry.stat(follow_symlinks=False)
            snapshot.plan = FileFacts(PLAN, facts.st_size, facts.st_mtime_ns)
        elif read_timestamp(entry.name) and entry.is_dir(follow_symlinks=False):
            snapshot.buckets[entry.name] = settled(entry.stat(follow_symlinks=False).st_mtime_ns)
    except FileNotFoundError:
        # Removed since the folder was listed: the next look will not see it either.
        return


def _files(folder: int) -> list[FileFacts]:
    found = []
    with os.scandir(folder) as entries:
        for one in entries:
            if is_temporary(one.name) or one.name == PLAN or not _is_name(one.name):
                continue
            try:
                if one.is_file(follow_symlinks=False):
                    facts = one.stat(follow_symlinks=False)
                    found.append(FileFacts(one.name, facts.st_size, facts.st_mtime_ns))
            except FileNotFoundError:
                continue
    return found


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except PathRefused:
        return False
    return True
