"""The live skills of one agent: `<agentDir>/workshop-skills/**/SKILL.md`, as the files are at this moment.

Contract §2.10. Links below the root are never followed: what they lead to is reported as skipped. Parsed files
are kept per process and used again only while the file and every folder on the way are unchanged.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop import bundle, safefiles
from workshop.errors import FileProblem
from workshop.frontmatter import Problem, Values
from workshop.hashes import locale_sorted, sha256
from workshop.names import skill_key, trim

FOLDER = "workshop-skills"
MAX_SKILL_FILE_BYTES = 256_000
MAX_DEPTH = 6
MAX_SKILLS = 200
MAX_CANDIDATES = 300
_SKIPPED_FOLDERS = frozenset({"node_modules"})
# A file changed this shortly before it was read may change again without its times moving.
_RACY_SECONDS = 0.05

Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Skill:
    """A valid live skill. `dir` and `file` are relative to the root; `sha256` is that of SKILL.md."""

    name: str
    key: str
    description: str
    dir: str
    file: str
    sha256: str
    size: int
    changed_at: float
    repaired: Problem | None = None


@dataclass(frozen=True, slots=True)
class Invalid:
    """What stands in the folder and is no member: `code` says why, `line` and `suggestion` where it helps."""

    dir: str
    code: str
    line: int = 0
    detail: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Inventory:
    """`skills` by name; `invalid` by folder; `root` is the folder that was looked into.

    The same object is given until something changes on the disk, so what follows from one may be kept by it.
    """

    root: Path
    skills: tuple[Skill, ...] = ()
    invalid: tuple[Invalid, ...] = ()


@dataclass(slots=True)
class _Kept:
    folders: dict[str, Stamp] = field(default_factory=dict)
    files: dict[str, Stamp] = field(default_factory=dict)
    inventory: Inventory | None = None


_cache: dict[str, _Kept] = {}
_parsed: dict[str, tuple[Stamp, Skill | Invalid]] = {}
_guard = threading.Lock()


def skills_root(agent_dir: Path) -> Path:
    return agent_dir / FOLDER


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_mode)


def _unchanged(stamps: dict[str, Stamp]) -> bool:
    lstat = os.lstat
    try:
        for path, stamp in stamps.items():
            info = lstat(path)
            # Times first: they are what differs when anything does. Written out, because a list of 200 skills
            # asks this 200 times at every call.
            if (
                info.st_ctime_ns != stamp[2]
                or info.st_mtime_ns != stamp[1]
                or info.st_ino != stamp[0]
                or info.st_size != stamp[3]
                or info.st_mode != stamp[4]
            ):
                return False
    except OSError:
        return False
    return True


def read_inventory(root: Path) -> Inventory:
    """The members and non-members below `root`. A folder that does not exist has none.

    Raises FileProblem (`io`) when a folder or file that is there cannot be read: a failure is an error, not
    an empty list.
    """
    where = os.path.realpath(root)
    kept = _cache.get(where)
    if kept and kept.inventory and _unchanged(kept.folders) and _unchanged(kept.files):
        return kept.inventory
    started = time.time()
    fresh = _Kept()
    inventory = _read(root, where, fresh)
    newest = max((s[2] for s in (*fresh.folders.values(), *fresh.files.values())), default=0)
    # A folder that does not exist leaves nothing to notice its appearance by.
    if fresh.folders and newest < (started - _RACY_SECONDS) * 1e9:
        fresh.inventory = inventory
    with _guard:
        if len(_cache) > 256:
            _cache.clear()
        _cache[where] = fresh
    return inventory


def _read(root: Path, where: str, kept: _Kept) -> Inventory:
    found: list[Skill] = []
    invalid: list[Invalid] = []
    candidates = 0
    for rel, file, info in _candidates(where, "", 1, kept, invalid):
        candidates += 1
        kept.files[file] = _stamp(info)
        if candidates > MAX_CANDIDATES or len(found) >= MAX_SKILLS:
            invalid.append(Invalid(rel, "over-limit", detail=str(MAX_SKILLS)))
            continue
        item = _read_skill(where, rel, file, info)
        (found if isinstance(item, Skill) else invalid).append(item)  # type: ignore[arg-type]
    order = {name: place for place, name in enumerate(locale_sorted({skill.name for skill in found}))}
    found.sort(key=lambda skill: (order[skill.name], skill.dir))
    return Inventory(root, tuple(found), tuple(sorted(invalid, key=lambda item: item.dir)))


def _candidates(
    where: str, rel: str, depth: int, kept: _Kept, invalid: list[Invalid]
) -> Iterator[tuple[str, str, os.stat_result]]:
    folder = os.path.join(where, rel) if rel else where  # noqa: PTH118
    try:
        kept.folders[folder] = _stamp(os.lstat(folder))
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        kept.folders.pop(folder, None)
        return
    except OSError as error:
        if rel and isinstance(error, PermissionError):
            invalid.append(Invalid(rel, "no-permission"))
            return
        raise FileProblem("io", folder, reason=error.strerror or "") from error
    for entry in entries:
        below = f"{rel}/{entry.name}" if rel else entry.name
        if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
            continue
        if entry.is_symlink():
            if os.path.isdir(entry.path):  # noqa: PTH112
                invalid.append(Invalid(below, "symlink", detail=os.path.realpath(entry.path)))
            continue
        if not entry.is_dir(follow_symlinks=False):
            continue
        file = os.path.join(entry.path, bundle.SKILL_NAME)  # noqa: PTH118
        try:
            info = os.lstat(file)
        except FileNotFoundError:
            info = None
        except PermissionError:
            invalid.append(Invalid(below, "no-permission"))
            continue
        except OSError as error:
            raise FileProblem("io", file, reason=error.strerror or "") from error
        if info is None:
            if depth < MAX_DEPTH:
                yield from _candidates(where, below, depth + 1, kept, invalid)
            continue
        if stat.S_ISREG(info.st_mode):
            # Its folder needs no stamp: another folder in its place changes the one above, and whatever else
            # lies in it makes no difference here.
            yield below, file, info
            continue
        kept.folders[entry.path] = _stamp(entry.stat(follow_symlinks=False))
        if stat.S_ISLNK(info.st_mode):
            invalid.append(Invalid(below, "symlink", detail=os.path.realpath(file)))
        else:
            invalid.append(Invalid(below, "not-regular"))


def _read_skill(where: str, rel: str, file: str, info: os.stat_result) -> Skill | Invalid:
    stamp = _stamp(info)
    known = _parsed.get(file)
    if known and known[0] == stamp:
        return known[1]
    item = _parse_skill(where, rel, info)
    if info.st_ctime_ns < (time.time() - _RACY_SECONDS) * 1e9:
        with _guard:
            if len(_parsed) > 5000:
                _parsed.clear()
            _parsed[file] = (stamp, item)
    return item


def _parse_skill(where: str, rel: str, info: os.stat_result) -> Skill | Invalid:
    if info.st_size > MAX_SKILL_FILE_BYTES:
        return Invalid(rel, "too-large", detail=f"{info.st_size}/{MAX_SKILL_FILE_BYTES}")
    try:
        data = safefiles.read_file(
            Path(where), f"{rel}/{bundle.SKILL_NAME}", limit=MAX_SKILL_FILE_BYTES, links=None
        ).data
    except FileProblem as problem:
        if problem.facts.get("reason") == os.strerror(13):
            return Invalid(rel, "no-permission")
        if problem.code in ("missing", "too-large", "symlink", "not-regular"):
            return Invalid(rel, problem.code)
        raise
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Invalid(rel, "not-utf8", line)
    return _member(rel, text, data, info)


def _member(rel: str, text: str, data: bytes, info: os.stat_result) -> Skill | Invalid:
    source = bundle.read(text)
    if source.lines is None:
        return Invalid(rel, "no-block", 1)
    fatal = source.values.fatal
    if fatal:
        return Invalid(rel, "invalid-yaml", fatal.line, fatal.message, fatal.suggestion)
    if not source.description:
        return Invalid(rel, "no-description", 1)
    name = source.name or rel.rpartition("/")[2]
    return Skill(
        name=name,
        key=_declared_key(source.values) or name,
        description=source.description,
        dir=rel,
        file=f"{rel}/{bundle.SKILL_NAME}",
        sha256=sha256(data),
        size=len(data),
        changed_at=info.st_mtime,
        repaired=source.values.repaired,
    )


def _declared_key(values: Values) -> str:
    """`metadata: {"openclaw": {"skillKey": …}}`: the key by which a skill may also be named."""
    metadata: Any = values.data.get("metadata")
    ours = metadata.get("openclaw") if isinstance(metadata, dict) else None
    key = ours.get("skillKey") if isinstance(ours, dict) else None
    return trim(key) if isinstance(key, str) else ""


def read_member(root: Path, skill: Skill) -> bytes:
    """The bytes of a member's SKILL.md as they are now. Raises FileProblem."""
    where = Path(os.path.realpath(root))
    return safefiles.read_file(where, skill.file, limit=MAX_SKILL_FILE_BYTES, links=None).data


def find_skill(inventory: Inventory, name: str) -> Skill | None:
    """By exact name, exact key, either without case, either normalised: the first rule with hits decides, and
    more than one hit is none (contract §2.4)."""
    wanted = trim(name)
    lower, normal = wanted.lower(), skill_key(wanted)
    rules = (
        lambda skill: skill.name == wanted,
        lambda skill: skill.key == wanted,
        lambda skill: lower in (skill.name.lower(), skill.key.lower()),
        lambda skill: normal != "" and normal in (skill_key(skill.name), skill_key(skill.key)),
    )
    for rule in rules:
        hits = [skill for skill in inventory.skills if rule(skill)]
        if hits:
            return hits[0] if len(hits) == 1 else None
    return None
