"""The clock's row is pulled in to the second at which something falls due."""

from datetime import UTC, datetime, timedelta

import pytest
from django_q.models import Schedule as Row

from gateway.schedules import ensure_schedule
from plans.models import Plan, Run, Schedule
from plans.services import decisions, lifecycle
from plans.services.alarm import CLOCK
from plans.services.running import execute_run
from plans.services.ticking import tick

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def now(time_machine) -> datetime:
    """A frozen Monday, 40 seconds before the full minute."""
    moment = datetime(2030, 1, 7, 8, 59, 20, tzinfo=UTC)
    time_machine.move_to(moment, tick=False)
    return moment


@pytest.fixture
def clock(now):
    """When the clock's row runs next."""
    ensure_schedule(CLOCK, "plans.tasks.tick_plans", minutes=1, second=0)

    def read() -> datetime:
        return Row.objects.get(name=CLOCK).next_run

    Row.objects.filter(name=CLOCK).update(next_run=now + 55 * SECOND)
    return read


def due_at(plan: Plan, at: datetime) -> None:
    Schedule.objects.filter(plan=plan).update(next_due_at=at)


def test_a_tick_sets_the_clock_to_the_next_due_second(confirmed, now, clock):
    due_at(confirmed, now + 17 * SECOND)
    tick(now=now)
    assert clock() == now + 17 * SECOND


def test_what_is_due_later_than_the_next_minute_leaves_the_clock_alone(confirmed, now, clock):
    due_at(confirmed, now + timedelta(hours=3))
    tick(now=now)
    assert clock() == now + 55 * SECOND


def test_the_alarm_is_at_least_a_second_ahead_so_that_the_clock_never_spins(confirmed, now, clock):
    due_at(confirmed, now + timedelta(milliseconds=1))
    tick(now=now)
    assert clock() == now + SECOND


def test_a_plan_confirmed_seconds_before_it_is_due_sets_the_clock(written, later, now, clock):
    decisions.set_schedule(
        written,
        kind="at",
        value="2030-01-07 08:59:50",
        zone="UTC",
        seen=written.current.file_digest,
        caller=later(),
    )
    written.refresh_from_db()
    # A text is not confirmed in the instant that wrote it.
    decisions.confirm_plan(written, digest=written.current.file_digest, caller=later(), now=now + SECOND)
    assert clock() == datetime(2030, 1, 7, 8, 59, 50, tzinfo=UTC)


def test_a_plan_resumed_seconds_before_it_is_due_sets_the_clock(confirmed, later, now, clock):
    lifecycle.pause_plan(confirmed, caller=later())
    lifecycle.resume_plan(confirmed, caller=later(), now=datetime(2030, 1, 7, 8, 59, 20, tzinfo=UTC))
    assert clock() == datetime(2030, 1, 7, 9, 0, tzinfo=UTC) == Schedule.objects.get().next_due_at


def test_the_next_try_of_an_agent_that_did_not_start_sets_the_clock(
    confirmed, later, agent_program, monkeypatch, now, clock
):
    monkeypatch.setenv("AGENT_EXIT", "75")
    run = lifecycle.run_now(confirmed, caller=later())
    execute_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.not_before) == (Run.Status.QUEUED, now + 30 * SECOND)
    assert clock() == now + 30 * SECOND
    Row.objects.update(next_run=now + 55 * SECOND)
    tick(now=now)  # a tick before the try keeps it in mind
    assert clock() == now + 30 * SECOND
