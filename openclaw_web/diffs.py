"""The difference of two texts as a person reads it: lines, marked words, folded unchanged parts.

Pure and bounded: a 200 KB text takes a fraction of a second whatever is in it. Lines end at LF only, so CRLF
and a missing final newline are differences like any other. Imports no app; `diffview` makes HTML of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from openclaw_web.linematch import Budget, matching_runs
from openclaw_web.wordmarks import LIKE_ENOUGH, WORD_BUDGET, Piece, mark_cut, words_of

CONTEXT = 3
# A fold hides at least this many lines; a shorter gap is shown.
MIN_FOLD = 4
# Changed lines are paired by likeness: exactly where old × new lines are at most this many, else by looking
# a few lines ahead; and no more than so many likenesses are worked out for one file.
MAX_PAIRINGS = 100
LOOK_AHEAD = 4
LIKENESS_BUDGET = 20_000
MAX_PAIRED_LINES = 10_000

Pair = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines that stayed (`same`: `old` equals `new`), or lines that went and came. Lines keep their endings.

    `old_at`, `new_at`: numbers of the first line, from 1. `pairs` lines up indexes of `old` and `new` for a
    side-by-side view; either may be None. `old_marks`, `new_marks`: by index, the `(text, changed)` pieces of
    lines whose words are marked.
    """

    kind: Literal["same", "change"]
    old_at: int
    new_at: int
    old: Sequence[str]
    new: Sequence[str]
    pairs: Sequence[Pair] = ()
    old_marks: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)
    new_marks: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)
    folded: bool = False


@dataclass(frozen=True, slots=True)
class TextDiff:
    """`added` and `removed` count lines. `old_missing`: there was no text before (a new file).

    `notes` name what is easily overlooked: `crlf-added`, `crlf-removed`, `bom-added`, `bom-removed`.
    """

    chunks: tuple[Chunk, ...]
    added: int
    removed: int
    old_missing: bool = False
    new_missing: bool = False
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.added or self.removed or self.old_missing != self.new_missing)


