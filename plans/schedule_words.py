"""A schedule in words, in the language of the reader: “Monday to Friday at 09:00, Asia/Shanghai”.

Every cron expression gets words. The usual shapes get a sentence; a field of an unusual shape is listed value by
value, so that the words never say less than the expression does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from plans.schedule import AT, EVERY, Timing, load_zone
from plans.schedule_text import DAY_NAMES, MONTH_NAMES


def describe_timing(timing: Timing) -> str:
    """One phrase without a full stop; the zone is named except for an interval, which has none."""
    if timing.kind == EVERY:
        alone = {60: _("every minute"), 3600: _("every hour")}
        return alone.get(timing.every) or _("every %(length)s") % {"length": describe_length(timing.every)}
    if timing.kind == AT and timing.at is not None:
        return _("once, on %(instant)s (%(zone)s)") % {
            "instant": describe_instant(timing.at, timing.zone),
            "zone": timing.zone,
        }
    fields = timing.expr.split()
    if len(fields) == 5:
        fields.insert(0, "0")
    if fields[2:] == ["*", "*", "*", "*"]:
        return _("%(times)s (%(zone)s)") % {"times": _describe_times(*fields[:3]), "zone": timing.zone}
    return _("%(days)s %(times)s (%(zone)s)") % {
        "days": _describe_days(*fields[3:]),
        "times": _describe_times(*fields[:3]),
        "zone": timing.zone,
    }


def describe_instant(instant: datetime, zone: str) -> str:
    """`2026-12-01 07:30` on that zone's clock, with seconds only where there are some."""
    local = instant.astimezone(load_zone(zone))
    return local.strftime("%Y-%m-%d %H:%M:%S" if local.second else "%Y-%m-%d %H:%M")


def describe_length(seconds: int) -> str:
    """`5400` → “1 hour 30 minutes”."""
    parts = []
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if days:
        parts.append(ngettext("%(n)d day", "%(n)d days", days) % {"n": days})
    if hours:
        parts.append(ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours})
    if minutes:
        parts.append(ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes})
    if rest or not parts:
        parts.append(ngettext("%(n)d second", "%(n)d seconds", rest) % {"n": rest})
    return " ".join(parts)


def _describe_times(second: str, minute: str, hour: str) -> str:
    seconds, minutes, hours = _plain(second), _plain(minute), _plain(hour)
    if seconds is not None and minutes is not None and hours is not None:
        clock = [
            f"{h:02d}:{m:02d}" + (f":{s:02d}" if s else "") for h in hours for m in minutes for s in seconds
        ]
        if len(clock) <= 12:
            return _("at %(times)s") % {"times": _join(clock)}
    parts = [_describe_part(minute, _minute_words)]
    if hour != "*":
        parts.insert(0, _describe_part(hour, _hour_words))
    if second != "0":
        parts.append(_describe_part(second, _second_words))
    if hour == "*" and minutes is not None and second == "0":
        return _("every hour at minute %(minutes)s") % {"minutes": _join([f"{m:02d}" for m in minutes])}
    return _(", ").join(part for part in parts if part)


def _describe_part(field: str, words: Callable[..., dict[str, str]]) -> str:
    step = re.fullmatch(r"(\*|\d+-\d+|\d+)/(\d+)", field)
    if field == "*":
        return words()["all"]
    if step and step[1] == "*":
        return words(int(step[2]))["step"]
    if step:
        return words(int(step[2]))["step_from"] % {"range": step[1]}
    return words()["list"] % {"list": field}


def _hour_words(n: int = 1) -> dict[str, str]:
    return {
        "step": ngettext("every hour", "every %(n)d hours from 00:00", n) % {"n": n},
        "step_from": ngettext("every hour of hours %%(range)s", "every %(n)d hours of hours %%(range)s", n)
        % {"n": n},
        "list": _("in hours %(list)s"),
    }


def _minute_words(n: int = 1) -> dict[str, str]:
    return {
        "all": _("every minute"),
        "step": ngettext("every minute", "every %(n)d minutes", n) % {"n": n},
        "step_from": ngettext(
            "every minute of minutes %%(range)s", "every %(n)d minutes of minutes %%(range)s", n
        )
        % {"n": n},
        "list": _("at minutes %(list)s"),
    }


