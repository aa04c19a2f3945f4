"""What a preview shows of one file, piece by piece: never more than a page's worth is read, whatever the size.

Nothing of a file becomes markup except through `openclaw_web.markdown` (sanitised), Pygments' classes, or escaping.
"""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

from archives.kinds import extension, inline_type, kind_of, sandbox_type
from openclaw_web.markdown import MAX_BYTES as MARKDOWN_BYTES
from openclaw_web.markdown import render_markdown

PIECE = 128 << 10
HIGHLIGHTED = 64 << 10
JSON_BYTES = 1 << 20
JSON_NODES = 4000
JSON_DEPTH = 60
JSON_TEXT = 2000
TABLE_ROWS = 200
TABLE_COLUMNS = 60
CELL = 500


@dataclass(slots=True)
class Preview:
    """One piece of a file, ready for the template.

    `mode`: markdown, json, table, code, image, pdf, audio, video, web, empty or none. `next` is the byte where the
    following piece begins, 0 at the end. `line` is the number of the piece's first line. `note` says what is unusual.
    """

    mode: str
    html: SafeString | str = ""
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    start: int = 0
    next: int = 0
    line: int = 1
    next_line: int = 1
    note: str = ""


def make_preview(
    handle: BinaryIO,
    name: str,
    size: int,
    *,
    start: int = 0,
    line: int = 1,
    markdown: Callable[[str], SafeString] = render_markdown,
) -> Preview:
    """The piece of an open file that begins at byte `start`, which is line `line`; `markdown` makes its HTML safe."""
    if size == 0:
        return Preview("empty")
    kind = kind_of(name)
    if kind == "web" and sandbox_type(name) and not start:
        return Preview("web")
    if kind in ("image", "pdf", "audio", "video"):
        return Preview(kind)
    if kind == "markdown" and not start and size <= MARKDOWN_BYTES:
        return Preview("markdown", html=markdown(_decode(handle.read())))
    if kind == "json" and not start and size <= JSON_BYTES:
        tree = _json_tree(handle)
        if isinstance(tree, Preview):
            return tree
        shown = _text(handle, name, size, start, line)
        shown.note = shown.note or tree
        return shown
    if kind == "table":
        return _table(handle, name, size, start, line)
    if inline_type(name) or kind == "web":
        return _text(handle, name, size, start, line)
    return Preview("none")


def read_piece(handle: BinaryIO, size: int, start: int, limit: int = PIECE) -> tuple[bytes, int]:
    """Bytes from `start` on, cut after a line (or else before a character), and where the next piece begins (0: end)."""
    handle.seek(start)
    data = handle.read(limit)
    end = start + len(data)
    if end >= size or not data:
        return data, 0
    cut = data.rfind(b"\n") + 1
    if not cut:
        cut = len(data)
        # Not inside a UTF-8 character: step back over its continuation bytes, then over its first byte.
        while cut > 1 and cut > len(data) - 4 and data[cut - 1] & 0xC0 == 0x80:
            cut -= 1
        if data[cut - 1] >= 0xC0:
            cut -= 1
        cut = cut or len(data)
    return data[:cut], start + cut


