"""Masks written back over real values (reports row 40): a text that was read through something which hides
credentials is sent back with the dots in it. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

MASK = re.compile(
    r"\*{3,}|[•●]{3,}|(?<=\S)…(?=\S)|[xX]{6,}"
    r"|[\[<(](?i:redacted|masked|hidden)[\]>)]|__[A-Z_]*REDACTED__"
)
# What stands beside the mask has to say which line it is; a rule of asterisks alone says nothing.
MIN_FIXED = 3
MIN_VALUE = 4
MAX_MASKS = 4
# Pairs of lines that are compared; this looks for an accident, not for somebody who hides one.
MAX_PAIRS = 200_000


def lines_masked(live: str, draft: str) -> list[int]:
    """Numbers (from 1) of the lines of `draft` that are a line of `live` with a mask in place of a value.

    A line that stands in both, or whose value was hidden in `live` already, is none.
    """
    draft_lines = draft.splitlines()
    kept = set(draft_lines)
    gone = sorted({line for line in live.splitlines() if line not in kept})
    found: list[int] = []
    left = MAX_PAIRS
    for number, line in enumerate(draft_lines, 1):
        parts = MASK.split(line, maxsplit=MAX_MASKS)
        if len(parts) < 2 or not parts[0].strip() or len(re.findall(r"\w", "".join(parts))) < MIN_FIXED:
            continue
        for candidate in _beginning(gone, parts[0]):
            left -= 1
            if left < 0:
                return found
            if _hides(parts, candidate):
                found.append(number)
                break
    return found


def _beginning(lines: list[str], text: str) -> Iterator[str]:
    """Those of the sorted `lines` that begin with `text`."""
    for at in range(bisect_left(lines, text), len(lines)):
        if not lines[at].startswith(text):
            return
        yield lines[at]


def _hides(parts: list[str], line: str) -> bool:
    """Whether `line` is the `parts` with one real word in each gap; each part is taken where it comes first, so
    that a long line costs no more than its length."""
    at, end = len(parts[0]), len(line) - len(parts[-1])
    if not line.endswith(parts[-1]):
        return False
    values = []
    for part in parts[1:-1]:
        place = line.find(part, at + MIN_VALUE, end)
        if place < 0:
            return False
        values.append(line[at:place])
        at = place + len(part)
    values.append(line[at:end])
    return all(
        len(value) >= MIN_VALUE and not re.search(r"\s", value) and not MASK.search(value) for value in values
    )
