"""A run gets the bytes that were confirmed, or nothing; and its record says what happened."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from gateway.callers import system_caller
from gateway.models import Delivery, LedgerEvent
from plans.models import Plan, Run, Schedule
from plans.services import lifecycle
from plans.services.announcing import announce_left
from plans.services.running import execute_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(confirmed, later) -> Run:
    return lifecycle.run_now(confirmed, caller=later())


def executions(count) -> int:
    return len(count.read_text().splitlines())


def test_a_run_goes_from_queue_to_an_archived_report_with_its_card(run, agent_program, workspace):
    done = execute_run(run.pk)
    assert (done.status, done.outcome, done.code, done.reason) == ("ended", "ok", "", "")
    assert executions(agent_program) == 1
    assert done.session_key == f"agent:main:cron:{run.plan.uid}:run:{run.uid}"
    assert done.digest == run.confirmation.digest and done.runner == "command"
    (output,) = done.outputs
    assert (workspace / output["path"]).read_text().startswith("# Report")
    assert done.outputs_found is True and done.text_changed is False
    assert '"type": "archive_grid"' in done.text and done.text.startswith("Done.")


def test_an_ok_run_without_archived_output_is_shown_as_such(run, agent_program, monkeypatch):
    monkeypatch.setenv("AGENT_SILENT", "1")
    done = execute_run(run.pk)
    assert (done.outcome, done.outputs_found, done.outputs) == ("ok", False, [])


def test_a_second_message_for_the_same_run_does_nothing(run, agent_program):
    assert execute_run(run.pk).outcome == "ok"
    assert execute_run(run.pk) is None
    assert executions(agent_program) == 1


@pytest.mark.parametrize("change", ["append", "flip", "remove byte", "truncate"])
def test_a_file_changed_after_confirmation_holds_the_run_and_the_plan(run, agent_program, plan_file, change):
    raw = plan_file.read_bytes()
    middle = len(raw) // 2
    plan_file.write_bytes(
        {
            "append": raw + b"\n",
            "flip": raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :],
            "remove byte": raw[:middle] + raw[middle + 1 :],
            "truncate": b"",
        }[change]
    )
    done = execute_run(run.pk)
    assert (done.outcome, done.code) == ("held", "PLAN_CHANGED")
    assert executions(agent_program) == 0
    plan = Plan.objects.get()
    assert (plan.state, plan.current.number) == ("held", 2)
    assert Schedule.objects.get().next_due_at is None
    assert LedgerEvent.objects.filter(kind="run.ended").exists()


def test_a_file_that_is_gone_holds_the_run(run, agent_program, plan_file):
    plan_file.unlink()
    done = execute_run(run.pk)
    assert (done.outcome, done.code) == ("held", "PLAN_GONE")
    assert Plan.objects.get().state == "held" and executions(agent_program) == 0


@pytest.mark.parametrize("kind", ["file", "archive", "archives", "fifo", "folder"])
def test_a_file_replaced_by_a_link_or_anything_else_holds_the_run(
    run, agent_program, plan_file, tmp_path, kind
):
    # The link points to the very same bytes: it is still no regular file in its place.
    where = {"file": plan_file, "fifo": plan_file, "folder": plan_file}.get(kind) or (
        plan_file.parent if kind == "archive" else plan_file.parent.parent
    )
    away = tmp_path / "away"
    where.rename(away)
    if kind == "fifo":
        os.mkfifo(where)
    elif kind == "folder":
        where.mkdir()
    else:
        where.symlink_to(away)
    done = execute_run(run.pk)
    assert (done.outcome, done.code) == ("held", "PLAN_UNREADABLE")
    assert executions(agent_program) == 0
    assert Plan.objects.get().state == "held"


def test_the_runner_gets_the_bytes_that_were_checked_also_when_the_file_is_swapped_behind_the_check(
    run, agent_program, plan_file, settings, tmp_path
):
    """The swap happens where it hurts most: in the moment between the check and the program's start."""
    got = tmp_path / "message"
    program = tmp_path / "swapped.sh"
    # The program itself swaps the file first, as anybody could have done just before it started.
    program.write_text('#!/bin/sh\nprintf "evil" > "$1"\nprintf "%s" "$2" > "$3"\n')
    program.chmod(0o755)
    settings.RUNNER_COMMAND = f"{program} {plan_file} {{message}} {got}"
    confirmed_text = plan_file.read_text()
    done = execute_run(run.pk)
    assert got.read_text().endswith(confirmed_text)
    assert got.read_text().split("\n")[0] == (
        f"从路径 archives/{run.plan.archive_id}/PLAN.md 中读取 Task_ID: {run.plan.task_id} 的详细计划并按步骤执行"
    )
    assert "evil" not in got.read_text()
    # And the swap itself is noticed at the end of the run.
    assert (done.outcome, done.text_changed, Plan.objects.get().state) == ("ok", True, "held")


