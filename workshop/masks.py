"""Masks written back over real values (reports row 40): a text that was read through something which hides
credentials is sent back with the dots in it. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left

MASK = re.compile(
    r"\*{3,}|[•●]{3,}|(?<=\S)…(?=\S)|[xX]{6,}"
    r"|[\[<(](?i:redacted|masked|hidden)[\]>)]|__[A-Z_]*REDACTED__"
)
# What stands beside the mask has to say which line it is; a rule of asterisks alone says nothing.
MIN_FIXED = 3
MIN_VALUE = 4
MAXMASKS = 4


def lines_masked(live: str, draft: str) -> list[int]:
    """Numbers (from 1) of the lines of `draft` that are a line of `live` with a mask in place of a value.

    A line that stands in both, or whose value was hidden in `live` already, is none.
    """
    draft_lines = draft.splitlines()
    kept = set(draft_lines)
    gone = sorted({line for line in live.splitlines() if line not in kept})
    return [number for number, line in enumerate(draft_lines, 1) if gone and _hides_one(line, gone)]


def _hides_one(line: str, gone: list[str]) -> bool:
    parts = MASK.split(line, maxsplit=MAXMASKS)
    before = parts[0]
    if len(parts) < 2 or len(re.findall(r"\w", "".join(parts))) < MIN_FIXED or not before.strip():
        return False
    whole = re.compile(rf"(\S{{{MIN_VALUE},}}?)".join(re.escape(part) for part in parts))
    for at in range(bisect_left(gone, before), len(gone)):
        if not gone[at].startswith(before):
            return False
        found = whole.fullmatch(gone[at])
        if found and not any(MASK.search(value) for value in found.groups()):
            return True
    return False
