"""What in a workspace breaks the archive protocol, and where a verified copy of it would be right.

Lint reads and never deletes; it follows no link. Source: `spec/archives.md` §6.
"""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice
from pathlib import Path

from archives.errors import ArchivesError, NotThere, PathRefused
from archives.opening import open_file, open_folder, open_in_folder
from archives.protocol import (
    PLAN,
    ROOT,
    ArchivePath,
    check_name,
    clean_name,
    guess_timestamp,
    is_safe_id,
    name_key,
    next_timestamp,
    place,
    read_timestamp,
    take_timestamp,
)
from archives.store import is_temporary

MAX_FINDINGS = 500
MAX_DEPTH = 8
MAX_FOLDERS_SEARCHED = 2000
MISSPELT = frozenset({"arch", "archive", "archives"})
PASSED_OVER = frozenset({".DS_Store", "Thumbs.db", ".gitkeep", ".gitignore"})
NOT_SEARCHED = frozenset({"node_modules", "skills", "__pycache__", "venv", "vendor", ROOT})

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that breaks the protocol.

    `path` is printable, `source` holds the raw segments. `target` is where a copy belongs, None where
    that cannot be known. `copied_to` is set when the same bytes already are at the right place.
    """

    code: str
    path: str
    source: Parts
    target: ArchivePath | None = None
    copied_to: ArchivePath | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`complete` is False when a limit of findings or time cut the look short."""

    findings: tuple[Finding, ...]
    files_seen: int
    complete: bool


@dataclass(slots=True)
class _Entry:
    name: str
    mode: int
    size: int
    modified: float


@dataclass(slots=True)
class _Look:
    root: Path
    zone: tzinfo | None
    deadline: float
    archive_id: str = ""
    files_seen: int = 0
    cut_short: bool = False
    listings: dict[Parts, list[_Entry]] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        if time.monotonic() > self.deadline:
            self.cut_short = True
        return self.cut_short


def lint_workspace(
    root: Path,
    *,
    archive_id: str = "",
    limit: int = MAX_FINDINGS,
    seconds: float = 10.0,
    zone: tzinfo | None = None,
) -> Report:
    """Look through a workspace, or for one archive of it, for at most `seconds` and `limit` findings.

    Raises NotThere where there is no workspace.
    """
    look = _Look(root, zone, time.monotonic() + seconds, archive_id)
    found = tuple(islice(_findings(look), limit + 1))
    complete = len(found) <= limit and not look.cut_short
    return Report(found[:limit], look.files_seen, complete)


def find(root: Path, path: str, *, zone: tzinfo | None = None) -> Finding | None:
    """The finding of one path as it is on the disk now, or None when nothing is wrong with it any more."""
    look = _Look(root, zone, time.monotonic() + 60)
    return next((finding for finding in _findings(look) if finding.path == path), None)


def _findings(look: _Look) -> Iterator[Finding]:
    for entry in _list(look, ()):
        if entry.name == ROOT:
            if stat.S_ISLNK(entry.mode) or not stat.S_ISDIR(entry.mode):
                yield _special(look, (ROOT,), entry)
            else:
                yield from _tree(look, (ROOT,), _below(look, (ROOT,)))
    yield from _misplaced_trees(look)


def _misplaced_trees(look: _Look) -> Iterator[Finding]:
    waiting: list[Parts] = [()]
    searched = 0
    while waiting and searched < MAX_FOLDERS_SEARCHED and not look.is_over:
        parts = waiting.pop(0)
        searched += 1
        for entry in _list(look, parts):
            here = (*parts, entry.name)
            if not stat.S_ISDIR(entry.mode) or here == (ROOT,) or entry.name.startswith("."):
                continue
            misspelt = name_key(entry.name) in MISSPELT
            if misspelt and _holds_archives(look, here):
                yield from _tree(look, here, _below(look, here))
            elif (
                misspelt
                and not look.archive_id
                and not parts
                and not any(e.name == ROOT for e in _list(look, here))
            ):
                yield Finding("wrong-root", _shown(here), here, detail="folder")
            elif entry.name not in NOT_SEARCHED and len(here) < 3:
                waiting.append(here)


def _below(look: _Look, tree: Parts) -> Parts:
    return (*tree, look.archive_id) if look.archive_id else tree


def _holds_archives(look: _Look, tree: Parts) -> bool:
    for entry in _list(look, tree):
        if stat.S_ISDIR(entry.mode):
            below = _list(look, (*tree, entry.name))
            if any(one.name == PLAN or read_timestamp(one.name) for one in below):
                return True
    return False