def test_a_plan_that_was_held_or_retired_after_the_run_was_queued_does_not_run(run, agent_program):
    Plan.objects.update(state=Plan.State.HELD)
    done = execute_run(run.pk)
    assert (done.outcome, done.code) == ("held", "NOT_CONFIRMED")
    assert executions(agent_program) == 0


def test_no_runner_ends_the_run_at_once_and_says_what_to_configure(run, settings):
    settings.RUNNER, settings.RUNNER_COMMAND, settings.OPENCLAW_BIN = (
        "",
        "{openclaw} {message}",
        "/nowhere/openclaw",
    )
    done = execute_run(run.pk)
    assert (done.status, done.outcome, done.code, done.attempts) == ("ended", "error", "NO_RUNNER", 1)
    assert done.reason == (
        "No runner is configured, so no agent was started. command: The program “/nowhere/openclaw” was not found: "
        "set OPENCLAW_BIN or RUNNER_COMMAND."
    )


def test_a_failed_agent_is_an_error_and_is_not_tried_again(run, agent_program, monkeypatch):
    monkeypatch.setenv("AGENT_EXIT", "4")
    done = execute_run(run.pk)
    assert (done.outcome, done.code, done.reason) == (
        "error",
        "AGENT_FAILED",
        "The program ended with status 4.",
    )
    assert executions(agent_program) == 1 and Plan.objects.get().failures == 1


def test_an_agent_that_did_not_start_is_tried_again_after_30_seconds_1_and_5_minutes(
    run, agent_program, monkeypatch
):
    monkeypatch.setenv("AGENT_EXIT", "75")
    now = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
    waits = []
    with time_machine.travel(now, tick=False) as clock:
        Run.objects.update(not_before=None)
        for _attempt in range(3):
            done = execute_run(run.pk)
            assert (done.status, done.code, done.agent_started) == ("queued", "BACK_OFF", False)
            waits.append(done.not_before - datetime.now(UTC))
            assert execute_run(run.pk) is None  # too early
            clock.move_to(done.not_before)
        done = execute_run(run.pk)
    assert waits == [timedelta(seconds=30), timedelta(seconds=60), timedelta(seconds=300)]
    assert (done.status, done.outcome, done.code, done.attempts) == ("ended", "error", "NOT_STARTED", 4)


def test_a_run_over_its_time_limit_ends_as_timeout_and_is_not_retried(run, agent_program, monkeypatch):
    monkeypatch.setenv("AGENT_SLEEP", "60")
    monkeypatch.setenv("AGENT_CHILD", "60")
    monkeypatch.setattr("gateway.runners.GRACE_SECONDS", 0.3)
    Plan.objects.update(time_limit=10)
    from gateway import runners

    started = time.monotonic()
    monkeypatch.setattr(runners.time, "monotonic", _hurried(runners.time.monotonic))
    done = execute_run(run.pk)
    assert time.monotonic() - started < 60
    assert (done.outcome, done.code) == ("timeout", "TIMEOUT")
    assert done.reason == "The time limit of 10 s was reached. What the agent had begun may still go on."
    assert done.status == "ended"


def _hurried(monotonic):
    """A clock that runs twelve times as fast, so that ten seconds need not be waited for."""
    start = monotonic()
    return lambda: start + (monotonic() - start) * 12


def test_a_running_run_can_be_stopped(run, agent_program, monkeypatch, later):
    monkeypatch.setenv("AGENT_SLEEP", "30")

    from plans.services import running

    class Watch(running._Watch):
        def started(self, pid):
            super().started(pid)
            lifecycle.stop_run(Run.objects.get(pk=run.pk), caller=later())

    monkeypatch.setattr(running, "_Watch", Watch)
    done = execute_run(run.pk)
    assert (done.outcome, done.code, done.reason) == ("stopped", "STOPPED", "Stopped by reviewer.")
    assert executions(agent_program) <= 1


