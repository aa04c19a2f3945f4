"""What every page's templates share: icons, status, times, sizes, fields, empty states. Shown in docs/design.md."""

import functools
from datetime import datetime, timedelta
from typing import Any

import lucide
from django import template
from django.forms import BoundField
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.actors import actor_in_words

register = template.Library()
TONES = ("ok", "warn", "bad", "info", "wait", "run", "idle")


@register.simple_tag
def icon(name: str, size: int = 18) -> SafeString:
    """A Lucide icon that says nothing to a screen reader: the word stands beside it or in aria-label."""
    return _icon(str(name), int(size))


@functools.lru_cache(maxsize=256)
def _icon(name: str, size: int) -> SafeString:
    svg = lucide._render_icon(name, size, aria_hidden="true", focusable="false", stroke_width="1.8")
    return mark_safe(" ".join(svg.split()))  # noqa: S308 (our own package's file)


@register.simple_tag
def pill(tone: str, word: object, title: str = "") -> SafeString:
    """A status: a word, in the shape and colour of `tone` (ok, warn, bad, info, wait, run, idle)."""
    tone = tone if tone in TONES else "idle"
    if title:
        return format_html('<span class="pill {}" title="{}">{}</span>', tone, title, word)
    return format_html('<span class="pill {}">{}</span>', tone, word)


@register.filter(is_safe=False)
def ago(value: datetime | None) -> str | SafeString:
    """`3 min ago`, `in 2 h`; the exact instant and zone on hover. `never` for None."""
    if value is None:
        return _("never")
    return _time_tag(value, _relative(value), " class=ago")


@register.filter(is_safe=False)
def exact(value: datetime | None) -> str | SafeString:
    """The instant to the second in the reader's zone; the zone on hover. An empty string for None."""
    return "" if value is None else _time_tag(value, f"{_local(value):%Y-%m-%d %H:%M:%S}")


@register.filter
def duration(seconds: float | timedelta | None) -> str:
    """`45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`; a dash for None."""
    if seconds is None:
        return "—"
    total = int(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    days, rest = divmod(max(total, 0), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return _("%(d)d d %(h)d h") % {"d": days, "h": hours} if hours else _("%(d)d d") % {"d": days}
    if hours:
        return _("%(h)d h %(m)d min") % {"h": hours, "m": minutes} if minutes else _("%(h)d h") % {"h": hours}
    return _("%(m)d min") % {"m": minutes} if minutes else _("%(s)d s") % {"s": left}


@register.filter
def actor(label: str) -> str:
    """Who did it: our own programs by their names in the reader's language."""
    return actor_in_words(label)


@register.filter(name="bytes")
def byte_size(count: int | None) -> str:
    """`812 B`, `4.2 KB`, `1.5 MB` (steps of 1024), with the reader's decimal sign; a dash for None."""
    if count is None:
        return "—"
    size, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(size) < 1024 or unit == "TB":
            break
        size /= 1024
    digits = 0 if unit == "B" or abs(size) >= 100 else 1
    return f"{formats.number_format(size, digits)} {unit}"


@register.filter
def short(digest: str | None) -> str | SafeString:
    """The first 8 characters of a hash or long id, the whole on hover."""
    if not digest or len(digest) <= 12:
        return format_html('<code class="hash">{}</code>', digest) if digest else "—"
    return format_html('<code class="hash" title="{}">{}…</code>', digest, digest[:8])


@register.inclusion_tag("openclaw_web/_field.html")
def field(bound: BoundField, max_bytes: int | None = None) -> dict[str, Any]:
    """A form field: label, help, errors beside it, and a byte counter where bytes are the limit."""
    return {"field": bound, "max_bytes": max_bytes, "value": bound.value() or ""}


@register.simple_tag
def byte_counter(field_id: str, value: str | None, maximum: int) -> SafeString:
    """`<output>` that counts the UTF-8 bytes of the field `field_id` while somebody types."""
    count = len((value or "").replace("\r\n", "\n").encode("utf-8", "surrogatepass"))
    says = _("{n} of {max} bytes")
    shown = says.replace("{n}", formats.number_format(count, force_grouping=True)).replace(
        "{max}", formats.number_format(maximum, force_grouping=True)
    )
    return format_html(
        '<output class="counter{}" for="{}" data-max="{}" data-says="{}">{}</output>',
        " over" if count > maximum else "",
        field_id,
        str(maximum),
        says,
        shown,
    )


@register.simple_block_tag
def empty(content: str, icon: str = "inbox", title: str = "") -> SafeString:
    """An empty place: what will appear here, where it looked, the one thing to do.

    `{% empty "archive" title=_("No archives yet") %}<p>…</p>{% endempty %}`
    """
    return format_html('<div class="empty">{}<h2>{}</h2>{}</div>', _icon(str(icon), 32), title, content)


@register.inclusion_tag("openclaw_web/_older.html", takes_context=True)
def older(context: template.Context, cursor: object, param: str = "before") -> dict[str, Any]:
    """The way on in a list that is read by key: `cursor` is the last row's key, empty at the end."""
    query = context["request"].GET.copy()
    first = param in query
    query.pop(param, None)
    newest = query.urlencode()
    if cursor:
        query[param] = str(cursor)
    return {"cursor": cursor, "query": query.urlencode(), "newest": newest, "first": first}


def _local(value: datetime) -> datetime:
    return timezone.localtime(value) if timezone.is_aware(value) else value


def _time_tag(value: datetime, words: str, kind: str = "") -> SafeString:
    local = _local(value)
    offset = local.strftime("%z")
    hover = f"{local:%Y-%m-%d %H:%M:%S} {local.tzname() or ''} (UTC{offset[:3]}:{offset[3:]})"
    return format_html('<time datetime="{}" title="{}"{}>{}</time>', value.isoformat(), hover, kind, words)


def _relative(value: datetime) -> str:
    seconds = (timezone.now() - value).total_seconds()
    future, distance = seconds < 0, abs(seconds)
    if distance < 45:
        return _("in a moment") if future else _("just now")
    if distance < 45 * 60:
        n = max(round(distance / 60), 1)
        return (
            ngettext("in %d min", "in %d min", n) if future else ngettext("%d min ago", "%d min ago", n)
        ) % n
    if distance < 22 * 3600:
        n = max(round(distance / 3600), 1)
        return (ngettext("in %d h", "in %d h", n) if future else ngettext("%d h ago", "%d h ago", n)) % n
    if distance < 14 * 86400:
        n = max(round(distance / 86400), 1)
        return (
            ngettext("in %d day", "in %d days", n) if future else ngettext("%d day ago", "%d days ago", n)
        ) % n
    return f"{_local(value):%Y-%m-%d}"