def split_lines(text: str) -> list[str]:
    """Lines with their LF; joining them gives the text back exactly."""
    lines = text.split("\n")
    kept = [f"{line}\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept


def diff_texts(old: str | None, new: str | None, *, context: int = CONTEXT) -> TextDiff:
    """The difference from `old` to `new`; None stands for a file that is not there."""
    old_lines, new_lines = split_lines(old or ""), split_lines(new or "")
    blocks = _slid(_blocks(old_lines, new_lines), old_lines, new_lines)
    words, likeness = Budget(WORD_BUDGET), Budget(LIKENESS_BUDGET)
    chunks: list[Chunk] = []
    for a0, a1, b0, b1, same in blocks:
        if same:
            chunks += _fold(old_lines, (a0, a1, b0), context, first=not chunks, last=a1 == len(old_lines))
        else:
            chunks.append(_change(old_lines[a0:a1], new_lines[b0:b1], (a0 + 1, b0 + 1), words, likeness))
    return TextDiff(
        tuple(chunks),
        added=sum(len(c.new) for c in chunks if c.kind == "change"),
        removed=sum(len(c.old) for c in chunks if c.kind == "change"),
        old_missing=old is None,
        new_missing=new is None,
        notes=_notes(old, new),
    )


Block = tuple[int, int, int, int, bool]


def _blocks(old: list[str], new: list[str]) -> list[Block]:
    """`(old start, old end, new start, new end, same)` covering both sides."""
    blocks: list[Block] = []
    i = j = 0
    for a, b, length in [*matching_runs(old, new), (len(old), len(new), 0)]:
        if a > i or b > j:
            blocks.append((i, a, j, b, False))
        if length:
            blocks.append((a, a + length, b, b + length, True))
        i, j = a + length, b + length
    return blocks


def _slid(blocks: list[Block], old: list[str], new: list[str]) -> list[Block]:
    """A block that only adds or only removes may often start a few lines earlier with the same meaning:
    let it start at a heading or after an empty line, as a person would have cut it."""
    for at in range(1, len(blocks) - 1):
        a0, a1, b0, b1, same = blocks[at]
        before, after = blocks[at - 1], blocks[at + 1]
        if same or (a0 < a1 and b0 < b1) or not before[4] or not after[4]:
            continue
        lines, start, end = (new, b0, b1) if a0 == a1 else (old, a0, a1)
        # One equal line stays before the block, so that the order of blocks stays as it is.
        most = min(before[1] - before[0] - 1, 60)
        up, best = 0, (_cut_score(lines, start), 0)
        while up < most and lines[start - up - 1] == lines[end - up - 1]:
            up += 1
            best = max(best, (_cut_score(lines, start - up), -up))
        by = -best[1]
        if by:
            blocks[at - 1] = (before[0], before[1] - by, before[2], before[3] - by, True)
            blocks[at] = (a0 - by, a1 - by, b0 - by, b1 - by, False)
            blocks[at + 1] = (after[0] - by, after[1], after[2] - by, after[3], True)
    return blocks


def _cut_score(lines: list[str], start: int) -> int:
    heading = lines[start].lstrip().startswith("#")
    return 2 * heading + (start > 0 and not lines[start - 1].strip())


def _same(old: list[str], a0: int, a1: int, b0: int, *, folded: bool) -> Chunk:
    lines = old[a0:a1]
    return Chunk("same", a0 + 1, b0 + 1, lines, lines, folded=folded)


def _fold(
    old: list[str], where: tuple[int, int, int], context: int, *, first: bool, last: bool
) -> list[Chunk]:
    """Unchanged lines: the ones near a change are shown, the ones between are folded."""
    a0, a1, b0 = where
    head, tail = 0 if first else context, 0 if last else context
    if a1 - a0 - head - tail < MIN_FOLD:
        return [_same(old, a0, a1, b0, folded=False)]
    cuts = ((a0, a0 + head, False), (a0 + head, a1 - tail, True), (a1 - tail, a1, False))
    return [_same(old, s, e, b0 + s - a0, folded=folded) for s, e, folded in cuts if e > s]


def _change(gone: list[str], come: list[str], at: tuple[int, int], words: Budget, likeness: Budget) -> Chunk:
    cut = _Cut(gone), _Cut(come)
    pairs: list[Pair] = []
    old_marks: dict[int, tuple[Piece, ...]] = {}
    new_marks: dict[int, tuple[Piece, ...]] = {}
    i = j = 0
    for a, b in [*_pairings(*cut, likeness), (len(gone), len(come))]:
        # Unpaired lines between two pairs share rows only by place, without marks.
        pairs += [
            (i + s if i + s < a else None, j + s if j + s < b else None) for s in range(max(a - i, b - j))
        ]
        if a < len(gone) and b < len(come):
            pairs.append((a, b))
            if marked := mark_cut(cut[0].words(a), cut[1].words(b), words):
                old_marks[a], new_marks[b] = marked
        i, j = a + 1, b + 1
    return Chunk("change", *at, gone, come, pairs, old_marks, new_marks)


class _Cut:
    """Lines of one side, each cut into words when first asked for."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._words: dict[int, list[str]] = {}

    def __len__(self) -> int:
        return len(self.lines)

    def words(self, at: int) -> list[str]:
        if at not in self._words:
            self._words[at] = words_of(self.lines[at])
        return self._words[at]

    def bags(self) -> list[Counter[str]]:
        return [Counter(self.words(at)[:400]) for at in range(len(self.lines))]


def _pairings(gone: _Cut, come: _Cut, likeness: Budget) -> list[tuple[int, int]]:
    """Which removed line became which added one, rising on both sides."""
    if not gone or not come:
        return []
    if len(gone) == len(come) == 1:
        return [(0, 0)]
    if likeness.left <= 0 or len(gone) + len(come) > MAX_PAIRED_LINES:
        return []
    likeness.spend((len(gone) + len(come)) // 4)
    old_bags, new_bags = gone.bags(), come.bags()
    if len(gone) * len(come) <= MAX_PAIRINGS and likeness.spend(len(gone) * len(come)):
        return _best_pairs([[_alike(left, right) for right in new_bags] for left in old_bags])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(gone) and j < len(come) and likeness.left > 0:
        found = _next_pair(old_bags, new_bags, i, j, likeness)
        if found:
            pairs.append(found)
            i, j = found[0] + 1, found[1] + 1
        else:
            i, j = i + 1, j + 1
    return pairs


def _next_pair(
    old: list[Counter[str]], new: list[Counter[str]], i: int, j: int, likeness: Budget
) -> tuple[int, int] | None:
    """The nearest alike pair a few lines ahead."""
    steps = [(s, t) for s in range(LOOK_AHEAD) for t in range(LOOK_AHEAD) if s == 0 or t == 0]
    for s, t in sorted(steps, key=sum):
        if i + s < len(old) and j + t < len(new):
            likeness.spend(1)
            if _alike(old[i + s], new[j + t]) >= LIKE_ENOUGH:
                return i + s, j + t
    return None


def _best_pairs(alike: list[list[float]]) -> list[tuple[int, int]]:
    """The rising pairs with the highest likeness in sum (the table of a longest common subsequence)."""
    rows, columns = len(alike), len(alike[0])
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            score = alike[i][j]
            paired = score + best[i + 1][j + 1] if score >= LIKE_ENOUGH else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if alike[i][j] >= LIKE_ENOUGH and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _alike(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def _notes(old: str | None, new: str | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    marks = (
        ("crlf", "\r\n" in old, "\r\n" in new),
        ("bom", old.startswith("\ufeff"), new.startswith("\ufeff")),
    )
    return tuple(f"{name}-{'added' if now else 'removed'}" for name, was, now in marks if was != now)
