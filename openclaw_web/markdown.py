"""Markdown that agents and people wrote, made safe to show. Imports no app.

`markdown` renders, `nh3` keeps only what is harmless. Bounded in size, nesting and time, so that no text
can hold a worker; whatever is over a bound is shown as plain text, whole.
"""

import hashlib
import re
import signal
import threading
import time
from html import escape
from urllib.parse import urlsplit

import markdown
import nh3
from django.core.cache import caches
from django.utils.safestring import SafeString, mark_safe

from openclaw_web.markdown_lists import deepen_lists
from openclaw_web.markdown_marks import Marks, fence_front_matter

MAX_BYTES = 512 * 1024
MAX_NESTING = 40  # list levels and quote levels
MAX_BRACKETS = 400  # brackets open at once: the parser's time grows with their square
_VERSION = "3"

_TAGS = {
    "a", "abbr", "blockquote", "br", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "img", "input", "ins", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan"},
    "code": {"class"},
    "span": {"class"},
    "div": {"class"},
}
_CLASS = re.compile(r"(?:language-[\w+-]{1,40}|codehilite|[a-z][a-z0-9]?)")


def render_markdown(text: str) -> SafeString:
    """The HTML of `text`, safe to put into a page; the same text is rendered once a process.

    Links keep http, https, mailto and addresses of this site; images only those of this site. No class,
    id, style, script or HTMX attribute of the text survives, save the classes of highlighted code.
    """
    key = "md:" + hashlib.sha256(f"{_VERSION}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
    cache = caches["local"]
    html = cache.get(key)
    if html is None:
        html = _render(text)
        cache.set(key, html, 3600)
    return mark_safe(html)  # noqa: S308 (nh3 made it safe)


def plain(text: str) -> SafeString:
    """`text` as it is, escaped, in a `<pre>`."""
    return mark_safe(f'<pre class="plain">{escape(_scalar(text))}</pre>')  # noqa: S308 (escaped)


def too_deep(text: str) -> bool:
    """True where the parser's time or stack would run away: see the bounds above."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return True
    for paragraph in re.split(r"\n\s*\n", text):
        depth = deepest = 0
        for character in paragraph:
            if character in "[(":
                depth += 1
                deepest = max(deepest, depth)
            elif character in "])" and depth:
                depth -= 1
        if (
            deepest > MAX_BRACKETS
            or paragraph.count("`") > 20 * MAX_BRACKETS
            or paragraph.count("*") > 20 * MAX_BRACKETS
        ):
            return True
    for line in text.split("\n"):
        lead = re.match(r"[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*)*", line)
        if lead and (len(lead[0].expandtabs(4)) > 4 * MAX_NESTING or lead[0].count(">") > MAX_NESTING):
            return True
    return False


def _render(text: str) -> str:
    text = _scalar(text)
    nested = deepen_lists(fence_front_matter(text))
    if too_deep(nested):
        return plain(text)
    try:
        with _Deadline(2.0):
            raw = markdown.markdown(
                nested,
                extensions=["tables", "fenced_code", "sane_lists", "codehilite", "def_list", "abbr", Marks()],
                extension_configs={
                    "codehilite": {"guess_lang": False, "css_class": "codehilite"},
                    "tables": {"use_align_attribute": True},
                },
                output_format="html",
            )
    except (RecursionError, _TooSlow):
        return plain(text)
    return nh3.clean(
        raw,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_keep,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _keep(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "class":
        kept = [name for name in value.split() if _CLASS.fullmatch(name)]
        return " ".join(kept) or None
    if tag == "img" and attribute == "src":
        # An image from elsewhere would tell a stranger who reads what, and when.
        parts = urlsplit(value)
        return value if not parts.scheme and not parts.netloc and not value.startswith(("//", "\\")) else None
    return value


def _scalar(text: str) -> str:
    """`text` without lone surrogates and NUL, which no page can carry."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


class _TooSlow(Exception):
    pass


class _Deadline:
    """Ends the work after `seconds`, where this thread can be interrupted.

    Python signals reach only the main thread; in a server's worker thread the bounds on size and nesting
    above are what keeps the time small.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.armed = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self.armed:
            self.before = signal.signal(signal.SIGALRM, self._ring)
            # A background task's own time limit runs on the same timer: it goes on afterwards.
            self.began = time.monotonic()
            self.outer, _interval = signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *exc: object) -> None:
        if self.armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self.before)
            if self.outer:
                left = max(self.outer - (time.monotonic() - self.began), 0.001)
                signal.setitimer(signal.ITIMER_REAL, left)

    @staticmethod
    def _ring(*_args: object) -> None:
        raise _TooSlow
