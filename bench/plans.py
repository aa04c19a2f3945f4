"""The clock of plans: 10,000 active plans, 1,000 of them due in one minute, against the bare claims and inserts."""

import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django_q.models import OrmQ

from bench.crowd import make_crowd
from bench.measure import Table
from gateway.models import User
from plans.models import Run, Schedule
from plans.services.ticking import tick

PLANS, DUE = 10_000, 1_000
NOW = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)


def run(table: Table) -> None:
    person = User.objects.create_user("bench-plans")
    began = time.perf_counter()
    make_crowd(
        PLANS,
        person,
        now=NOW,
        due_at=lambda number: (
            NOW if number % (PLANS // DUE) == 0 else NOW + timedelta(minutes=1 + number % 1000)
        ),
    )
    table.note(f"{PLANS} active plans made in {time.perf_counter() - began:.1f} s; {DUE} due at once")
    bare = min(_timed(_bare) for _n in range(3))
    taken = []
    for day in range(3):
        taken.append(_timed(lambda day=day: tick(now=NOW + timedelta(days=day, seconds=5))))
        assert Run.objects.filter(due_at=NOW + timedelta(days=day), status="queued").count() == DUE
        assert OrmQ.objects.filter(key="turns").count() == DUE
        _clear(day)
    table.row(f"tick, {DUE} of {PLANS} plans due", min(taken), "bare claims and inserts", bare)
    quiet = min(_timed(lambda n=n: tick(now=NOW + timedelta(days=2, seconds=65 + n))) for n in range(5))
    table.row("tick, nothing due", quiet, "bare claims and inserts", bare)


def _clear(day: int) -> None:
    """What is not measured: the runs end, the queue empties, and the quiet plans move on to the next day."""
    OrmQ.objects.all().delete()
    Run.objects.all().delete()
    later = NOW + timedelta(days=day + 1)
    Schedule.objects.filter(next_due_at__lt=later).update(next_due_at=later + timedelta(hours=20))
    due = list(Schedule.objects.order_by("pk").values_list("pk", flat=True)[:: PLANS // DUE])
    for start in range(0, DUE, 500):
        Schedule.objects.filter(pk__in=due[start : start + 500]).update(next_due_at=later)


def _bare() -> None:
    """The same rows by hand: one update, one run and one message each, in one transaction, then taken back."""
    with transaction.atomic():
        due = list(
            Schedule.objects.filter(next_due_at__lte=NOW).values_list("pk", "plan_id", "confirmation_id")
        )
        assert len(due) == DUE
        mark = connection.ops.adapt_datetimefield_value
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE plans_schedule SET next_due_at = %s, last_due_at = %s WHERE id = %s",
                [(mark(NOW + timedelta(days=1)), mark(NOW), pk) for pk, _plan, _yes in due],
            )
        Run.objects.bulk_create(
            [Run(plan_id=plan, confirmation_id=yes, due_at=NOW) for _pk, plan, yes in due], batch_size=500
        )
        payload = uuid.uuid4().hex * 10
        OrmQ.objects.bulk_create(
            [OrmQ(key="turns", payload=payload, lock=NOW) for _row in due], batch_size=500
        )
        transaction.set_rollback(True)


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
