"""When a plan is due: one instant, a fixed interval, or a cron expression with a zone of its own.

Source: `spec/plans.md` §3. Everything here is arithmetic on instants: no clock is read, no row is touched.
Instants are aware datetimes in UTC. Cron expressions are walked in *local wall-clock time* and each hit is then
turned into an instant, so that daylight saving follows two rules and no others:

* a local time that does not exist runs once, at the first instant after the gap;
* a local time that exists twice runs once, at its first occurrence.

`cronsim` is given naive datetimes only: its own daylight-saving rules are Debian cron's, which differ for
six-field expressions and for wildcards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim
from django.utils.translation import gettext as _

from plans.errors import PlansError

AT = "at"
EVERY = "every"
CRON = "cron"
KINDS = (AT, EVERY, CRON)
SHORTEST_INTERVAL = 60
LONGEST_INTERVAL = 366 * 86400
LAST_YEAR = 9000


class TimingError(PlansError):
    """A schedule that cannot be kept; the sentence says which part and why."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One rhythm. `at` and `anchor` are UTC instants, `every` is in seconds, `zone` an IANA name.

    `every` is due at anchor + n × every for n ≥ 1, so an interval never moves with daylight saving.
    """

    kind: str
    zone: str = "UTC"
    at: datetime | None = None
    every: int = 0
    anchor: datetime | None = None
    expr: str = ""

    def anchored(self, anchor: datetime) -> Timing:
        """The same rhythm counted from `anchor`; only an interval has one."""
        if self.kind != EVERY:
            return self
        return Timing(
            EVERY, self.zone, every=self.every, anchor=anchor.astimezone(UTC).replace(microsecond=0)
        )


@lru_cache(maxsize=256)
def load_zone(name: str) -> ZoneInfo:
    """The IANA zone of that name, or a TimingError naming it."""
    try:
        if not name or name.startswith(("/", ".")) or "\x00" in name:
            raise ValueError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        message = _("“%(zone)s” is no time zone. Use a name such as Asia/Shanghai.") % {"zone": name[:80]}
        raise TimingError(message, code="BAD_ZONE") from error


def to_instant(local: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a naive wall-clock time: after the gap if it does not exist, the first if it comes twice."""
    first = local.replace(tzinfo=zone, fold=0)
    instant = first.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == local:
        return instant
    # In a gap `fold=0` carries the offset from before the change and `fold=1` the one from after it, which puts
    # the change itself between the two instants they give.
    before = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _offset_change(before, instant, zone)


def _offset_change(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """The first whole second in (low, high] at which the zone's offset is the one it has at `high`."""
    offset = high.astimezone(zone).utcoffset()
    span = int((high - low).total_seconds())
    left, right = 0, span
    while left < right:
        middle = (left + right) // 2
        if (low + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset:
            right = middle
        else:
            left = middle + 1
    return low + timedelta(seconds=left)


def next_due(timing: Timing, after: datetime) -> datetime | None:
    """The first instant strictly after `after` at which the rhythm is due, or None when there is none left."""
    after = after.astimezone(UTC)
    if timing.kind == AT:
        return timing.at if timing.at and timing.at > after else None
    if timing.kind == EVERY:
        return _next_interval(timing, after)
    return next(_cron_instants(timing, after), None)


def _next_interval(timing: Timing, after: datetime) -> datetime:
    if timing.anchor is None:
        raise ValueError("an interval needs an anchor before it can be due")
    step = timedelta(seconds=timing.every)
    passed = max((after - timing.anchor) // step, 0)
    return timing.anchor + (passed + 1) * step


def _cron_instants(timing: Timing, after: datetime) -> Iterator[datetime]:
    zone = load_zone(timing.zone)
    last = after
    for local in CronSim(timing.expr, after.astimezone(zone).replace(tzinfo=None)):
        if local.year >= LAST_YEAR:
            return
        instant = to_instant(local, zone)
        # Several wall-clock times of a gap, and the second pass through a repeated hour, land on or before an
        # instant already given: each instant is given once.
        if instant > last:
            last = instant
            yield instant


def upcoming(timing: Timing, after: datetime, count: int = 5) -> list[datetime]:
    """The next `count` instants after `after` (fewer when the rhythm ends)."""
    found: list[datetime] = []
    if timing.kind == CRON:
        for instant in _cron_instants(timing, after.astimezone(UTC)):
            found.append(instant)
            if len(found) >= count:
                break
        return found
    moment: datetime | None = after
    while len(found) < count and moment is not None:
        moment = next_due(timing, moment)
        if moment is not None:
            found.append(moment)
    return found


def due_between(
    timing: Timing, after: datetime, until: datetime, *, newest: int = 500
) -> tuple[list[datetime], int]:
    """The instants in (after, until], oldest first, cut to the `newest`, and how many there were in all.

    A machine that was off for a year with a plan due every second must not be asked to list them: an interval is
    counted by arithmetic, a cron expression is walked only over the last stretch that can hold `newest` of them,
    and then the count is that of the stretch.
    """
    after, until = after.astimezone(UTC), until.astimezone(UTC)
    if until <= after:
        return [], 0
    if timing.kind == AT:
        hit = [timing.at] if timing.at and after < timing.at <= until else []
        return hit, len(hit)
    if timing.kind == EVERY:
        return _intervals_between(timing, after, until, newest)
    return _cron_between(timing, after, until, newest)


def _intervals_between(
    timing: Timing, after: datetime, until: datetime, newest: int
) -> tuple[list[datetime], int]:
    first = _next_interval(timing, after)
    if first > until:
        return [], 0
    step = timedelta(seconds=timing.every)
    count = (until - first) // step + 1
    start = first + max(count - newest, 0) * step
    return [start + n * step for n in range(min(count, newest))], count


def _cron_between(
    timing: Timing, after: datetime, until: datetime, newest: int
) -> tuple[list[datetime], int]:
    stretch = timedelta(hours=1)
    while True:
        start = max(after, until - stretch)
        found = []
        for instant in _cron_instants(timing, start):
            if instant > until:
                break
            found.append(instant)
        if start == after or len(found) >= newest:
            return found[-newest:], len(found)
        stretch *= 6
