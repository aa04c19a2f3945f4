"""ICU's root collation, for the order of support files inside a revision hash (contract §3.5).

`pyuca` carries the Unicode table; three things in which ICU (measured on Node 20, ICU 78) differs from it are
laid over: Han characters follow radical and strokes instead of code points (``data/han_order.txt``, all of
U+4E00..9FFF and U+3400..4DBF), and the curly quotes are variants of the straight ones. Characters newer than
Unicode 10 and Han extensions B and later fall back to pyuca's order by code point.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pyuca.collator import Collator_10_0_0

# Printable ASCII in collation order; letters in pairs, compared without case first.
ASCII_ORDER = (
    " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

_HAN_ORDER = Path(__file__).with_name("data") / "han_order.txt"
_QUOTES = {"'": "\u2018\u2019\u201a\u201b", '"': "\u201c\u201d\u201e\u201f\u2e42\u301d\u301e\u301f"}


class IcuRoot(Collator_10_0_0):
    """pyuca's collator with ICU's Han order and quotes."""

    def __init__(self) -> None:
        super().__init__()
        self.han = {ord(char): rank for rank, char in enumerate(_HAN_ORDER.read_text(encoding="utf-8"), 1)}
        for plain, variants in _QUOTES.items():
            primary = self.collation_elements(plain)[0][0]
            for step, variant in enumerate(variants):
                self.table.add([ord(variant)], [[primary, 0x20, 0x10 + step]])

    def implicit_weight(self, cp: int) -> list[list[int]]:
        rank = self.han.get(cp)
        if rank is None:
            weights: list[list[int]] = super().implicit_weight(cp)
            return weights
        return [[0xFB40, 0x20, 2], [rank, 0, 0]]


@cache
def _collator() -> IcuRoot:
    return IcuRoot()


def unicode_key(text: str) -> tuple[int, ...]:
    """A sort key; canonically equivalent texts have the same one."""
    # A lone surrogate has no weight of its own; pyuca's implicit weight for it is as good as any.
    key: tuple[int, ...] = _collator().sort_key(text)
    return key