def _text(handle: BinaryIO, name: str, size: int, start: int, line: int) -> Preview:
    data, following = read_piece(handle, size, start)
    if b"\0" in data[:4096]:
        return Preview("none", note=_("This file holds binary data."))
    text = _decode(data)
    lines = _highlighted(text, name) or [escape(one) for one in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    html = mark_safe("".join(f"<li>{one}</li>" for one in lines))  # noqa: S308 (escaped above)
    note = "" if _is_utf8(data) else _("Not UTF-8: what could not be read is shown as �.")
    return Preview(
        "code",
        html=html,
        start=start,
        next=following,
        line=line,
        next_line=line + data.count(b"\n"),
        note=note,
    )


def _highlighted(text: str, name: str) -> list[str] | None:
    """Lines of Pygments' spans with classes; None where there is no lexer or the piece is too long for one."""
    if len(text) > HIGHLIGHTED or extension(name) in ("txt", "log", "text", ""):
        return None
    try:
        lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    if lexer.name == "Text only":
        return None
    return highlight(text, lexer, HtmlFormatter(nowrap=True)).removesuffix("\n").split("\n")


def _table(handle: BinaryIO, name: str, size: int, start: int, line: int) -> Preview:
    handle.seek(start)
    reader = _CountedLines(handle, start)
    sample = reader.peek()
    delimiter = "\t" if extension(name) == "tsv" else max(",;\t|", key=sample.count) if sample else ","
    rows = []
    note = ""
    try:
        for row in csv.reader(reader, delimiter=delimiter):
            cells = [cell[:CELL] for cell in row[:TABLE_COLUMNS]]
            if len(row) > TABLE_COLUMNS:
                note = _("Only the first %(count)d columns are shown.") % {"count": TABLE_COLUMNS}
            rows.append(cells)
            if len(rows) > TABLE_ROWS or reader.read > PIECE * 4:
                break
    except csv.Error:
        return _text(handle, name, size, start, line)
    head = rows.pop(0) if rows and not start else []
    following = reader.position if reader.position < size else 0
    return Preview(
        "table",
        head=head,
        rows=rows,
        start=start,
        next=following,
        line=line,
        next_line=line + len(rows),
        note=note,
    )


class _CountedLines:
    """Lines of a file as text, knowing the byte where the next one begins. csv.reader takes no line too many."""

    def __init__(self, handle: BinaryIO, start: int) -> None:
        self.handle, self.position, self.read = handle, start, 0

    def peek(self) -> str:
        line = self.handle.readline(PIECE)
        self.handle.seek(self.position)
        return _decode(line)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.handle.readline(PIECE)
        if not line:
            raise StopIteration
        text = _decode(line, first=self.position == 0)
        self.position += len(line)
        self.read += len(line)
        return text.replace("\0", "\ufffd")


def _json_tree(handle: BinaryIO) -> Preview | str:
    """The tree; or why there is none, in a sentence."""
    data = handle.read()
    handle.seek(0)
    try:
        value = json.loads(_decode(data))
        tree = _JsonTree()
        # A lone surrogate is legal in JSON and in no page.
        html = mark_safe(str(tree.html(value, 0)).encode("utf-8", "replace").decode("utf-8"))  # noqa: S308 (escaped)
    except json.JSONDecodeError as error:
        return _("This is not valid JSON (line %(line)d, column %(column)d): shown as text.") % {
            "line": error.lineno,
            "column": error.colno,
        }
    except (ValueError, RecursionError):
        return _("Nested too deep for a tree: shown as text.")
    note = (
        _("The tree is cut at %(count)d values; the download has all.") % {"count": JSON_NODES}
        if tree.cut
        else ""
    )
    return Preview("json", html=html, note=note)


class _JsonTree:
    """Nested `<details>`: the outer two levels open, everything escaped, cut at JSON_NODES values."""

    def __init__(self) -> None:
        self.nodes = 0
        self.cut = False

    def html(self, value: Any, depth: int, key: str | None = None) -> SafeString:
        self.nodes += 1
        label = format_html('<span class="jk">{}</span>', f"{key}: ") if key is not None else ""
        if not isinstance(value, (dict, list)) or not value:
            return format_html('<div class="jv">{}{}</div>', label, _json_leaf(value))
        if depth >= JSON_DEPTH or self.nodes > JSON_NODES:
            self.cut = True
            return format_html('<div class="jv">{}<span class="jm">…</span></div>', label)
        pairs = value.items() if isinstance(value, dict) else ((str(at), one) for at, one in enumerate(value))
        inner = []
        for name, one in pairs:
            if self.nodes > JSON_NODES:
                self.cut = True
                inner.append(mark_safe('<div class="jv"><span class="jm">…</span></div>'))
                break
            inner.append(self.html(one, depth + 1, name[:JSON_TEXT]))
        count = len(value)
        if isinstance(value, dict):
            sign, says = "{…}", ngettext("%(n)d key", "%(n)d keys", count)
        else:
            sign, says = "[…]", ngettext("%(n)d item", "%(n)d items", count)
        return format_html(
            '<details class="jd"{}><summary>{}<span class="jm">{} {}</span></summary>{}</details>',
            mark_safe(" open") if depth < 2 else "",
            label,
            sign,
            says % {"n": count},
            mark_safe("".join(inner)),  # noqa: S308 (made by format_html)
        )


def _json_leaf(value: Any) -> SafeString:
    if isinstance(value, str):
        cut = value if len(value) <= JSON_TEXT else value[:JSON_TEXT] + "…"
        return format_html('<span class="js">{}</span>', json.dumps(cut, ensure_ascii=False))
    words = {True: "true", False: "false", None: "null"}
    if isinstance(value, (dict, list)):
        return format_html('<span class="jm">{}</span>', "{ }" if isinstance(value, dict) else "[ ]")
    if value is None or isinstance(value, bool):
        return format_html('<span class="jb">{}</span>', words[value])
    return format_html('<span class="jn">{}</span>', str(value)[:JSON_TEXT])


def _decode(data: bytes, *, first: bool = True) -> str:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removeprefix("\ufeff") if first else text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