def _second_words(n: int = 1) -> dict[str, str]:
    return {
        "all": _("every second"),
        "step": ngettext("every second", "every %(n)d seconds", n) % {"n": n},
        "step_from": ngettext(
            "every second of seconds %%(range)s", "every %(n)d seconds of seconds %%(range)s", n
        )
        % {"n": n},
        "list": _("at seconds %(list)s"),
    }


def _describe_days(day: str, month: str, weekday: str) -> str:
    by_date = "" if day == "*" else _("on %(days)s of the month") % {"days": _join(_day_terms(day))}
    by_week = "" if weekday == "*" else _("on %(days)s") % {"days": _join(_weekday_terms(weekday))}
    if by_date and by_week:
        # Cron's own rule: a field that begins with a star narrows the other, two that do not widen each other.
        both = day.startswith("*") or weekday.startswith("*")
        joined = _("%(first)s if also %(second)s") if both else _("%(first)s or %(second)s")
        when = joined % {"first": by_date, "second": by_week}
    else:
        when = by_date or by_week or _("every day")
    if month != "*":
        return _("in %(months)s, %(when)s") % {"months": _join(_month_terms(month)), "when": when}
    return when


def _day_terms(field: str) -> list[str]:
    terms = []
    for term in field.split(","):
        if term == "L":
            terms.append(_("the last day"))
        elif term == "LW":
            terms.append(_("the last working day"))
        elif "/" in term:
            terms.append(_("every %(step)sth day of %(range)s") % _step(term, "1-31"))
        else:
            terms.append(_("day %(day)s") % {"day": term})
    return terms


def _weekday_terms(field: str) -> list[str]:
    terms = []
    for term in field.split(","):
        if "#" in term:
            name, nth = term.split("#")
            terms.append(_("%(day)s number %(nth)s of the month") % {"day": weekday_name(name), "nth": nth})
        elif term.endswith("L"):
            terms.append(_("the last %(day)s of the month") % {"day": weekday_name(term[:-1])})
        elif "/" in term:
            terms.append(_("every %(step)sth day of %(range)s") % _step(term, "0-6"))
        elif "-" in term:
            first, last = term.split("-")
            terms.append(
                _("%(first)s to %(last)s") % {"first": weekday_name(first), "last": weekday_name(last)}
            )
        else:
            terms.append(weekday_name(term))
    return terms


def _month_terms(field: str) -> list[str]:
    terms = []
    for term in field.split(","):
        if "/" in term:
            terms.append(_("every %(step)sth month of %(range)s") % _step(term, "1-12"))
        elif "-" in term:
            first, last = term.split("-")
            terms.append(
                _("%(first)s to %(last)s") % {"first": _month_name(first), "last": _month_name(last)}
            )
        else:
            terms.append(_month_name(term))
    return terms


def weekday_name(term: str) -> str:
    """The reader's word for a cron weekday (`MON`, `1`, `0` and `7` for Sunday)."""
    names = (
        _("Sunday"),
        _("Monday"),
        _("Tuesday"),
        _("Wednesday"),
        _("Thursday"),
        _("Friday"),
        _("Saturday"),
    )
    return names[DAY_NAMES.index(term) if term in DAY_NAMES else int(term) % 7]


def _month_name(term: str) -> str:
    names = (
        _("January"),
        _("February"),
        _("March"),
        _("April"),
        _("May"),
        _("June"),
        _("July"),
        _("August"),
        _("September"),
        _("October"),
        _("November"),
        _("December"),
    )
    return names[MONTH_NAMES.index(term) if term in MONTH_NAMES else int(term) - 1]


def _step(term: str, everything: str) -> dict[str, str]:
    span, step = term.split("/")
    return {"step": step, "range": everything if span == "*" else span}


def _plain(field: str) -> list[int] | None:
    """The values of a field that only lists numbers, else None."""
    terms = field.split(",")
    return sorted({int(term) for term in terms}) if all(term.isdigit() for term in terms) else None


def _join(terms: list[str]) -> str:
    if len(terms) < 2:
        return "".join(terms)
    return _("%(first)s and %(last)s") % {"first": _(", ").join(terms[:-1]), "last": terms[-1]}
