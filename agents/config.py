"""Reading `openclaw.json`: JSON5, its includes, and where exactly it is broken.

Source: seeds/openclaw-docs.txt, contract §5 (JSON5, `agents.entries`, the retired `agents.list`) and the rules
of `$include` as OpenClaw 2026.9 has them: relative to the including file, confined to the folder of
`openclaw.json`, ten levels, later files win, sibling keys win over what was included, arrays are joined.

Nothing here knows agents, Django models or requests. A broken file raises `ConfigProblem`.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import json5
from django.utils.translation import gettext as _

from agents.excerpt import masked_excerpt

MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 24
MAX_INCLUDE_DEPTH = 10
MAX_FILES = 64
# json5 takes up to 80 µs a token. Files with this many are read only if they are JSON but for comments and
# trailing commas, which the standard library reads in no time.
MAX_JSON5_TOKENS = 20_000
INCLUDE = "$include"

_ERROR = re.compile(r":(\d+) Unexpected (.*) at column (\d+)\Z", re.DOTALL)
_STRING_PART = re.compile(r"[^\"'\\\n]+")

Mark = tuple[str, int, int, int, int]
"""One file as it was when it was read: path, device, inode, size, mtime in ns (all -1 when it was absent)."""


@dataclass
class ConfigProblem(Exception):
    """Why a configuration could not be read. `line` and `column` count from 1; 0 where no place can be named.

    `code` is stable: missing | unreadable | not_regular | too_large | not_utf8 | syntax | too_deep | too_complex |
    not_an_object | include_escapes | include_circular | include_depth | include_value | too_many_files.
    """

    code: str
    path: Path
    line: int = 0
    column: int = 0
    detail: str = ""
    excerpt: tuple[tuple[int, str], ...] = ()
    marks: tuple[Mark, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        super().__init__(self.code, str(self.path), self.line, self.column)

    __hash__ = Exception.__hash__

    @property
    def sentence(self) -> str:
        """What is wrong, in the reader's language, without the file's name."""
        values = {"detail": self.detail, "megabytes": MAX_FILE_BYTES // 1024 // 1024, "depth": MAX_DEPTH}
        return _sentences()[self.code] % values


def _sentences() -> dict[str, str]:
    return {
        "missing": _("The file does not exist."),
        "unreadable": _("The file cannot be read: %(detail)s."),
        "not_regular": _("This is not a regular file, so it is not read."),
        "too_large": _("The file is larger than %(megabytes)s MiB, so it is not read."),
        "not_utf8": _("The file is not valid UTF-8 here."),
        "syntax": _("JSON5 cannot be read on from here: unexpected %(detail)s."),
        "too_deep": _("Objects and lists are nested more than %(depth)s deep here."),
        "too_complex": _(
            "The file is too long for JSON5 with unquoted keys. Put its keys in double quotes, or split it with "
            "$include."
        ),
        "not_an_object": _("The file must hold one object in braces."),
        "include_escapes": _("The include “%(detail)s” leads out of the folder of openclaw.json."),
        "include_circular": _("The include “%(detail)s” leads back to a file that includes it."),
        "include_depth": _("The include “%(detail)s” is more than ten levels deep."),
        "include_value": _("$include must be a path or a list of paths."),
        "too_many_files": _("More than 64 files are included."),
    }


@dataclass(frozen=True)
class Config:
    """A configuration that was read: its data with includes in place, and every file it came from."""

    path: Path
    data: dict[str, Any]
    marks: tuple[Mark, ...]


def mark_of(path: Path) -> Mark:
    """The file as it is now; reading twice with the same mark between is reading the same text."""
    try:
        found = path.stat()
    except OSError:
        return (str(path), -1, -1, -1, -1)
    return (str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def read_config(path: Path) -> Config:
    """Reads `openclaw.json` and what it includes. Raises ConfigProblem; its `marks` name all files looked at."""
    reader = _Reader(path)
    try:
        data = reader.load(path, ())
    except ConfigProblem as problem:
        problem.marks = tuple(reader.marks)
        raise
    return Config(path=path, data=data, marks=tuple(reader.marks))


def parse_json5(text: str, path: Path) -> Any:
    """One JSON5 text. Raises ConfigProblem with the exact line and column, bounded in depth and in time."""
    blanked, tokens, too_deep_at = _blank_extras(text)
    if too_deep_at is not None:
        raise _problem_at("too_deep", path, text, too_deep_at)
    try:
        return json.loads(blanked)
    except (ValueError, RecursionError):
        pass
    if tokens > MAX_JSON5_TOKENS:
        raise ConfigProblem("too_complex", path)
    try:
        return json5.loads(text)
    except RecursionError:
        raise ConfigProblem("too_deep", path) from None
    except ValueError as error:
        found = _ERROR.search(str(error))
        line, column = (int(found[1]), int(found[3])) if found else (1, 1)
        what = found[2] if found else "end of input"
        raise ConfigProblem(
            "syntax", path, line, column, _spoken(what), masked_excerpt(text, line)
        ) from None


def _spoken(thing: str) -> str:
    """What json5 met, fit to be read: a control character by its code, the end of the text in words."""
    if thing == "end of input":
        return _("end of file")
    bare = thing[1:-1] if len(thing) > 2 else thing
    if bare in ("\n", "\r"):
        return _("end of line")
    return bare if bare.isprintable() else f"U+{ord(bare[0]):04X}"


def _problem_at(code: str, path: Path, text: str, index: int) -> ConfigProblem:
    line = text.count("\n", 0, index) + 1
    column = index - text.rfind("\n", 0, index)
    return ConfigProblem(code, path, line, column, "", masked_excerpt(text, line))


def _blank_extras(text: str) -> tuple[str, int, int | None]:
    """Comments and trailing commas as spaces, the number of tokens, and where the nesting grows too deep.

    Every other character keeps its place. One pass: an open string or comment ends it, for json5 to report.
    """
    out = list(text)
    if text.startswith("\ufeff"):
        out[0] = " "
    index, end, depth, tokens, comma = 0, len(text), 0, 0, None
    while index < end:
        char = text[index]
        if char in "\"'":
            index, comma = _after_string(text, index), None
            tokens += 1
            continue
        if char == "/" and text[index + 1 : index + 2] in ("/", "*"):
            after = _after_comment(text, index)
            out[index:after] = ["\n" if c == "\n" else " " for c in text[index:after]]
            index = after
            continue
        if char in "]}":
            depth -= 1
            if comma is not None:
                out[comma] = " "
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return text, tokens, index
        if not char.isspace():
            tokens += char in ",:[]{}"
            comma = index if char == "," else None
        index += 1
    return "".join(out), tokens, None


def _after_string(text: str, index: int) -> int:
    quote = text[index]
    index += 1
    while index < len(text):
        part = _STRING_PART.match(text, index)
        if part:
            index = part.end()
            continue
        if text[index] == quote:
            return index + 1
        if text[index] == "\n":
            break
        index += 2 if text[index] == "\\" else 1
    return len(text)


def _after_comment(text: str, index: int) -> int:
    if text[index + 1] == "/":
        after = text.find("\n", index)
        return len(text) if after < 0 else after
    after = text.find("*/", index + 2)
    return len(text) if after < 0 else after + 2


class _Reader:
    """Reads files and follows includes, remembering every file it looked at."""

    def __init__(self, path: Path) -> None:
        self.folder = Path(os.path.abspath(path)).parent
        self.real_folder = Path(os.path.realpath(self.folder))
        self.marks: list[Mark] = []

    def load(self, path: Path, chain: tuple[Path, ...]) -> dict[str, Any]:
        if len(self.marks) >= MAX_FILES:
            raise ConfigProblem("too_many_files", path)
        self.marks.append(mark_of(path))
        data = parse_json5(read_text(path), path)
        if chain or isinstance(data, dict):
            return self.resolve(data, path, (*chain, path))
        raise ConfigProblem("not_an_object", path)

    def resolve(self, value: Any, path: Path, chain: tuple[Path, ...]) -> Any:
        if isinstance(value, list):
            return [self.resolve(item, path, chain) for item in value]
        if not isinstance(value, dict):
            return value
        rest = {key: self.resolve(item, path, chain) for key, item in value.items() if key != INCLUDE}
        if INCLUDE not in value:
            return rest
        wanted = value[INCLUDE]
        names = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise ConfigProblem("include_value", path)
        included = [self.include(name, path, chain) for name in names]
        whole = included[0]
        for part in included[1:]:
            whole = merge(whole, part)
        return merge(whole, rest) if rest else whole

    def include(self, name: str, path: Path, chain: tuple[Path, ...]) -> Any:
        target = Path(os.path.normpath(path.parent / name)) if "\0" not in name else None
        if target is None or not target.is_relative_to(self.folder):
            raise ConfigProblem("include_escapes", path, detail=name[:200])
        if not Path(os.path.realpath(target)).is_relative_to(self.real_folder):
            raise ConfigProblem("include_escapes", path, detail=name[:200])
        if target in chain:
            raise ConfigProblem("include_circular", path, detail=name[:200])
        if len(chain) > MAX_INCLUDE_DEPTH:
            raise ConfigProblem("include_depth", path, detail=name[:200])
        return self.load(target, chain)


def merge(under: Any, over: Any) -> Any:
    """Objects by key, lists joined, anything else: `over` wins."""
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {key: merge(under[key], item) if key in under else item for key, item in over.items()}
    if isinstance(under, list) and isinstance(over, list):
        return [*under, *over]
    return over


def read_text(path: Path) -> str:
    """A regular file's text, at most MAX_FILE_BYTES of UTF-8; a FIFO or device is never waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ConfigProblem("missing", path) from None
    except OSError as error:
        raise ConfigProblem("unreadable", path, detail=os.strerror(error.errno or 0)) from None
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ConfigProblem("not_regular", path)
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ConfigProblem("too_large", path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        raise _problem_at("not_utf8", path, good + "\ufffd", len(good)) from None
