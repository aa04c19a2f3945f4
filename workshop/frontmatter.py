"""The YAML block at the head of a skill or a draft.

Two readings live side by side, as in the peer: the *lines*, which are kept byte for byte when a draft is
rendered (contract §3.3), and the *values*, read by a YAML 1.2 parser that forgives one common slip, an
unquoted value with ``: `` inside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from workshop.hashes import js_string
from workshop.names import trim, utf8

MAX_BLOCK_BYTES = 65_536
_FENCE = re.compile(r"---[ \t]*\Z")
# As the peer finds them (checked against it): plain words, the colon right behind.
_TOP_KEY = re.compile(r"([\w-]+):(.*)\Z", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in a block. `line` counts in the file (the opening ``---`` is line 1)."""

    message: str
    line: int = 0
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Values:
    """The parsed block. `fatal` is set when nothing could be read, `repaired` when a slip was forgiven."""

    data: dict[str, Any] = field(default_factory=dict)
    fatal: Problem | None = None
    repaired: Problem | None = None
    lines: list[str] = field(default_factory=list)

    def text(self, key: str) -> str:
        """A value as trimmed text: empty when it is missing, JSON for lists and maps, as the peer takes them."""
        value = self.data.get(key, "")
        if value is None:
            return line_value(self.lines, key)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, dict)):
            return js_string(_jsonable(value))
        return trim(str(value))


def _jsonable(value: Any) -> Any:
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def normalise(text: str) -> str:
    """A leading BOM is dropped; CRLF and lone CR become LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def split(text: str) -> tuple[list[str] | None, str]:
    """`(lines of the block, body)` of normalised text; `(None, text)` where there is no block."""
    lines = text.split("\n")
    if not _FENCE.match(lines[0]):
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if _FENCE.match(line):
            return lines[1:number], "\n".join(lines[number + 1 :])
    return None, text


def top_key(line: str) -> str | None:
    """The top-level key a line begins; None for anything else (quoted keys included)."""
    match = _TOP_KEY.match(line)
    return match[1] if match else None


def line_value(lines: list[str], key: str) -> str:
    """The text behind `key:` on its own line, without quotes: what is left to read of a block that is not YAML."""
    for line in lines:
        match = _TOP_KEY.match(line)
        if match and match[1] == key:
            text = trim(match[2])
            return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
    return ""


def without_keys(lines: list[str], keys: frozenset[str]) -> list[str]:
    """`lines` without the named top-level keys (any case) and their continuation lines; trimmed."""
    kept: list[str] = []
    dropping = False
    for line in lines:
        key = top_key(line)
        if key is not None:
            dropping = key.lower() in keys
        elif dropping and line[:1] not in ("", " ", "\t", "-"):
            dropping = False
        if not dropping:
            kept.append(line)
    return trim("\n".join(kept)).split("\n") if trim("\n".join(kept)) else []


# The parser recurses, and slowly: deep nesting is refused by looking before it starts.
MAX_DEPTH = 40
_STACKED = re.compile(r"(?:[-?][ \t]+){20,}")


def _is_deep(block: str) -> bool:
    depth = 0
    for char in block:
        if char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif char in "]}":
            depth = max(0, depth - 1)
    return _STACKED.search(block) is not None


# `key: "text without escapes"` or `key: plain words`: what nearly every block consists of.
_SIMPLE = re.compile(
    r"""([A-Za-z][\w-]*): (?:"([^"\\\x00-\x1f\x7f-\x9f\ud800-\udfff]*)"|([A-Za-z][A-Za-z0-9 _./()-]*))\Z"""
)
_NOT_WORDS = frozenset({"true", "false", "null"})


def _load_simple(lines: list[str]) -> dict[str, str] | None:
    """A block of simple lines without the slow parser; None when any line is not simple."""
    data: dict[str, str] = {}
    for line in lines:
        match = _SIMPLE.match(line)
        if match is None or match[1] in data:
            return None
        if {match[1].lower(), (match[3] or "").strip().lower()} & _NOT_WORDS:
            return None
        data[match[1]] = match[2] if match[3] is None else match[3].rstrip()
    return data


def _load(block: str) -> Any:
    return YAML(typ="safe", pure=True).load(block)


def _problem(error: Exception) -> Problem:
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        return Problem(str(error.problem or error.context or "invalid YAML"), error.problem_mark.line + 2)
    if isinstance(error, RecursionError):
        return Problem("nested too deeply")
    return Problem(str(error).split("\n", 1)[0] or "invalid YAML")


def _repair(lines: list[str]) -> tuple[list[str], Problem | None]:
    """Quote plain values that cannot stand unquoted (`a: b`, `*x`, `@x`, behind a tab); the first is reported."""
    fixed, first = list(lines), None
    for number, line in enumerate(lines):
        match = _TOP_KEY.match(line)
        value = trim(match[2]) if match else ""
        if match is None or not value or value[0] in "\"'|>[{#" or _is_readable(line):
            continue
        fixed[number] = f"{match[1]}: {js_string(value)}"
        first = first or Problem("a value that needs quotes", number + 2, fixed[number])
    return fixed, first


def _is_readable(line: str) -> bool:
    try:
        _load(line + "\n")
    except (YAMLError, ValueError, TypeError, RecursionError, ArithmeticError):
        return False
    return True


def parse(lines: list[str] | None) -> Values:
    """Read a block. Never raises: what is wrong comes back in the result."""
    if not lines:
        return Values()
    block = "\n".join(lines) + "\n"
    if len(utf8(block)) > MAX_BLOCK_BYTES:
        return Values(fatal=Problem(f"the block is longer than {MAX_BLOCK_BYTES} bytes"))
    simple = _load_simple(lines)
    if simple is not None:
        return Values(dict(simple))
    if _is_deep(block):
        return Values(fatal=Problem("nested too deeply"))
    repaired = None
    try:
        data = _load(block)
    except (YAMLError, ValueError, TypeError, RecursionError, ArithmeticError) as error:
        fatal = _problem(error)
        fixed, repaired = _repair(lines)
        if repaired is None:
            return Values(fatal=fatal)
        try:
            data = _load("\n".join(fixed) + "\n")
        except (YAMLError, ValueError, TypeError, RecursionError, ArithmeticError):
            return Values(fatal=Problem(fatal.message, fatal.line, repaired.suggestion))
    if data is None:
        return Values(repaired=repaired)
    if not isinstance(data, dict):
        return Values(fatal=Problem("the block is not a list of `key: value` lines", 2))
    return Values({str(key): value for key, value in data.items()}, repaired=repaired, lines=lines)
