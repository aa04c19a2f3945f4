"""When the clock of plans looks next: once a minute, and at the second that something falls due before that.

An alarm is only a pulled-in Django-Q row. One that is lost costs punctuality, never a run: the next minute's look
finds whatever is due.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Min

from gateway.schedules import wake
from plans.models import Run, Schedule

CLOCK = "plans.clock"  # the Django-Q schedule that ticks (`plans.tasks`)
RHYTHM = timedelta(minutes=1)  # it looks that often anyway
# What cannot be claimed now must not make the clock spin.
SOONEST = timedelta(seconds=1)


def wake_clock(at: datetime | None) -> None:
    """The clock looks at `at` at the latest; None (nothing is due any more) changes nothing."""
    if at is not None:
        wake(CLOCK, at)


def set_alarm(*, now: datetime) -> None:
    """Sets the clock to the next due plan or the next try behind a back-off, whichever comes first."""
    due = (
        Schedule.objects.exclude(next_due_at=None)
        .order_by("next_due_at")
        .values_list("next_due_at", flat=True)
        .first()
    )
    retry = Run.objects.filter(status=Run.Status.QUEUED, enqueued_at=None).aggregate(at=Min("not_before"))[
        "at"
    ]
    instants = [instant for instant in (due, retry) if instant is not None and instant < now + RHYTHM]
    if instants:
        wake_clock(max(min(instants), now + SOONEST))
