"""10,000 active plans, 1,000 due in one minute: all of them queued within that minute."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_q.models import OrmQ

from bench.crowd import make_crowd
from gateway.models import User
from plans.models import Run, Schedule
from plans.services.ticking import tick

NOW = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)


def crowd(count: int, due: int) -> None:
    person = User.objects.create_user("crowd")
    step = count // due
    later = NOW + timedelta(hours=2)
    make_crowd(count, person, now=NOW, due_at=lambda number: NOW if number % step == 0 else later)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_thousand_of_ten_thousand_plans_are_queued_within_the_minute():
    crowd(10_000, 1_000)
    began = time.monotonic()
    done = tick(now=NOW + timedelta(seconds=5))
    assert time.monotonic() - began < 55
    assert len(done.queued) == Run.objects.filter(status="queued").count() == 1_000
    assert OrmQ.objects.filter(key="turns").count() == 1_000
    assert Schedule.objects.filter(next_due_at__lte=NOW).count() == 0


@pytest.mark.django_db
def test_a_quiet_tick_makes_as_many_queries_with_many_plans_as_with_few():
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            tick(now=NOW)
        return len(captured)

    queries()  # the first tick makes the row that remembers it
    few = queries()
    crowd(200, 1)
    Schedule.objects.update(next_due_at=NOW + timedelta(hours=1))
    assert queries() == few
