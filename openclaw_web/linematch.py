"""Which parts of two sequences are the same: patience diff with hard bounds, for lines and for words.

`difflib` is quadratic on texts with many repeated lines; here the work is counted and stops at a budget,
after which what is left stands as replaced. The result is always a correct difference, only coarser.
Method: strip what both ends share, anchor on elements that occur equally often in both, and between anchors
search the shortest edit (Myers) as far as the budget lets. Imports no app.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence

# Units of work (elements looked at). A unit takes roughly a tenth of a microsecond.
BUDGET = 1_500_000
MAX_EDITS = 600

Run = tuple[int, int, int]
Region = tuple[int, int, int, int]


class Budget:
    """Work that is still allowed."""

    def __init__(self, units: int = BUDGET) -> None:
        self.left = units

    def spend(self, units: int) -> bool:
        """False once nothing is left."""
        self.left -= units
        return self.left >= 0


def matching_runs(
    old: Sequence[Hashable], new: Sequence[Hashable], budget: Budget | None = None
) -> list[Run]:
    """`(old start, new start, length)` of what stays the same, in order, maximal and never overlapping."""
    budget = budget or Budget()
    numbers: dict[Hashable, int] = {}
    a = [numbers.setdefault(item, len(numbers)) for item in old]
    b = [numbers.setdefault(item, len(numbers)) for item in new]
    runs: list[Run] = []
    regions: list[Region] = [(0, len(a), 0, len(b))]
    while regions:
        a0, a1, b0, b1 = _strip(a, b, regions.pop(), runs)
        if a0 == a1 or b0 == b1 or not budget.spend(a1 - a0 + b1 - b0):
            continue
        anchors = _anchors(a, b, (a0, a1, b0, b1))
        if anchors is None:
            continue
        if not anchors:
            runs += _shortest_edit(a[a0:a1], b[b0:b1], (a0, b0), budget)
            continue
        at_a, at_b = a0, b0
        for i, j in anchors:
            regions.append((at_a, i, at_b, j))
            at_a, at_b = i, j
        # The anchor itself is the first element that the next region strips.
        regions.append((at_a, a1, at_b, b1))
    return _joined(runs)


def _strip(a: list[int], b: list[int], region: Region, runs: list[Run]) -> Region:
    """Take what both ends of a region share into `runs`; answers what is left between them."""
    a0, a1, b0, b1 = region
    i, j = a0, b0
    while i < a1 and j < b1 and a[i] == b[j]:
        i += 1
        j += 1
    if i > a0:
        runs.append((a0, b0, i - a0))
    end_a, end_b = a1, b1
    while end_a > i and end_b > j and a[end_a - 1] == b[end_b - 1]:
        end_a -= 1
        end_b -= 1
    if end_a < a1:
        runs.append((end_a, end_b, a1 - end_a))
    return i, end_a, j, end_b


def _anchors(a: list[int], b: list[int], region: Region) -> list[tuple[int, int]] | None:
    """Pairs that surely belong together, ascending on both sides; None where nothing is common at all.

    First elements that occur once on each side; without one, elements that occur equally often.
    """
    a0, a1, b0, b1 = region
    in_a: dict[int, list[int]] = {}
    for i in range(a0, a1):
        in_a.setdefault(a[i], []).append(i)
    in_b: dict[int, list[int]] = {}
    for j in range(b0, b1):
        if b[j] in in_a:
            in_b.setdefault(b[j], []).append(j)
    if not in_b:
        return None
    pairs = [(in_a[key][0], at[0]) for key, at in in_b.items() if len(at) == len(in_a[key]) == 1]
    if not pairs:
        pairs = [
            pair
            for key, at in in_b.items()
            if len(at) == len(in_a[key])
            for pair in zip(in_a[key], at, strict=True)
        ]
    pairs.sort()
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs` (sorted by the first) whose second numbers rise too."""
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for at, (_first, second) in enumerate(pairs):
        place = bisect_left(tails, second)
        before.append(tail_at[place - 1] if place else -1)
        if place == len(tails):
            tails.append(second)
            tail_at.append(at)
        else:
            tails[place] = second
            tail_at[place] = at
    chain = []
    at = tail_at[-1] if tail_at else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _shortest_edit(a: list[int], b: list[int], offset: tuple[int, int], budget: Budget) -> list[Run]:
    """Myers' greedy search; nothing where more than MAX_EDITS or the budget would be needed."""
    n, m = len(a), len(b)
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(n + m, MAX_EDITS) + 1):
        trace.append(dict(furthest))
        walked = 0
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            start = x
            while x < n and x - k < m and a[x] == b[x - k]:
                x += 1
            walked += x - start
            furthest[k] = x
            if x >= n and x - k >= m:
                return _walk_back(trace, (n, m), offset)
        # The copy of `furthest` costs as much as the search itself.
        if not budget.spend(3 * edits + walked):
            break
    return []


def _walk_back(trace: list[dict[int, int]], end: tuple[int, int], offset: tuple[int, int]) -> list[Run]:
    runs: list[Run] = []
    x, y = end
    for edits in range(len(trace) - 1, -1, -1):
        furthest, k = trace[edits], x - y
        if edits == 0:
            before_x, before_y = 0, 0
            from_x = 0
        else:
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            before_x = furthest[k + 1] if down else furthest[k - 1]
            before_y = before_x - (k + 1 if down else k - 1)
            from_x = before_x if down else before_x + 1
        if x > from_x:
            runs.append((offset[0] + from_x, offset[1] + from_x - k, x - from_x))
        x, y = before_x, before_y
    return runs


def _joined(runs: list[Run]) -> list[Run]:
    joined: list[Run] = []
    for i, j, length in sorted(runs):
        if joined:
            i0, j0, length0 = joined[-1]
            if i0 + length0 == i and j0 + length0 == j:
                joined[-1] = (i0, j0, length0 + length)
                continue
        joined.append((i, j, length))
    return joined
