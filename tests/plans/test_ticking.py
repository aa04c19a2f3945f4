"""The clock: each due instant exactly one row, late, missed, overlapping, held or on time."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django_q.models import OrmQ

from plans.models import Plan, Run, Schedule, Tick
from plans.services import lifecycle
from plans.services.ticking import tick

MONDAY = datetime(2026, 12, 7, 9, 0, tzinfo=UTC)  # 09:00 in London, a due instant of the plan


def rows() -> list[tuple[str, str, str, str]]:
    return [
        (f"{run.due_at:%m-%d %H:%M}", run.status, run.outcome, run.trigger)
        for run in Run.objects.order_by("due_at")
    ]


@pytest.fixture(autouse=True)
def _started_on_sunday(request):
    """Every plan here is confirmed on Sunday; the clock stands still unless a test moves it."""
    with time_machine.travel(datetime(2026, 12, 6, 12, 0, tzinfo=UTC), tick=True):
        yield


def ticking(*moments: datetime) -> None:
    for moment in moments:
        with time_machine.travel(moment, tick=False):
            tick()


def end_open_runs() -> None:
    Run.objects.open().update(status="ended", outcome="ok", ended_at=datetime.now(UTC))


def test_nothing_before_the_due_time_and_one_queued_run_at_it(confirmed):
    ticking(MONDAY - timedelta(seconds=1))
    assert rows() == []
    ticking(MONDAY)
    assert rows() == [("12-07 09:00", "queued", "", "schedule")]
    assert Schedule.objects.get().next_due_at == MONDAY + timedelta(days=1)
    assert OrmQ.objects.filter(key="turns").count() == 1


def test_ticks_that_come_twice_or_after_a_restart_run_it_once(confirmed):
    ticking(MONDAY, MONDAY, MONDAY + timedelta(seconds=30))
    end_open_runs()
    ticking(MONDAY + timedelta(minutes=1), MONDAY + timedelta(minutes=30))
    assert rows() == [("12-07 09:00", "ended", "ok", "schedule")]


def test_a_clock_that_steps_back_brings_no_instant_back(confirmed):
    ticking(MONDAY + timedelta(seconds=20))
    end_open_runs()
    ticking(MONDAY - timedelta(hours=3), MONDAY - timedelta(minutes=1), MONDAY, MONDAY + timedelta(minutes=1))
    assert rows() == [("12-07 09:00", "ended", "ok", "schedule")]


def test_down_over_the_due_time_and_back_a_minute_later_it_runs_as_made_up_for(confirmed):
    ticking(MONDAY - timedelta(minutes=10), MONDAY + timedelta(minutes=1))
    assert rows() == [("12-07 09:00", "queued", "", "catch_up")]


def test_down_over_the_due_time_with_skip_it_is_recorded_as_missed(confirmed, later):
    lifecycle.change_settings(confirmed, caller=later(), missed="skip")
    ticking(MONDAY - timedelta(minutes=10), MONDAY + timedelta(minutes=1))
    assert rows() == [("12-07 09:00", "ended", "missed", "schedule")]
    assert Run.objects.get().reason == "The clock was off at this time."


def test_down_for_days_the_newest_runs_and_the_others_are_missed(confirmed):
    ticking(MONDAY - timedelta(minutes=10), MONDAY + timedelta(days=2, hours=13))
    assert rows() == [
        ("12-07 09:00", "ended", "missed", "schedule"),
        ("12-08 09:00", "ended", "missed", "schedule"),
        ("12-09 09:00", "queued", "", "catch_up"),
    ]
    assert Schedule.objects.get().next_due_at == MONDAY + timedelta(days=3)


def test_back_exactly_at_a_due_time_that_one_runs_and_the_others_are_missed(confirmed):
    ticking(MONDAY - timedelta(minutes=10), MONDAY + timedelta(days=1, seconds=2))
    assert rows() == [
        ("12-07 09:00", "ended", "missed", "schedule"),
        ("12-08 09:00", "queued", "", "schedule"),
    ]


def test_a_tick_that_is_a_little_late_is_no_outage(confirmed):
    ticking(MONDAY - timedelta(seconds=40), MONDAY + timedelta(seconds=80))
    assert rows() == [("12-07 09:00", "queued", "", "schedule")]


def test_the_run_before_still_going_the_new_one_is_skipped(confirmed):
    ticking(MONDAY, MONDAY + timedelta(days=1, seconds=-60), MONDAY + timedelta(days=1))
    assert rows() == [
        ("12-07 09:00", "queued", "", "schedule"),
        ("12-08 09:00", "ended", "skipped", "schedule"),
    ]
    assert Run.objects.get(outcome="skipped").code == "OVERLAP"


def test_a_held_plan_has_its_next_due_time_on_record_and_then_is_quiet(confirmed):
    Plan.objects.update(state="held", state_reason="PLAN.md changed after it was confirmed.")
    ticking(MONDAY - timedelta(seconds=60), MONDAY, MONDAY + timedelta(days=1))
    assert rows() == [("12-07 09:00", "ended", "held", "schedule")]
    assert Run.objects.get().reason == "PLAN.md changed after it was confirmed."
    assert Schedule.objects.get().next_due_at is None


def test_a_paused_plan_has_no_runs_and_makes_up_for_none_when_resumed(confirmed, later):
    lifecycle.pause_plan(confirmed, caller=later())
    ticking(MONDAY - timedelta(seconds=60), MONDAY)
    with time_machine.travel(MONDAY + timedelta(hours=3), tick=True):
        lifecycle.resume_plan(Plan.objects.get(), caller=later())
    assert rows() == []
    assert Schedule.objects.get().next_due_at == MONDAY + timedelta(days=1)


def test_one_schedule_that_cannot_be_computed_does_not_stop_the_others(confirmed):
    good = Schedule.objects.get()
    bad = _copy_plan(confirmed, "second")
    Schedule.objects.filter(pk=bad.pk).update(zone="Mars/Base", next_due_at=MONDAY - timedelta(seconds=1))
    ticking(MONDAY - timedelta(seconds=90), MONDAY)
    assert [run.plan_id for run in Run.objects.all()] == [good.plan_id]
    bad.refresh_from_db()
    assert bad.next_due_at is None
    assert "Mars/Base" in Plan.objects.get(pk=bad.plan_id).state_reason


def _copy_plan(plan: Plan, task_id: str) -> Schedule:
    """Another active plan with the same rhythm, written row by row in the only order the database allows."""
    from plans.models import Confirmation, Revision
    from plans.planfile_write import task_message

    copy = Plan.objects.create(agent_id="main", archive_id="other", task_id=task_id)
    revision = Revision.objects.create(
        plan=copy, number=1, content=b"x", text="x", file_digest="1" * 64, origin="disk", made_by="x"
    )
    confirmation = Confirmation.objects.create(
        plan=copy, revision=revision, digest="1" * 64, person=plan.confirmations.get().person,
        request_id="r", confirmed_at=revision.created_at + timedelta(seconds=1),
    )  # fmt: skip
    old = plan.schedule
    schedule = Schedule.objects.create(
        plan=copy, confirmation=confirmation, kind=old.kind, expr=old.expr, zone=old.zone,
        message=task_message("other", task_id), next_due_at=old.next_due_at,
    )  # fmt: skip
    Plan.objects.filter(pk=copy.pk).update(current=revision, state="active")
    return schedule


def test_a_one_shot_that_ran_or_was_skipped_is_over_for_good(confirmed, later):
    Schedule.objects.update(kind="at", at=MONDAY, next_due_at=MONDAY)
    ticking(MONDAY - timedelta(seconds=30), MONDAY)
    Run.objects.update(status="ended", outcome="skipped", ended_at=MONDAY)
    ticking(*(MONDAY + timedelta(minutes=n) for n in range(1, 5)))
    assert rows() == [("12-07 09:00", "ended", "skipped", "schedule")]
    assert (Plan.objects.get().state, Schedule.objects.get().next_due_at) == ("ended", None)


def test_a_message_that_was_lost_is_sent_again(confirmed):
    ticking(MONDAY)
    OrmQ.objects.all().delete()
    ticking(MONDAY + timedelta(minutes=1))
    assert OrmQ.objects.count() == 0
    ticking(MONDAY + timedelta(minutes=3))
    assert OrmQ.objects.count() == 1


def test_a_row_whose_message_was_never_sent_is_sent_by_the_next_tick(confirmed):
    ticking(MONDAY)
    OrmQ.objects.all().delete()
    Run.objects.update(enqueued_at=None)  # killed between the row and the message
    ticking(MONDAY + timedelta(minutes=1))
    assert OrmQ.objects.count() == 1 and Run.objects.count() == 1


def test_the_tick_is_remembered(confirmed):
    ticking(MONDAY, MONDAY + timedelta(minutes=1))
    assert Tick.objects.get().at == MONDAY + timedelta(minutes=1)


class TestWorkersThatAreGone:
    @pytest.fixture
    def running(self, confirmed) -> Run:
        ticking(MONDAY)
        run = Run.objects.get()
        Run.objects.filter(pk=run.pk).update(
            status="running", owner="elsewhere/0/1/1", attempts=1, started_at=MONDAY, seen_at=MONDAY
        )
        return run

    def test_a_silent_worker_elsewhere_is_gone_after_five_minutes(self, running):
        ticking(MONDAY + timedelta(minutes=4))
        assert rows() == [("12-07 09:00", "running", "", "schedule")]
        ticking(MONDAY + timedelta(minutes=6))
        run = Run.objects.get()
        assert (run.outcome, run.code) == ("interrupted", "WORKER_GONE")
        assert run.reason == (
            "The worker was cut off while this run was going; what the agent had done until then stays done."
        )
        assert Plan.objects.get().failures == 1

    def test_a_dead_worker_here_is_gone_at_once(self, running):
        from plans.services.recovery import own_name

        machine = own_name().rsplit("/", 2)[0]
        Run.objects.update(owner=f"{machine}/999999999/1")
        ticking(MONDAY + timedelta(seconds=30))
        assert Run.objects.get().outcome == "interrupted"

    def test_a_pid_that_was_given_to_another_process_is_no_worker(self, running):
        from plans.services.recovery import own_name

        Run.objects.update(owner=own_name().rsplit("/", 1)[0] + "/12345")
        ticking(MONDAY + timedelta(seconds=30))
        assert Run.objects.get().outcome == "interrupted"

    def test_a_sign_of_life_three_hours_in_the_future_is_none(self, running):
        Run.objects.update(seen_at=MONDAY + timedelta(hours=3))
        ticking(MONDAY + timedelta(seconds=30))
        assert Run.objects.get().outcome == "interrupted"

    @pytest.mark.parametrize("jump", [timedelta(hours=3), timedelta(hours=-3)])
    def test_a_living_worker_here_gets_a_second_look_when_the_clock_jumped(self, running, jump):
        from plans.services.recovery import own_name

        Run.objects.update(owner=own_name(), seen_at=MONDAY + jump)
        ticking(MONDAY + timedelta(seconds=30))
        assert (Run.objects.get().status, Run.objects.get().code) == ("running", "QUIET")
        # It gives a sign, and is its own again …
        Run.objects.update(seen_at=MONDAY + timedelta(seconds=35), code="")
        ticking(MONDAY + timedelta(seconds=90))
        assert (Run.objects.get().status, Run.objects.get().code) == ("running", "")

    def test_a_living_worker_here_that_stays_silent_at_the_second_look_has_lost_its_run(self, running):
        from plans.services.recovery import own_name

        Run.objects.update(owner=own_name(), seen_at=MONDAY - timedelta(hours=3))
        ticking(MONDAY + timedelta(seconds=30), MONDAY + timedelta(seconds=90))
        assert Run.objects.get().outcome == "interrupted"

    def test_where_the_plan_allows_it_is_run_again_at_most_twice(self, running, confirmed, later):
        lifecycle.change_settings(confirmed, caller=later(), rerun_interrupted=True)
        ticking(MONDAY + timedelta(minutes=6))
        run = Run.objects.get()
        assert (run.status, run.code, run.owner) == ("queued", "RERUN", "")
        Run.objects.update(status="running", owner="elsewhere/0/1/1", attempts=3, seen_at=MONDAY)
        ticking(MONDAY + timedelta(minutes=12))
        assert Run.objects.get().outcome == "interrupted"

    def test_it_is_not_run_again_when_its_text_is_not_the_confirmed_one_any_more(
        self, running, confirmed, later
    ):
        lifecycle.change_settings(confirmed, caller=later(), rerun_interrupted=True)
        Plan.objects.update(state="held")
        ticking(MONDAY + timedelta(minutes=6))
        assert Run.objects.get().outcome == "interrupted"
