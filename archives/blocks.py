"""`archive_grid` blocks in an agent's Markdown: which become cards, which break the protocol and how.

Pure text work in one pass over the lines; a 1 MB message with 15,000 braces stays linear.
Source: `seeds/bkn-archive.txt` 【JSON 输出形式】; `spec/archives.md` §5.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from archives.errors import PathRefused
from archives.protocol import ROOT, ArchivePath, is_safe_id, name_key, parse_path

MARK = "archive_grid"
MAX_BODY = 16 << 10
MAX_BLOCKS = 500
MAX_NAKED_TRIES = 200

_OPEN = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*?)[ \t]*$")
_TEMPLATE = re.compile(r"\{\{?(?:ARCHIVE_ID|TIMESTAMP|ORIGIN_NAME)\}?\}")


@dataclass(frozen=True, slots=True)
class Note:
    """A block that breaks the protocol. `line` counts from 1; `code` says how.

    Codes: `naked`, `no-tag`, `other-tag`, `fence`, `unclosed`, `invalid-json`, `not-an-object`, `field`,
    `escapes`, `off-track`, `name-differs`, `too-many`. `detail` holds the tag, field or path that is wrong.
    """

    code: str
    line: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message holds. `text` is the message with its cards' fences taken out.

    `token` stands, on a line of its own, where the grid belongs; it is "" when there are no cards.
    """

    text: str
    token: str
    cards: tuple[ArchivePath, ...]
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Scan:
    kept: list[str] = field(default_factory=list)
    cards: list[ArchivePath] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    grid_at: int = -1


class _Template(Exception):
    """The protocol's own template text: no card, and nothing wrong with it."""


class _Broken(Exception):
    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code, self.detail = code, detail[:200]


def read_blocks(text: str) -> Reading:
    """Read one message. Lines end at LF only: U+2028 and its kin are part of the text."""
    if MARK not in text:
        return Reading(text, "", (), ())
    lines = text.split("\n")
    scan = _Scan()
    at = prose_from = 0
    while at < len(lines):
        opened = _OPEN.match(lines[at].rstrip("\r"))
        if not opened:
            at += 1
            continue
        _note_naked(scan, lines, prose_from, at)
        end = _closing(lines, at + 1, opened[1])
        _read_fence(scan, lines, at, end, opened[1], opened[2])
        at = prose_from = min(end + 1, len(lines))
    _note_naked(scan, lines, prose_from, len(lines))
    if not scan.cards:
        return Reading(text, "", (), tuple(scan.notes))
    token = _token(text)
    scan.kept[scan.grid_at : scan.grid_at] = ["", token, ""]
    return Reading("\n".join(scan.kept), token, tuple(scan.cards), tuple(scan.notes))


def clean_subpath(archive_root: str, subpath: str) -> ArchivePath:
    """The place a block names; a leading `/` and repeated `archives/{ID}/` prefixes of `subpath` are dropped.

    Raises PathRefused when what remains leaves the archive's root or lies on neither track.
    """
    prefix = f"{archive_root}/"
    while True:
        shorter = subpath.lstrip("/").removeprefix(prefix)
        if shorter == subpath:
            return parse_path(prefix + subpath)
        subpath = shorter


def _read_fence(scan: _Scan, lines: list[str], start: int, end: int, fence: str, info: str) -> None:
    body = "\n".join(lines[start + 1 : end])
    tag = info.split(maxsplit=1)[0] if info else ""
    try:
        found = _object_of(body, tag) if MARK in body and len(body) <= MAX_BODY else None
        if found is not None:
            if end >= len(lines):
                raise _Broken("unclosed")
            if fence != "```":
                raise _Broken("fence", fence)
            if tag != "json":
                raise _Broken("other-tag" if tag else "no-tag", tag)
            path = _path_of(found)
            if len(scan.cards) >= MAX_BLOCKS:
                raise _Broken("too-many")
            if scan.grid_at < 0:
                scan.grid_at = len(scan.kept)
            scan.cards.append(path)
            return
    except _Template:
        pass
    except _Broken as broken:
        code = "unclosed" if end >= len(lines) else broken.code
        scan.notes.append(Note(code, start + 1, broken.detail))
    scan.kept += lines[start : end + 1]


def _object_of(body: str, tag: str) -> dict[str, Any] | None:
    """The block's object if this fence means to be an archive_grid block, else None."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        # Under another tag it may be anything that only mentions the word, such as these very rules.
        if tag == "json" and re.search(rf'"type"\s*:\s*"{MARK}"', body):
            if _TEMPLATE.search(body):
                raise _Template from error
            raise _Broken("invalid-json", str(error)) from error
        return None
    if isinstance(value, dict):
        return value if value.get("type") == MARK else None
    if isinstance(value, list) and any(isinstance(one, dict) and one.get("type") == MARK for one in value):
        raise _Broken("not-an-object")
    return None


def _path_of(block: dict[str, Any]) -> ArchivePath:
    data = block.get("data")
    if not isinstance(data, dict):
        raise _Broken("field", "data")
    values: dict[str, str] = {}
    for key in ("type", "archive_root", "subpath", "name"):
        value = data.get(key)
        if not isinstance(value, str) or not value:
            raise _Broken("field", f"data.{key}")
        values[key] = value
        if _TEMPLATE.search(value):
            raise _Template
    if values["type"] != "file":
        raise _Broken("field", "data.type")
    root = values["archive_root"].removesuffix("/")
    if root.count("/") != 1 or not root.startswith(f"{ROOT}/") or not is_safe_id(root[len(ROOT) + 1 :]):
        raise _Broken("field", "data.archive_root")
    try:
        path = clean_subpath(root, values["subpath"])
    except PathRefused as error:
        code = "escapes" if error.code in ("path-dot", "path-absolute", "name-separator") else "off-track"
        raise _Broken(code, values["subpath"]) from error
    if name_key(path.name) != name_key(values["name"]):
        raise _Broken("name-differs", values["name"])
    return path


def _note_naked(scan: _Scan, lines: list[str], start: int, end: int) -> None:
    prose = lines[start:end]
    scan.kept += prose
    if not any(MARK in line for line in prose):
        return
    text = "\n".join(prose)
    decoder = json.JSONDecoder()
    at = tries = 0
    while (at := text.find("{", at)) >= 0 and tries < MAX_NAKED_TRIES:
        tries += 1
        stop = text.find(MARK, at)
        if stop < 0:
            return
        try:
            value, end_of_value = decoder.raw_decode(text[at : at + MAX_BODY])
        except (ValueError, RecursionError):
            at += 1
            continue
        if value.get("type") == MARK and not _TEMPLATE.search(text, at, at + end_of_value):
            scan.notes.append(Note("naked", start + 1 + text.count("\n", 0, at)))
        at += end_of_value


def _closing(lines: list[str], start: int, fence: str) -> int:
    closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*$")
    for at in range(start, len(lines)):
        if closing.match(lines[at]):
            return at
    return len(lines)


def _token(text: str) -> str:
    number = 0
    while (token := f"archivegrid{number}here") in text:
        number += 1
    return token
