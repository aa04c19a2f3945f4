"""A difference as rows of HTML, ready for templates/desk/_diff.html. Imports no app.

Rows are joined here and not looped over in the template: a 200 KB text has thousands of them. Whatever a
reader could not see (direction overrides, zero-width and control characters) is spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from openclaw_web.diffs import Chunk, Piece, TextDiff, diff_texts, split_lines

# Rows of one file on one page; the rest is a link away.
MAX_ROWS = 10_000
# A fold with more lines than this is not sent along: its lines are in the whole text.
MAX_FOLD = 1000
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of one file's difference. `kind`: `rows` and `fold` have `html`; a `fold` hides `count` lines
    (without `html` they are only in the whole text, from `line` on); `talk` stands below `line` and has
    `items`; `cut` says that `count` rows follow on another page, from row `line` on."""

    kind: str
    html: str = ""
    count: int = 0
    line: int = 0
    items: Any = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a difference. `state`: new, changed, same, removed. `talks`: what stands above the first line;
    `unplaced`: what was said about old lines that are not removed (any more)."""

    path: str
    state: str
    added: int = 0
    removed: int = 0
    size: int = 0
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    talks: Any = None
    unplaced: tuple[Any, ...] = ()
    split: bool = False
    index: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)


def file_diff(
    path: str,
    old: str | None,
    new: str | None,
    *,
    split: bool = False,
    talks: Mapping[int, Any] | None = None,
    line_url: str = "",
    old_line_url: str = "",
    from_row: int = 0,
    index: int = 0,
    extra: Mapping[str, Any] | None = None,
) -> FileDiff:
    """Everything a page shows of one file. None for `old`: a new file; for `new`: a file that goes.

    `talks`: what stands below a line of the new text (0: above the first), or of the old text for a removed line
    (then as a negative number). `line_url`, `old_line_url`: where a line's number leads, the number is appended
    (empty: no links); they must be ready for an attribute.
    """
    found = diff_texts(old, new)
    talks = talks or {}
    draw = _split_rows if split else _unified_rows
    rows = _Rows(lambda chunk: draw(chunk, line_url, old_line_url), talks, from_row)
    for chunk in found.chunks:
        rows.add(chunk)
    return FileDiff(
        path=path,
        state=_state(found),
        added=found.added,
        removed=found.removed,
        size=len((new if new is not None else old or "").encode("utf-8", "surrogatepass")),
        notes=tuple(_note(note) for note in found.notes),
        sections=tuple(rows.finish()) if found.changed or talks else (),
        talks=talks.get(0),
        unplaced=tuple(rows.unplaced()),
        split=split,
        index=index,
        extra=extra or {},
    )


def _state(found: TextDiff) -> str:
    if found.old_missing:
        return "new"
    if found.new_missing:
        return "removed"
    return "changed" if found.changed else "same"


def _note(code: str) -> str:
    return {
        "crlf-added": _("line ends become CRLF"),
        "crlf-removed": _("line ends become LF"),
        "bom-added": _("a byte order mark is put in front"),
        "bom-removed": _("the byte order mark goes"),
    }[code]


# One row: the lines it stands for (the old one of a removed line negative), and its HTML.
Row = tuple[tuple[int, ...], str]


class _Rows:
    """Gathers rows into sections, cut where somebody talks and where a page ends."""

    def __init__(
        self, draw: Callable[[Chunk], Iterable[Row]], talks: Mapping[int, Any], from_row: int
    ) -> None:
        self.draw, self.talks = draw, talks
        self.skip, self.left, self.cut = from_row, MAX_ROWS, 0
        self.first = from_row
        self.sections: list[Section] = []
        self.html: list[str] = []
        self.placed: set[int] = set()

    def add(self, chunk: Chunk) -> None:
        last_line = chunk.new_at + len(chunk.new)
        talked = any(chunk.new_at <= line < last_line for line in self.talks)
        if chunk.folded and not talked:
            self._fold(chunk)
            return
        for lines, html in self.draw(chunk):
            if self.skip:
                self.skip -= 1
            elif self.left:
                self.left -= 1
                self.html.append(html)
                for line in lines:
                    if line in self.talks:
                        self._flush()
                        self.sections.append(Section("talk", line=line, items=self.talks[line]))
                        self.placed.add(line)
            else:
                self.cut += 1

    def _fold(self, chunk: Chunk) -> None:
        if self.skip or self.cut or not self.left:
            return
        self._flush()
        few = len(chunk.new) <= MAX_FOLD
        html = "".join(row for _lines, row in self.draw(chunk)) if few else ""
        self.sections.append(Section("fold", mark_safe(html), len(chunk.new), chunk.new_at))  # noqa: S308 (escaped)

    def _flush(self) -> None:
        if self.html:
            self.sections.append(Section("rows", mark_safe("".join(self.html))))  # noqa: S308 (escaped below)
            self.html = []

    def unplaced(self) -> Iterable[Any]:
        """Talk about old lines for which there is no row, once all are drawn; on another page there may be one."""
        if self.first or self.cut:
            return []
        return [self.talks[line] for line in sorted(self.talks) if line < 0 and line not in self.placed]

    def finish(self) -> list[Section]:
        self._flush()
        if self.cut:
            self.sections.append(Section("cut", count=self.cut, line=self.first + MAX_ROWS))
        return self.sections


def _unified_rows(chunk: Chunk, line_url: str, old_line_url: str) -> Iterable[Row]:
    if chunk.kind == "same":
        for at, text in enumerate(chunk.new):
            number = _number(chunk.new_at + at, line_url)
            yield (
                (chunk.new_at + at,),
                f'<tr><td class="ln">{chunk.old_at + at}</td><td class="ln">{number}</td>'
                f'<td class="sg"></td><td>{_text(text)}</td></tr>',
            )
        return
    for at, text in enumerate(chunk.old):
        number = _number(chunk.old_at + at, old_line_url)
        yield (
            (-chunk.old_at - at,),
            f'<tr class="del"><td class="ln">{number}</td><td class="ln"></td>'
            f'<td class="sg">−</td><td>{_text(text, chunk.old_marks.get(at), "del")}</td></tr>',
        )
    for at, text in enumerate(chunk.new):
        number = _number(chunk.new_at + at, line_url)
        yield (
            (chunk.new_at + at,),
            f'<tr class="add"><td class="ln"></td><td class="ln">{number}</td>'
            f'<td class="sg">+</td><td>{_text(text, chunk.new_marks.get(at), "ins")}</td></tr>',
        )


def _split_rows(chunk: Chunk, line_url: str, old_line_url: str) -> Iterable[Row]:
    if chunk.kind == "same":
        for at, text in enumerate(chunk.new):
            shown = _text(text)
            number = _number(chunk.new_at + at, line_url)
            yield (
                (chunk.new_at + at,),
                f'<tr><td class="ln">{chunk.old_at + at}</td><td>{shown}</td>'
                f'<td class="ln">{number}</td><td>{shown}</td></tr>',
            )
        return
    for i, j in chunk.pairs:
        left = '<td class="ln none"></td><td class="none"></td>'
        right = left
        lines = []
        if i is not None:
            gone = _text(chunk.old[i], chunk.old_marks.get(i), "del")
            number = _number(chunk.old_at + i, old_line_url)
            left = f'<td class="ln del">{number}</td><td class="del">{gone}</td>'
            lines.append(-chunk.old_at - i)
        if j is not None:
            come = _text(chunk.new[j], chunk.new_marks.get(j), "ins")
            number = _number(chunk.new_at + j, line_url)
            right = f'<td class="ln add">{number}</td><td class="add">{come}</td>'
            lines.append(chunk.new_at + j)
        yield tuple(lines), f"<tr>{left}{right}</tr>"


def _number(line: int, line_url: str) -> str:
    return f'<a href="{line_url}{line}" tabindex="-1">{line}</a>' if line_url else str(line)


def _text(line: str, pieces: tuple[Piece, ...] | None = None, tag: str = "") -> str:
    """One line escaped, its ending made visible where it is not a plain LF."""
    ending = ""
    if line.endswith("\r\n"):
        line, ending = line[:-2], '<span class="eol" title="CRLF">␍</span>'
    elif line.endswith("\n"):
        line = line[:-1]
    else:
        ending = f'<span class="eol">⏎̸ {escape(_("no line end"))}</span>' if line else ""
    if not pieces:
        return _shown(line) + ending
    room = len(line)
    out = []
    for text, changed in pieces:
        text = text[:room]
        room -= len(text)
        if text:
            shown = _shown(text)
            out.append(f"<{tag}>{shown}</{tag}>" if changed else shown)
    return "".join(out) + ending


def show_hidden(text: str) -> SafeString:
    """`text` escaped for HTML, with characters spelled out that nobody could see or that turn text around."""
    return mark_safe(_shown(text))  # noqa: S308 (escaped there)


def _shown(text: str) -> str:
    shown = escape(text)
    # Printable text, which nearly all is, needs no second look.
    if not shown.isprintable() and _HIDDEN.search(shown):
        shown = _HIDDEN.sub(lambda m: f'<span class="hid">U+{ord(m[0]):04X}</span>', shown)
    return shown


def numbered_text(
    text: str,
    *,
    line_url: str = "",
    talks: Mapping[int, Any] | None = None,
    marked: frozenset[int] = frozenset(),
) -> list[Section]:
    """A whole text as numbered rows (id `L7` on line 7), in sections cut where somebody talks.

    `marked`: lines that something points at (a finding).
    """

    def draw(chunk: Chunk) -> Iterable[Row]:
        for at, line in enumerate(chunk.new):
            number = chunk.new_at + at
            mark = ' class="hit"' if number in marked else ""
            yield (
                (number,),
                f'<tr id="L{number}"{mark}><td class="ln">{_number(number, line_url)}</td><td>{_text(line)}</td></tr>',
            )

    lines = split_lines(text)
    rows = _Rows(draw, talks or {}, 0)
    rows.left = len(lines)
    rows.add(Chunk("same", 1, 1, lines, lines))
    return rows.finish()
