"""What runs again and again: each app says so once (`repeat`), the cluster makes the rows when it starts.

Django-Q's guard loop looks for due rows every 30 s. The cluster's command looks every half second (`start_due`), so
that a row is punctual to its second, and an app can pull one in for the moment it needs (`wake`).
"""

import ast
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_q.models import Schedule
from django_q.scheduler import scheduler
from django_q.tasks import async_task
from redis.exceptions import RedisError

from gateway.events import publish

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Repeat:
    name: str
    func: str
    minutes: int
    second: int = 30


_repeats: dict[str, Repeat] = {}


def repeat(name: str, func: str, *, minutes: int, second: int = 30) -> None:
    """Declares at import time (in `<app>/tasks.py`) that `func` (`app.tasks.name`) runs every `minutes`.

    `name` is `<app>.<what>` and stays the row's key for ever. `second` is where in the minute it falls: on the half,
    so that what people set to a full minute finds a free worker.
    """
    declared = Repeat(name, func, minutes, second)
    if _repeats.setdefault(name, declared) != declared:
        raise ValueError(f"schedule {name} is declared twice, differently")


def repeats() -> list[Repeat]:
    return [_repeats[name] for name in sorted(_repeats)]


def ensure_schedules() -> list[Schedule]:
    """Makes the rows of everything declared; called when a cluster starts."""
    return [ensure_schedule(one.name, one.func, minutes=one.minutes, second=one.second) for one in repeats()]


def ensure_schedule(name: str, func: str, *, minutes: int, second: int = 30) -> Schedule:
    """One row named `name` that runs `func` every `minutes`; called again it changes nothing.

    A row that was paused, changed or doubled is put right; a due time that is still ahead is kept.
    """
    with transaction.atomic():
        rows = list(Schedule.objects.select_for_update().filter(name=name).order_by("pk"))
        if not rows:
            return Schedule.objects.create(
                name=name,
                func=func,
                schedule_type=Schedule.MINUTES,
                minutes=minutes,
                repeats=-1,
                next_run=_last_passing(second, timezone.now()),
            )
        row, *doubles = rows
        Schedule.objects.filter(pk__in=[double.pk for double in doubles]).delete()
        wanted = {"func": func, "schedule_type": Schedule.MINUTES, "minutes": minutes, "repeats": -1}
        if changed := [field for field, value in wanted.items() if getattr(row, field) != value]:
            for field in changed:
                setattr(row, field, wanted[field])
            row.next_run = _last_passing(second, timezone.now())
            row.save(update_fields=[*changed, "next_run"])
    return row


def wake(name: str, at: datetime) -> bool:
    """Lets the row `name` run at `at` (to the second) where that is sooner than its next turn; True where it was."""
    return bool(Schedule.objects.filter(name=name, next_run__gt=at).exclude(repeats=0).update(next_run=at))


def start_due(now: datetime | None = None) -> bool:
    """One pass of Django-Q's scheduler, if a row of the main cluster is due; True where there was one.

    Safe beside the guard loop's own pass and beside other clusters: a pass locks the rows that it moves on.
    """
    now = now or timezone.now()
    if not Schedule.objects.exclude(repeats=0).filter(next_run__lt=now, cluster=None).exists():
        return False
    pause_broken_schedules(now)
    scheduler()
    return True


def pause_broken_schedules(now: datetime | None = None) -> list[str]:
    """Pauses due rows that the scheduler could not read, and says so in the event ledger; returns their names.

    One such row would roll back every pass of Django-Q's scheduler, and all schedules would stand still.
    """
    paused = []
    due = Schedule.objects.exclude(repeats=0).filter(next_run__lt=now or timezone.now())
    for row in due.order_by("pk"):
        if problem := _problem(row):
            name = row.name or f"#{row.pk}"
            Schedule.objects.filter(pk=row.pk).update(repeats=0)
            publish("schedule.paused", subject=name, data={"problem": problem})
            logger.error("schedule %s is paused: %s", name, problem)
            paused.append(name)
    return paused


def pull_in_schedules(now: datetime | None = None) -> int:
    """Makes due what lies further ahead than its own rhythm: the clock was set back under it.

    Without this a clock that steps back three hours stops every schedule for three hours. Returns how many.
    """
    now = now or timezone.now()
    pulled = 0
    for row in Schedule.objects.filter(schedule_type=Schedule.MINUTES).exclude(repeats=0):
        if row.next_run and row.next_run > now + timedelta(minutes=(row.minutes or 1) + 1):
            pulled += Schedule.objects.filter(pk=row.pk, next_run=row.next_run).update(next_run=now)
            publish("schedule.pulled_in", subject=row.name or f"#{row.pk}")
    return pulled


def _last_passing(second: int, now: datetime) -> datetime:
    """When the clock last showed this second: rows keep the second they began at, and a new one runs at once."""
    passing = now.replace(second=second, microsecond=0)
    return passing if passing <= now else passing - timedelta(minutes=1)


def _problem(row: Schedule) -> str:
    try:
        if row.args:
            ast.literal_eval(row.args)
        if row.schedule_type != Schedule.ONCE:
            row.calculate_next_run(row.next_run)
    except Exception as error:  # noqa: BLE001 (whatever it is, it would stop all the others)
        return f"{type(error).__name__}: {error}"
    return ""


def hand_over(func: str, *args: Any, **options: Any) -> bool:
    """Puts one task into the queue. False, and a line in the log, where Redis cannot be reached.

    For work that a row of ours already stands for: a schedule finds the row, so the person who asked need not wait
    for Redis, nor hear of it. `options` are those of Django-Q's `async_task`.
    """
    try:
        async_task(func, *args, **options)
    except RedisError as error:
        logger.error("%s was not put into the queue: %s", func, error)
        return False
    return True