def _tree(look: _Look, tree: Parts, parts: Parts) -> Iterator[Finding]:
    if len(parts) - len(tree) > MAX_DEPTH or look.is_over:
        return
    entries = _list(look, parts)
    first_of: dict[str, str] = {}
    for entry in entries:
        here = (*parts, entry.name)
        if entry.name in PASSED_OVER or is_temporary(entry.name):
            continue
        twin = first_of.setdefault(name_key(entry.name), entry.name)
        if stat.S_ISDIR(entry.mode):
            if twin != entry.name:
                yield Finding("case", _shown(here), here, detail=_shown((twin,)))
            yield from _tree(look, tree, here)
        elif not stat.S_ISREG(entry.mode):
            yield _special(look, here, entry)
        else:
            look.files_seen += 1
            finding = _judge(look, tree, here, entry, twin)
            if finding:
                yield _with_copy(look.root, finding, entry)


def _judge(look: _Look, tree: Parts, here: Parts, entry: _Entry, twin: str) -> Finding | None:
    """What is wrong with one regular file, and where it belongs."""
    code, target = _place_of(
        here[len(tree) :], take_timestamp(datetime.fromtimestamp(entry.modified, UTC), look.zone)
    )
    if tree != (ROOT,):
        code = "wrong-root"
    elif code == "ok" and twin != entry.name:
        code, detail = "case", _shown((twin,))
        if target and target.bucket:
            target = ArchivePath(target.archive_id, next_timestamp(target.bucket), target.name)
        return Finding(code, _shown(here), here, target, detail=detail)
    elif code == "ok":
        return Finding("empty", _shown(here), here) if entry.size == 0 else None
    return Finding(code, _shown(here), here, target if entry.size else None)


def _place_of(below: Parts, modified: str) -> tuple[str, ArchivePath | None]:
    """Code and right place of a file, by its segments below the archives folder and its time."""
    if len(below) == 1:
        return "no-archive", None
    archive_id, name = below[0], below[-1]
    if not is_safe_id(archive_id):
        return "bad-id", None
    try:
        if len(below) == 2:
            code = "ok" if name == PLAN else "outside-bucket"
            return code, place(archive_id, modified, name)
        bucket = below[1] if read_timestamp(below[1]) else ""
        target = place(archive_id, bucket or guess_timestamp(below[1]) or modified, name)
        if len(below) > 3:
            return "nested", target
        if not bucket:
            return "bad-timestamp", target
        if name == PLAN:
            return "plan-in-bucket", target
        return ("ok" if clean_name(name) == check_name(name) else "not-nfc"), target
    except PathRefused:
        return "bad-name", None


def _with_copy(root: Path, finding: Finding, entry: _Entry) -> Finding:
    """Say where the same bytes already are; withdraw a target that would overwrite another plan."""
    target = finding.target
    if target is None:
        return finding
    candidate = target
    for _second in range(1 if target.is_plan else 5):
        same = _same_bytes(root, finding.source, entry.size, candidate)
        if same:
            return Finding(finding.code, finding.path, finding.source, None, candidate, finding.detail)
        if same is None:
            return finding
        if target.is_plan:
            return Finding(finding.code, finding.path, finding.source, detail="plan-exists")
        candidate = ArchivePath(candidate.archive_id, next_timestamp(candidate.bucket), candidate.name)
    return finding


def _same_bytes(root: Path, source: Parts, size: int, target: ArchivePath) -> bool | None:
    """Whether the target holds the source's bytes; None when there is no target file."""
    try:
        with open_file(root, target) as there:
            if os.fstat(there.fileno()).st_size != size:
                return False
            with open_folder(root, source[:-1]) as folder, open_in_folder(folder, source[-1], "") as here:
                while chunk := here.read(1 << 20):
                    if chunk != there.read(1 << 20):
                        return False
            return True
    except NotThere:
        return None
    except (ArchivesError, OSError):
        return False


def _special(look: _Look, parts: Parts, entry: _Entry) -> Finding:
    if not stat.S_ISLNK(entry.mode):
        return Finding("special", _shown(parts), parts)
    home = os.path.realpath(look.root)
    leads_to = os.path.realpath("/".join((home, *parts)))
    inside = leads_to == home or leads_to.startswith(home.rstrip("/") + "/")
    return Finding("symlink" if inside else "symlink-out", _shown(parts), parts, detail=_shown((leads_to,)))


def _list(look: _Look, parts: Parts) -> list[_Entry]:
    """A folder's entries by name. A folder that cannot be read has none: its parent's finding tells."""
    known = look.listings.get(parts)
    if known is not None:
        return known
    entries = []
    try:
        with open_folder(look.root, parts) as folder, os.scandir(folder) as found:
            for one in found:
                facts = one.stat(follow_symlinks=False)
                entries.append(_Entry(one.name, facts.st_mode, facts.st_size, facts.st_mtime))
    except (ArchivesError, OSError):
        if not parts:
            raise
    entries.sort(key=lambda entry: entry.name)
    if len(parts) <= 3 and len(entries) < 1000:
        look.listings[parts] = entries
    return entries


def _shown(parts: Parts) -> str:
    # Names that are not UTF-8 arrive with lone surrogates, which no page or database takes.
    return "/".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
