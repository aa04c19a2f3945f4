"""The written forms of a schedule: how a person, a form or `PLAN.md` spells one, and how it is refused.

    at 2026-12-01T07:30 (Asia/Shanghai)      at 2026-12-01 (Asia/Shanghai)      at in 20m
    every 1h30m
    cron 0 9 * * MON-FRI (Europe/London)     cron 0 0 21 * * * (UTC)            (six fields: seconds first)

`write_schedule` gives the canonical form, which `read_schedule` reads back to the same Timing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

from plans.schedule import (
    AT,
    CRON,
    EVERY,
    LAST_YEAR,
    LONGEST_INTERVAL,
    SHORTEST_INTERVAL,
    Timing,
    TimingError,
    load_zone,
    next_due,
    to_instant,
)

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
UNITS = {
    "s": "s|sec|secs|second|seconds|秒|秒钟",
    "m": "m|min|mins|minute|minutes|分|分钟",
    "h": "h|hr|hrs|hour|hours|小时|个小时|钟头",
    "d": "d|day|days|天|日",
    "w": "w|week|weeks|周|星期|个星期",
}
UNIT_OF = {word: unit for unit, words in UNITS.items() for word in words.split("|")}
LENGTH_PART = re.compile(rf"(\d+)\s*({'|'.join(sorted(UNIT_OF, key=len, reverse=True))})\s*", re.IGNORECASE)
FIELD_RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
FORM = re.compile(
    r"^\s*(at|every|cron)\b[\s:：]*(.*?)\s*(?:[(（]\s*([A-Za-z0-9_+\-/]+)\s*[)）])?\s*$", re.IGNORECASE | re.S
)
STAMP = re.compile(
    r"^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$",
    re.IGNORECASE,
)


def read_schedule(text: str, *, now: datetime, zone: str = "UTC") -> Timing:
    """The Timing that `text` spells; `zone` is used where it names none, `now` for “in 20m”.

    Raises TimingError with a sentence. The instant of an `at` may be past: whether that is acceptable depends on
    what it is wanted for, see `require_future`.
    """
    match = FORM.match(text.replace("`", ""))
    if not match:
        message = _("“%(text)s” is no schedule. Begin with at, every or cron.") % {"text": text.strip()[:120]}
        raise TimingError(message, code="BAD_SCHEDULE")
    kind, value, named_zone = match[1].lower(), match[2], match[3]
    return make_timing(kind, value, zone=named_zone or zone, now=now)


def make_timing(kind: str, value: str, *, zone: str, now: datetime) -> Timing:
    """A checked Timing from one kind (`at`, `every`, `cron`), its value as typed and an IANA zone name."""
    load_zone(zone)
    value = value.strip()
    if kind == AT:
        return Timing(AT, zone, at=read_instant(value, zone=zone, now=now))
    if kind == EVERY:
        return Timing(EVERY, zone, every=_read_interval(value))
    if kind == CRON:
        return Timing(CRON, zone, expr=check_cron(value))
    raise TimingError(_("A schedule is at, every or cron."), code="BAD_SCHEDULE")


def write_schedule(timing: Timing) -> str:
    """The canonical line, e.g. `cron 0 9 * * MON-FRI (Asia/Shanghai)`; stands in PLAN.md as the field Schedule."""
    if timing.kind == EVERY:
        return f"every {write_length(timing.every)}"
    if timing.kind == CRON:
        return f"cron {timing.expr} ({timing.zone})"
    if timing.at is None:
        raise ValueError("an `at` schedule needs its instant")
    local = timing.at.astimezone(load_zone(timing.zone))
    return f"at {local.isoformat(timespec='seconds')} ({timing.zone})"


def require_future(timing: Timing, *, now: datetime) -> datetime:
    """The first due instant after `now`, or a TimingError where there will never be one."""
    anchored = timing if timing.anchor or timing.kind != EVERY else timing.anchored(now)
    due = next_due(anchored, now)
    if due is None and timing.kind == AT and timing.at is not None:
        local = timing.at.astimezone(load_zone(timing.zone))
        message = _("%(instant)s is already past: nothing would ever run.") % {
            "instant": local.strftime("%Y-%m-%d %H:%M:%S %Z")
        }
        raise TimingError(message, code="SCHEDULE_IN_THE_PAST")
    if due is None:
        raise TimingError(_("This schedule has no due time left."), code="SCHEDULE_NEVER_DUE")
    return due


def read_instant(value: str, *, zone: str, now: datetime) -> datetime:
    """A UTC instant from `2026-12-01T07:30[:SS][±HH:MM|Z]`, `2026-12-01` (midnight there), or `in 20m`."""
    relative = re.sub(r"^in\s+|\s*(?:之后|以后|后)$", "", value, flags=re.IGNORECASE)
    if relative != value or LENGTH_PART.fullmatch(value):
        return now.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=read_length(relative))
    match = STAMP.match(value)
    if not match:
        message = _("“%(value)s” is no instant. Write 2026-12-01 07:30, or “in 20m”.") % {"value": value[:80]}
        raise TimingError(message, code="BAD_INSTANT")
    year, month, day, hour, minute, second, offset = match.groups()
    try:
        clock = time(int(hour or 0), int(minute or 0), int(second or 0))
        local = datetime.combine(datetime(int(year), int(month), int(day)), clock)
    except ValueError as error:
        message = _("“%(value)s” is not on any calendar.") % {"value": value[:80]}
        raise TimingError(message, code="BAD_INSTANT") from error
    if not 1970 <= local.year < LAST_YEAR:
        raise TimingError(_("The year %(year)d is out of reach.") % {"year": local.year}, code="BAD_INSTANT")
    if offset:
        return datetime.fromisoformat(local.isoformat() + offset.upper().replace("Z", "+00:00")).astimezone(
            UTC
        )
    return to_instant(local, load_zone(zone))


def read_length(text: str) -> int:
    """Seconds in `90s`, `20m`, `1h30m`, `2 hours`, `20分钟`; a bare number is refused, its unit being a guess."""
    rest, total = text.strip(), 0
    while rest:
        match = LENGTH_PART.match(rest)
        if not match:
            message = _("“%(text)s” is no length of time. Write 20m, 1h30m or 2d.") % {
                "text": text.strip()[:60]
            }
            raise TimingError(message, code="BAD_LENGTH")
        total += int(match[1][:12]) * SECONDS[UNIT_OF[match[2].lower()]]
        rest = rest[match.end() :]
    if not 0 < total <= 100 * LONGEST_INTERVAL:
        raise TimingError(_("That length of time is out of reach."), code="BAD_LENGTH")
    return total


def write_length(seconds: int) -> str:
    """`5400` → `1h30m`."""
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _read_interval(value: str) -> int:
    seconds = read_length(re.sub(r"^every\s+", "", value, flags=re.IGNORECASE))
    if seconds < SHORTEST_INTERVAL:
        raise TimingError(_("A plan runs at most once a minute: use 1m or more."), code="INTERVAL_TOO_SHORT")
    if seconds > LONGEST_INTERVAL:
        raise TimingError(_("An interval is at most 366 days."), code="INTERVAL_TOO_LONG")
    return seconds


def check_cron(expr: str) -> str:
    """The expression with single spaces and upper-case names, or a TimingError that says what is wrong where."""
    fields = expr.upper().split()
    if len(fields) not in (5, 6):
        message = _("A cron expression has 5 fields, or 6 with seconds first; “%(expr)s” has %(count)d.") % {
            "expr": expr[:80],
            "count": len(fields),
        }
        raise TimingError(message, code="BAD_CRON")
    # Names put Sunday at the end of the week as often as at its start; the number 7 says the former.
    fields[-1] = re.sub(r"(?<=-)SUN\b", "7", fields[-1])
    offset = 6 - len(fields)
    for index, field in enumerate(fields):
        _check_field(field, index + offset)
    normal = " ".join(fields)
    try:
        never = next(CronSim(normal, datetime(2000, 1, 1)), None) is None
    except CronSimError as error:
        # Each field was readable on its own, so what is left is a day that its months do not have.
        if str(error) == "Bad day-of-month":
            never = True
        else:
            raise TimingError(
                _("“%(expr)s” cannot be read: %(why)s.") % {"expr": normal, "why": error}, code="BAD_CRON"
            ) from error
    if never:
        message = _("“%(expr)s” names a day that never comes: nothing would ever run.") % {"expr": normal}
        raise TimingError(message, code="SCHEDULE_NEVER_DUE")
    return normal


def _check_field(field: str, index: int) -> None:
    """Refuse a field that is unreadable on its own, naming it."""
    low, high = FIELD_RANGES[index]
    for term in field.split(","):
        span = re.fullmatch(r"([^-/#]+)-([^-/#]+)(?:/\d+)?", term)
        if span:
            start, end = _number(span[1], index), _number(span[2], index)
            if start is not None and end is not None and start > end:
                raise _field_error(field, index, _("the range %(range)s runs backwards") % {"range": term})
        number = _number(term, index)
        if number is not None and not low <= number <= high:
            raise _field_error(
                field,
                index,
                _("%(n)d is not between %(low)d and %(high)d") % {"n": number, "low": low, "high": high},
            )
    try:
        CronSim(
            " ".join(["0", "0", "0", "*", "*", "*"][:index] + [field] + ["*"] * (5 - index)),
            datetime(2000, 1, 1),
        )
    except CronSimError as error:
        raise _field_error(field, index, _("it cannot be read")) from error


def _number(text: str, index: int) -> int | None:
    if text.isascii() and text.isdigit():
        return int(text[:9])
    names = {4: MONTH_NAMES, 5: DAY_NAMES}.get(index, ())
    if text in names:
        return names.index(text) + (1 if index == 4 else 0)
    return None


def _field_error(field: str, index: int, why: str) -> TimingError:
    labels = (_("second"), _("minute"), _("hour"), _("day of month"), _("month"), _("day of week"))
    message = _("The %(field)s field “%(text)s” is wrong: %(why)s.") % {
        "field": labels[index],
        "text": field[:60],
        "why": why,
    }
    return TimingError(message, code="BAD_CRON")
