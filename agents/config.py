"""Reading `openclaw.json`: JSON5, its includes, and where exactly it is broken.

Source: seeds/openclaw-docs.txt, contract §5 (JSON5, `agents.entries`, the retired `agents.list`) and the rules
of `$include` as OpenClaw 2026.9 has them: relative to the including file, confined to the folder of
`openclaw.json`, ten levels, later files win, sibling keys win over what was included, arrays are joined.

Nothing here knows agents, Django models or requests. A broken file raises `ConfigProblem`.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agents.excerpt import masked_excerpt
from agents.json5_text import MAX_DEPTH, Json5Fault, loads

MAX_FILE_BYTES = 512 * 1024
MAX_INCLUDE_DEPTH = 10
MAX_FILES = 64
INCLUDE = "$include"

Mark = tuple[str, int, int, int, int]
"""One file as it was when it was read: path, device, inode, size, mtime in ns (all -1 when it was absent)."""


@dataclass(eq=False)
class ConfigProblem(Exception):
    """Why a configuration could not be read. `line` and `column` count from 1; 0 where no place can be named.

    `code` is stable: missing | unreadable | not_regular | too_large | not_utf8 | syntax_… |
    not_an_object | include_escapes | include_circular | include_depth | include_value | too_many_files.
    """

    code: str
    path: Path
    line: int = 0
    column: int = 0
    detail: str = ""
    excerpt: tuple[tuple[int, str], ...] = ()
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        super().__init__(self.code, str(self.path), self.line, self.column)

    def __str__(self) -> str:
        place = _("line %(line)s, column %(column)s: ") % {"line": self.line, "column": self.column}
        return f"{self.path.name}: {place if self.line else ''}{self.sentence}"

    @property
    def sentence(self) -> str:
        """What is wrong, in the reader's language, without the file's name."""
        values = {"detail": self.detail, "kib": MAX_FILE_BYTES // 1024, "depth": MAX_DEPTH}
        return _sentences()[self.code] % values


def _sentences() -> dict[str, str]:
    return {
        "missing": _("The file does not exist."),
        "unreadable": _("The file cannot be read: %(detail)s."),
        "not_regular": _("This is not a regular file, so it is not read."),
        "too_large": _("The file is larger than %(kib)s KiB, so it is not read."),
        "not_utf8": _("The file is not valid UTF-8 here."),
        "syntax_value": _("A value is expected here, not “%(detail)s”. Text needs quotes around it."),
        "syntax_key": _("A key is expected here, not “%(detail)s”."),
        "syntax_colon": _("A colon is expected after the key, not “%(detail)s”."),
        "syntax_comma": _("A comma or a closing bracket is expected here, not “%(detail)s”."),
        "syntax_quote": _("The text that begins here is not closed before its line ends."),
        "syntax_escape": _("A backslash sequence in this text is not valid."),
        "syntax_number": _("This is no valid number."),
        "syntax_comment_end": _("The comment that begins here is never closed."),
        "syntax_end": _("The file ends here, but a bracket is still open or a value is missing."),
        "syntax_shallower": _("Objects and lists are nested more than %(depth)s deep here."),
        "syntax_extra": _("Nothing may follow the closing bracket, but “%(detail)s” does."),
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


def mark_of(path: Path | str) -> Mark:
    """The file as it is now; reading twice with the same mark between is reading the same text."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked at every call; a Path would be made for it
    except (OSError, ValueError):
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
    """One JSON5 text. Raises ConfigProblem with the exact line and column."""
    try:
        return loads(text)
    except Json5Fault as fault:
        met = text[fault.index : fault.index + 1]
        shown = met if met.isprintable() else f"U+{ord(met):04X}"
        expected = "extra" if fault.expected == "end" else fault.expected
        code = f"syntax_{expected}" if met else "syntax_end"
        raise _problem_at(code, path, text, fault.index, shown) from None


def _problem_at(code: str, path: Path, text: str, index: int, detail: str = "") -> ConfigProblem:
    line = text.count("\n", 0, index) + 1
    column = index - text.rfind("\n", 0, index)
    return ConfigProblem(code, path, line, column, detail, masked_excerpt(text, line))


class _Reader:
    """Reads files and follows includes, remembering every file it looked at."""

    def __init__(self, path: Path) -> None:
        self.folder = Path(os.path.normpath(path.absolute())).parent
        self.real_folder = Path(os.path.realpath(self.folder))
        self.marks: list[Mark] = []

    def load(self, path: Path, chain: tuple[Path, ...]) -> Any:
        if len(self.marks) >= MAX_FILES:
            raise ConfigProblem("too_many_files", path)
        self.marks.append(mark_of(path))
        data = self.resolve(parse_json5(read_text(path), path), path, (*chain, path))
        if not chain and not isinstance(data, dict):
            raise ConfigProblem("not_an_object", path)
        return data

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
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ConfigProblem("not_regular", path)
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > MAX_FILE_BYTES:
        raise ConfigProblem("too_large", path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        raise _problem_at("not_utf8", path, good + "\ufffd", len(good)) from None
