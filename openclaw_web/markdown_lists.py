"""Lists as agents write them, for a parser that wants four spaces a level. Imports no app."""

import re

_ITEM = re.compile(r"( *)([-*+]|\d{1,9}[.)])( {1,4})(?=\S)")
_FENCE = re.compile(r" *(`{3,}|~{3,})")
_LEVEL = "    "


def deepen_lists(text: str) -> str:
    """`text` with what belongs to a list item moved to four spaces a level, as CommonMark would understand it.

    `markdown` knows one indent only; two or three spaces under a bullet, which models write and PLAN.md has,
    would run together into one paragraph. Fenced code outside of lists is left alone.
    """
    lines: list[str] = []
    contents: list[int] = []
    fence, after_blank = "", False
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            lines.append(_moved(line, contents))
            continue
        indent = len(line) - len(line.lstrip(" "))
        item = _ITEM.match(line)
        if item or (after_blank and line.strip()):
            while contents and indent < contents[-1]:
                contents.pop()
        nested = bool(item and contents and indent - contents[-1] < 4)
        lines.append(_LEVEL * len(contents) + line.lstrip(" ") if nested else _moved(line, contents))
        if mark:
            fence = mark[1]
        elif nested or (item and not contents and indent < 4):
            contents.append(item.end())  # type: ignore[union-attr]
        after_blank = not line.strip()
    return "\n".join(lines)


def _moved(line: str, contents: list[int]) -> str:
    """A line of an item: its own indent beyond the item's content, after four spaces for each level."""
    if not contents or not line.strip() or line[: contents[-1]].strip():
        return line
    return _LEVEL * len(contents) + line[contents[-1] :]
