"""What the pages of plans share: states and outcomes in words, instants on two clocks, schedules in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from openclaw_web.markdown import render_markdown
from plans import wording
from plans.models import Plan, Run, Schedule
from plans.schedule import Timing, load_zone, upcoming
from plans.schedule_words import describe_length, describe_timing
from plans.sentences import tell
from plans.wishes import HTML_LANGUAGE, detect_language

register = template.Library()


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on the plan's clock and on the reader's; `differs` where the two show another time."""

    at: datetime
    theirs: str
    mine: str
    differs: bool


@register.simple_tag
def plan_state(plan: Plan) -> SafeString:
    """The state of a plan: a word, a shape, a colour."""
    return _pill(wording.STATE_TONES[plan.state], plan.get_state_display())


@register.simple_tag
def run_outcome(run: Run) -> SafeString:
    """Where a run stands or how it came out; an `ok` run without archived output is not simply ok."""
    word, tone = wording.outcome_word(run)
    return _pill(tone, word)


@register.filter
def run_sentence(run: Run) -> str:
    """What happened in one or two sentences."""
    return wording.outcome_sentence(run)


@register.filter
def rhythm(schedule: Schedule | Timing | Literal[""] | None) -> str:
    """A schedule in words; an empty string where there is none (templates have "" for a missing one)."""
    if not schedule:
        return ""
    words = describe_timing(schedule.timing if isinstance(schedule, Schedule) else schedule)
    return words[:1].upper() + words[1:]


@register.filter
def lasting(seconds: int) -> str:
    """`900` → “15 minutes”."""
    return describe_length(seconds)


@register.filter
def clock(instant: datetime | None, zone: str = "") -> SafeString | str:
    """`Tue 1 Dec, 09:00` on that zone's clock (the reader's where none is named); all of it on hover."""
    if instant is None:
        return ""
    local = instant.astimezone(load_zone(zone)) if zone else timezone.localtime(instant)
    offset = local.strftime("%z")
    hover = f"{local:%Y-%m-%d %H:%M:%S} {local.tzname() or ''} (UTC{offset[:3]}:{offset[3:]})"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', instant.isoformat(), hover, day_and_time(local)
    )


@register.filter
def both_clocks(instant: datetime | None, zone: str) -> SafeString | str:
    """The instant on the plan's clock, and on the reader's where that shows another time."""
    if instant is None:
        return ""
    moment = moment_of(instant, zone)
    if not moment.differs:
        return clock(instant, zone)
    return format_html(
        '{} <span class="yours">{}</span>',
        clock(instant, zone),
        _("%(time)s your time") % {"time": moment.mine},
    )


@register.simple_tag
def next_moments(timing: Schedule | Timing, count: int = 5) -> list[Moment]:
    """The next due instants of a schedule, each on both clocks."""
    found = timing.timing if isinstance(timing, Schedule) else timing
    now = timezone.now()
    return [
        moment_of(at, found.zone)
        for at in upcoming(found.anchored(now) if found.anchor is None else found, now, count)
    ]


@register.simple_tag
def reader_zone() -> str:
    """The name of the reader's time zone."""
    return timezone.get_current_timezone_name()


def moment_of(instant: datetime, zone: str) -> Moment:
    """The instant as both people see it; the reader's day is named only where it is another day."""
    theirs, mine = instant.astimezone(load_zone(zone)), timezone.localtime(instant)
    same_day = theirs.date() == mine.date()
    return Moment(
        at=instant,
        theirs=day_and_time(theirs),
        mine=_time(mine) if same_day else day_and_time(mine),
        differs=theirs.replace(tzinfo=None) != mine.replace(tzinfo=None),
    )


def day_and_time(local: datetime) -> str:
    """`Tue 1 Dec, 09:00`; the year where it is not this one."""
    this_year = local.year == timezone.now().astimezone(local.tzinfo).year
    # Translators: Django date format of a day in this year / another year
    day = date_format(local, _("D j M") if this_year else _("D j M Y"))
    return _("%(day)s, %(time)s") % {"day": day, "time": _time(local)}


def _time(local: datetime) -> str:
    return local.strftime("%H:%M:%S" if local.second else "%H:%M")


def _pill(tone: str, word: object) -> SafeString:
    return format_html('<span class="pill {}">{}</span>', tone, word)


@register.filter
def state_reason(plan: Plan) -> str:
    """Why the plan is in its state, where somebody or something said so."""
    return tell(plan.state_reason)


@register.filter
def run_title(run: Run) -> str:
    """The word of a run's outcome, without its shape."""
    return str(wording.outcome_word(run)[0])


@register.filter
def run_tone(run: Run) -> str:
    """The colour of a run's outcome."""
    return wording.outcome_word(run)[1]


@register.filter
def took(run: Run) -> float | None:
    """Seconds from start to end; None while either is unknown."""
    if run.started_at is None or run.ended_at is None:
        return None
    return max((run.ended_at - run.started_at).total_seconds(), 0)


@register.filter
def time_only(instant: datetime) -> str:
    """`09:00` on the reader's clock."""
    return timezone.localtime(instant).strftime("%H:%M")


@register.filter
def day_of_month(day: date) -> str:
    """`1 Dec`."""
    return date_format(day, _("j M"))


@register.filter(name="md")
def markdown(text: str) -> SafeString:
    """Agents' and people's Markdown, sanitised and inert."""
    return render_markdown(str(text))


@register.filter
def why_waiting(plan: Plan) -> str:
    """Why a plan stands in the queue."""
    return wording.waiting_sentence(plan)


@register.filter
def overdue(schedule: Schedule) -> bool:
    """True where a due time passed and no tick has taken it for over three minutes."""
    due = schedule.next_due_at
    return due is not None and timezone.now() - due > timedelta(minutes=3)


@register.filter
def tongue(text: str) -> str:
    """The language that a plan's own words are in, for the attribute `lang`."""
    return HTML_LANGUAGE[detect_language(str(text))]
