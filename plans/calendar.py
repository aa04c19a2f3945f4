"""The next days of all agents' runs, and the past ones with how they came out.

Expected instants come from the schedules themselves, past runs from their rows. A plan that is due often stands
once a day with its rhythm in words: a day with 1,440 lines tells nobody anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Case, Count, Max, Min, Q, When

from plans.models import Plan, Run, Schedule
from plans.schedule import Timing, next_due, to_instant, upcoming

PAST_LIMIT = 300  # lines of past runs
COMING_LIMIT = 150  # plans whose due times are worked out
OFTEN = 4  # due times a day above which a plan stands once, in words
DAYS = 7
PER_DAY = 40  # lines of one day


@dataclass
class Entry:
    """One line of a day: one due instant, or a whole day of a frequent plan (`count` > 1 or `often`)."""

    at: datetime
    plan: Plan
    schedule: Schedule | None = None
    run: Run | None = None
    count: int = 1
    bad: int = 0
    often: bool = False


@dataclass
class Day:
    date: date
    start: datetime
    is_today: bool
    past: list[Entry] = field(default_factory=list)
    coming: list[Entry] = field(default_factory=list)
    more: int = 0  # lines that were left out

    def trim(self) -> None:
        """Keeps the newest past lines and the next coming ones, `PER_DAY` in all."""
        self.past.sort(key=lambda entry: entry.at)
        self.coming.sort(key=lambda entry: entry.at)
        total = len(self.past) + len(self.coming)
        self.past = self.past[-PER_DAY // 2 if self.coming else -PER_DAY :]
        self.coming = self.coming[: PER_DAY - len(self.past)]
        self.more = total - len(self.past) - len(self.coming)

    @property
    def entries(self) -> list[Entry]:
        return self.past + self.coming


@dataclass(frozen=True)
class Week:
    """Seven days; `cut` where there was more than is shown."""

    days: list[Day]
    cut: bool

    @property
    def is_empty(self) -> bool:
        return not any(day.entries for day in self.days)


def read_week(first: date, *, zone: ZoneInfo, agent_id: str, now: datetime) -> Week:
    """Seven days from `first` on the reader's clock, in four queries."""
    days = [_day(first + timedelta(days=n), zone, now) for n in range(DAYS)]
    start, end = days[0].start, _midnight(first + timedelta(days=DAYS), zone)
    by_date = {day.date: day for day in days}
    cut = _add_past(days, end, agent_id)
    if end > now:
        cut |= _add_coming(by_date, max(start, now), end, zone, agent_id)
    for day in days:
        day.trim()
    return Week(days, cut)


def _add_past(days: list[Day], end: datetime, agent_id: str) -> bool:
    """One line for each plan and day; a single run is its own line. True where some were left out."""
    found = Run.objects.filter(due_at__gte=days[0].start, due_at__lt=end)
    if agent_id:
        found = found.filter(plan__agent_id=agent_id)
    bad = Q(outcome__in=[Run.Outcome.ERROR, Run.Outcome.TIMEOUT, Run.Outcome.HELD, Run.Outcome.INTERRUPTED])
    # Which day a run belongs to, by the days' own midnights: a cast to a date would be a call of ours a row.
    number = Case(
        *(When(due_at__lt=day.start, then=n) for n, day in enumerate(days[1:])), default=len(days) - 1
    )
    groups = list(
        found.order_by()
        .annotate(day=number)
        .values("day", "plan_id")
        .annotate(count=Count("id"), bad=Count("id", filter=bad), first=Min("due_at"), newest=Max("id"))
        .order_by("-first", "plan_id")[: PAST_LIMIT + 1]
    )
    newest = [row["newest"] for row in groups[:PAST_LIMIT]]
    runs = Run.objects.select_related("plan").defer("text").in_bulk(newest)
    for row in groups[:PAST_LIMIT]:
        if run := runs.get(row["newest"]):
            days[row["day"]].past.append(
                Entry(row["first"], run.plan, run=run, count=row["count"], bad=row["bad"])
            )
    return len(groups) > PAST_LIMIT


def _add_coming(days: dict[date, Day], start: datetime, end: datetime, zone: ZoneInfo, agent_id: str) -> bool:
    found = Schedule.objects.filter(plan__state=Plan.State.ACTIVE, next_due_at__lt=end).select_related("plan")
    if agent_id:
        found = found.filter(plan__agent_id=agent_id)
    schedules = list(found.order_by("next_due_at", "id")[: COMING_LIMIT + 1])
    known: dict[Timing, list[datetime] | None] = {}  # many plans share a rhythm
    for schedule in schedules[:COMING_LIMIT]:
        if schedule.timing not in known:
            known[schedule.timing] = _instants(schedule.timing, start, end)
        instants = known[schedule.timing]
        if instants is None:
            _add_often(days, schedule, start, end, zone)
            continue
        for instant in instants:
            day = days.get(instant.astimezone(zone).date())
            if day is not None:
                day.coming.append(Entry(instant, schedule.plan, schedule))
    return len(schedules) > COMING_LIMIT


def _instants(timing: Timing, start: datetime, end: datetime) -> list[datetime] | None:
    """The due instants in [start, end); None for a rhythm that is due more than `OFTEN` times within a day."""
    found = upcoming(timing, start - timedelta(microseconds=1), OFTEN + 1)
    if len(found) > OFTEN and found[-1] - found[0] < timedelta(days=1):
        return None
    while found and found[-1] < end and (more := upcoming(timing, found[-1], OFTEN)):
        found += more
    return [instant for instant in found if instant < end]


def _add_often(
    days: dict[date, Day], schedule: Schedule, start: datetime, end: datetime, zone: ZoneInfo
) -> None:
    for day in days.values():
        began = max(start, day.start)
        instant = next_due(schedule.timing, began - timedelta(microseconds=1))
        if instant is not None and instant < end and instant.astimezone(zone).date() == day.date:
            day.coming.append(Entry(instant, schedule.plan, schedule, often=True))


def _day(day: date, zone: ZoneInfo, now: datetime) -> Day:
    return Day(day, _midnight(day, zone), day == now.astimezone(zone).date())


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return to_instant(datetime.combine(day, time()), zone)
