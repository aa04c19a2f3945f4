"""Which words of a line changed. Words are cut by the classes of their characters. Imports no app."""

from __future__ import annotations

import re
import unicodedata

from openclaw_web.linematch import Budget, matching_runs

# Marks stop when so many words (or single Han characters) of one file have been compared.
WORD_BUDGET = 600_000
# Lines less alike than this are not the same line changed.
LIKE_ENOUGH = 0.35

Piece = tuple[str, bool]


def _extending() -> str:
    """Characters that belong to the one before: combining marks, joiners, variation and skin selectors."""
    marks = "".join(
        chr(c) for c in range(0x300, 0x1DFF) if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")
    )
    return re.escape(marks) + "\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"


_EXT = f"[{_extending()}]*"
# Han, kana and Hangul have no spaces between words: each character is a word of its own.
_WIDE = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_WIDE}]{_EXT}|(?:[^\W{_WIDE}]{_EXT})+|[^\S\n]+|\n|.{_EXT}", re.DOTALL)


def words_of(text: str) -> list[str]:
    """`text` in words, spaces and single signs; joining them gives it back."""
    return _WORD.findall(text)


def mark_words(
    old: str, new: str, budget: Budget | None = None
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """`(text, changed)` pieces of both lines; None where marks would not help (nothing alike) or the budget
    is used up. Joining the pieces gives the lines back exactly."""
    return mark_cut(words_of(old), words_of(new), budget)


def mark_cut(
    left: list[str], right: list[str], budget: Budget | None = None
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """The same for lines that are cut into words already."""
    budget = budget or Budget(WORD_BUDGET)
    if not budget.spend(len(left) + len(right)):
        return None
    runs = matching_runs(left, right, budget)
    kept = sum(len(word.strip()) for i, _j, n in runs for word in left[i : i + n])
    if not kept or kept < LIKE_ENOUGH / 2 * max(_ink(left), _ink(right)):
        return None
    return (
        _pieces(left, [(i, n) for i, _j, n in runs]),
        _pieces(right, [(j, n) for _i, j, n in runs]),
    )


def _ink(words: list[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _pieces(words: list[str], kept: list[tuple[int, int]]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    at = 0
    for start, length in [*kept, (len(words), 0)]:
        for text, changed in (
            ("".join(words[at:start]), True),
            ("".join(words[start : start + length]), False),
        ):
            if text:
                pieces.append((text, changed))
        at = start + length
    return _without_gaps(pieces)


def _without_gaps(pieces: list[Piece]) -> tuple[Piece, ...]:
    """A lone space between two changed words is changed with them."""
    joined: list[Piece] = []
    for at, (text, changed) in enumerate(pieces):
        gap = not changed and 0 < at < len(pieces) - 1 and not text.strip(" ")
        if joined and joined[-1][1] == (changed or gap):
            joined[-1] = (joined[-1][0] + text, joined[-1][1])
        else:
            joined.append((text, changed or gap))
    return tuple(joined)
