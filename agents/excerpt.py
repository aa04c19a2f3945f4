"""Lines of a configuration around a fault, with every value hidden.

`openclaw.json` holds tokens and passwords, and the page that shows where it is broken is seen by people who may
not read them. Only the structure and the keys are shown, in their exact columns.
"""

from __future__ import annotations

import re

LINES_BEFORE = 3
LINES_AFTER = 1
LINE_CHARS = 160
DOT = "•"

_TOKEN = re.compile(
    r"""(?P<comment>//.*|/\*.*?(?:\*/|\Z))
      | (?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z))
      | (?P<word>[^\s{}\[\],:"'/]+|/)""",
    re.VERBOSE | re.DOTALL,
)
_KEY_FOLLOWS = re.compile(r"\s*:")
_VALUE_BEFORE = re.compile(r":\s*\Z")


def masked_line(line: str) -> str:
    """The line with every comment and value as dots; keys, brackets and columns stay."""

    def hide(match: re.Match[str]) -> str:
        found = match[0]
        is_key = bool(_KEY_FOLLOWS.match(line, match.end())) and not _VALUE_BEFORE.search(
            line[: match.start()]
        )
        if match["comment"]:
            return found[:2] + DOT * (len(found) - 2)
        if is_key and len(found) <= 64:
            return found
        if match["string"]:
            closed = len(found) > 1 and found[-1] == found[0]
            return found[0] + DOT * (len(found) - 1 - closed) + (found[0] if closed else "")
        return DOT * len(found)

    return _TOKEN.sub(hide, line)


def masked_excerpt(text: str, line: int) -> tuple[tuple[int, str], ...]:
    """`(number, masked text)` of the lines around line `line` (from 1), each cut at 160 characters."""
    lines = text.split("\n")
    first = max(1, line - LINES_BEFORE)
    last = min(len(lines), line + LINES_AFTER)
    return tuple(
        (number, masked_line(lines[number - 1][:LINE_CHARS].rstrip("\r")))
        for number in range(first, last + 1)
    )