def test_after_five_failed_runs_in_a_row_the_plan_pauses_itself(confirmed, agent_program, monkeypatch, later):
    monkeypatch.setenv("AGENT_EXIT", "1")
    for _number in range(5):
        assert Plan.objects.get().state == "active"
        execute_run(lifecycle.run_now(confirmed, caller=later()).pk)
    plan = Plan.objects.get()
    assert (plan.state, plan.state_reason) == ("paused", "Paused itself after 5 failed runs in a row.")
    assert LedgerEvent.objects.filter(kind="plan.paused").count() == 1
    assert Schedule.objects.get().next_due_at is None


def test_one_good_run_forgets_the_failures(confirmed, agent_program, monkeypatch, later):
    monkeypatch.setenv("AGENT_EXIT", "1")
    execute_run(lifecycle.run_now(confirmed, caller=later()).pk)
    monkeypatch.setenv("AGENT_EXIT", "0")
    execute_run(lifecycle.run_now(confirmed, caller=later()).pk)
    assert Plan.objects.get().failures == 0


class TestDelivery:
    """Error and delivered, ok and nothing arrived, ok and not asked for: outcome and delivery are two things."""

    def test_nothing_is_sent_unless_the_plan_wants_it(self, run, agent_program):
        assert execute_run(run.pk).delivery is None

    @pytest.mark.parametrize(("status", "outcome"), [("0", "ok"), ("1", "error")])
    @pytest.mark.parametrize(("answer", "arrived"), [('{"status": "started"}', "delivered"), ("", "failed")])
    def test_what_arrived_is_on_record_beside_how_it_came_out(
        self, run, agent_program, monkeypatch, settings, tmp_path, status, outcome, answer, arrived
    ):
        Plan.objects.update(announce=True)
        monkeypatch.setenv("AGENT_EXIT", status)
        peer = tmp_path / "peer"
        peer.write_text(f"#!/bin/sh\necho '{answer}'\nexit {0 if answer else 1}\n")
        peer.chmod(0o755)
        settings.OPENCLAW_BIN = str(peer)
        done = execute_run(run.pk)
        done.refresh_from_db()
        assert (done.outcome, done.delivery.outcome) == (outcome, arrived)
        assert bool(done.delivery.received_at) == (arrived == "delivered")
        assert done.delivery.text.startswith(f"check the build: {outcome}")


class TestAnnouncedAfterACrash:
    @pytest.fixture
    def ended(self, run, agent_program, monkeypatch):
        """A run whose worker died after its end was written and before it was announced."""
        monkeypatch.setattr("plans.services.running.announce_run", lambda *args, **more: None)
        Plan.objects.update(announce=True)
        return execute_run(run.pk)

    @pytest.mark.parametrize(("minutes", "told"), [(0, 0), (2, 1), (14, 1), (16, 0)])
    def test_what_a_killed_worker_did_not_tell_is_told_once_and_only_while_it_is_news(
        self, ended, minutes, told
    ):
        at = ended.ended_at + timedelta(minutes=minutes)
        caller = system_caller("test")
        assert announce_left(now=at, caller=caller) == told
        assert announce_left(now=at, caller=caller) == 0
        assert Delivery.objects.filter(subject=f"run:{ended.uid}").count() == told

    def test_a_plan_that_wants_no_announcement_gets_none(self, ended):
        Plan.objects.update(announce=False)
        at = ended.ended_at + timedelta(minutes=2)
        assert announce_left(now=at, caller=system_caller("test")) == 0


def test_a_run_that_was_taken_for_lost_and_ends_late_joins_its_own_record(run, agent_program, monkeypatch):
    from plans.services import running

    class Lost(running._Watch):
        def started(self, pid):
            super().started(pid)
            # Somebody concludes that this worker is gone while its program still works.
            Run.objects.filter(pk=run.pk).update(
                status="ended", outcome="interrupted", code="WORKER_GONE", ended_at=datetime.now(UTC)
            )

        def go_on(self):
            return True

    monkeypatch.setattr(running, "_Watch", Lost)
    done = execute_run(run.pk)
    assert (done.outcome, done.code) == ("interrupted", "LATE_END")
    assert done.reason == "Its worker was taken for lost and ended later, with: ok."
    assert done.outputs_found is True and done.text.startswith("Done.")
    assert Run.objects.count() == 1
