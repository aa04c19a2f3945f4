"""What runs again and again: each app says so once (`repeat`), the cluster makes the rows when it starts."""

import ast
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django_q.models import Schedule

from gateway.events import publish

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Repeat:
    name: str
    func: str
    minutes: int


_repeats: dict[str, Repeat] = {}


def repeat(name: str, func: str, *, minutes: int) -> None:
    """Declares at import time (in `<app>/tasks.py`) that `func` (`app.tasks.name`) runs every `minutes`.

    `name` is `<app>.<what>` and stays the row's key for ever.
    """
    known = _repeats.setdefault(name, Repeat(name, func, minutes))
    if known != Repeat(name, func, minutes):
        raise ValueError(f"schedule {name} is declared twice, differently")


def repeats() -> list[Repeat]:
    return [_repeats[name] for name in sorted(_repeats)]


def ensure_schedules() -> list[Schedule]:
    """Makes the rows of everything declared; called when a cluster starts."""
    return [ensure_schedule(one.name, one.func, minutes=one.minutes) for one in repeats()]


def ensure_schedule(name: str, func: str, *, minutes: int) -> Schedule:
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
                next_run=_full_minute(timezone.now()),
            )
        row, *doubles = rows
        Schedule.objects.filter(pk__in=[double.pk for double in doubles]).delete()
        wanted = {"func": func, "schedule_type": Schedule.MINUTES, "minutes": minutes, "repeats": -1}
        if changed := [field for field, value in wanted.items() if getattr(row, field) != value]:
            for field in changed:
                setattr(row, field, wanted[field])
            row.next_run = _full_minute(timezone.now())
            row.save(update_fields=[*changed, "next_run"])
    return row


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
            pulled += Schedule.objects.filter(pk=row.pk, next_run=row.next_run).update(
                next_run=_full_minute(now)
            )
            publish("schedule.pulled_in", subject=row.name or f"#{row.pk}")
    return pulled


def _full_minute(moment: datetime) -> datetime:
    """Rows keep the second they began at. On the full minute the clock of plans, most of which are due on one,
    comes right behind them: Django-Q looks every 30 seconds."""
    return moment.replace(second=0, microsecond=0)


def _problem(row: Schedule) -> str:
    try:
        if row.args:
            ast.literal_eval(row.args)
        if row.schedule_type != Schedule.ONCE:
            row.calculate_next_run(row.next_run)
    except Exception as error:  # noqa: BLE001 (whatever it is, it would stop all the others)
        return f"{type(error).__name__}: {error}"
    return ""
