from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway.deliveries import attempt_delivery
from gateway.models import Delivery
from longrun import queries
from longrun.models import LongTask
from longrun.services.heartbeat import fail_progress, tick
from longrun.services.signs import touch_reply, touch_tool
from longrun.services.tasks import Report, set_task
from longrun.services.watchdog import (
    build_payloads,
    check_due,
    make_recoveries,
    run_watchdog,
    send_recoveries,
    suggest_recoveries,
)

from .conftest import KEY, NOON

NAME = "整理合同"


def kinds():
    return [found["finding"] for found in check_due()]


def test_a_task_that_gives_signs_in_time_is_not_found(clock, begin, agent_caller):
    begin()
    for _ in range(5):
        clock.shift(599)
        touch_tool(NAME, caller=agent_caller)
    assert kinds() == []


def test_no_sign_for_more_than_ten_minutes_is_lost_with_its_evidence(clock, begin):
    begin()
    clock.shift(600)
    assert kinds() == []
    clock.shift(1)
    [found] = check_due()
    assert found["finding"] == "lost"
    assert found["evidence"] == {
        "says": "executing",
        "looked_at": "2026-11-30T12:10:01+00:00",
        "limit_seconds": 600,
        "next_check_at": None,
        "quiet_until": None,
        "last_visible_reply_at": None,
        "last_tool_result_at": None,
        "last_progress_at": None,
        "updated_at": "2026-11-30T12:00:00+00:00",
        "silent_seconds": 601,
    }


def test_signs_without_advance_are_stuck(clock, begin, agent_caller):
    begin(quiet_limit="20m")
    for _ in range(5):
        clock.shift(300)
        LongTask.objects.update(last_visible_reply_at=NOON + timedelta(seconds=300 * (_ + 1)))
    [found] = check_due()
    assert (found["finding"], found["evidence"]["without_advance_seconds"]) == ("stuck", 1500)


def test_a_missed_next_check_is_overdue(clock, begin):
    begin(next_check="5m")
    clock.shift(301)
    [found] = check_due()
    assert (found["finding"], found["evidence"]["late_seconds"]) == ("overdue", 1)


def test_a_waiting_task_is_found_at_its_checkpoint(clock, begin, agent_caller):
    begin()
    set_task(NAME, state="waiting", report=Report(next_check="5m"), caller=agent_caller)
    clock.shift(299)
    assert kinds() == []
    clock.shift(1)
    assert kinds() == ["checkpoint_due"]


def test_a_task_has_at_most_one_finding_and_lost_comes_first(clock, begin):
    begin(next_check="5m")
    clock.shift(601)
    assert kinds() == ["lost"]


@pytest.mark.parametrize("minutes", [6, 9, 14])
def test_a_quiet_tool_call_of_up_to_fourteen_minutes_is_not_lost_where_it_was_announced(
    clock, begin, agent_caller, minutes
):
    begin()
    touch_tool(NAME, caller=agent_caller, running_for="14m")
    clock.shift(minutes * 60)
    assert kinds() == []
    run_watchdog()
    assert LongTask.objects.get().state == "executing"


def test_a_task_may_have_a_limit_of_its_own(clock, begin):
    begin(quiet_limit="15m")
    clock.shift(14 * 60)
    assert kinds() == []
    clock.shift(61)
    assert kinds() == ["lost"]


def test_standing_still_for_more_than_ten_minutes_blocks_at_once(clock, begin):
    begin()
    clock.shift(601)
    run_watchdog()
    task = LongTask.objects.get()
    assert (task.state, task.block_reason, task.finding) == ("blocked", "no_advance", "lost")
    assert (task.stuck_at, task.missing) == ("核对第 214 份", "超过时限没有推进")


def test_a_pass_that_finds_the_same_again_adds_no_event(clock, begin):
    task = begin()
    clock.shift(601)
    run_watchdog()
    events = task.events.count()
    for _ in range(3):
        clock.shift(60)
        run_watchdog()
    assert task.events.count() == events


def test_the_automatic_block_is_no_sign_of_life(clock, begin):
    begin()
    clock.shift(601)
    run_watchdog()
    assert LongTask.objects.get().activity_at == NOON


def test_recovered_is_said_only_at_the_second_look(clock, begin, agent_caller):
    task = begin()
    clock.shift(601)
    run_watchdog()
    clock.shift(30)
    set_task(NAME, state="executing", report=Report(), caller=agent_caller)
    first = run_watchdog()
    assert first["recovered"] == []
    task.refresh_from_db()
    assert (task.finding, task.sign_seen_at) == ("lost", NOON + timedelta(seconds=631))
    clock.shift(60)
    second = run_watchdog()
    assert [entry["finding"] for entry in second["recovered"]] == ["lost"]
    task.refresh_from_db()
    assert (task.finding, task.sign_seen_at) == ("", None)
    assert task.events.first().kind == "recovered"


def test_a_flicker_is_not_recovery(clock, begin, agent_caller):
    task = begin(quiet_limit="1m")
    clock.shift(61)
    run_watchdog()
    set_task(NAME, state="executing", report=Report(), caller=agent_caller)
    run_watchdog()
    clock.shift(61)
    assert run_watchdog()["recovered"] == []
    task.refresh_from_db()
    assert (task.finding, task.sign_seen_at) == ("lost", None)


def test_a_received_recovery_alone_recovers_nothing(clock, begin, program):
    program()
    task = begin()
    clock.shift(601)
    run_watchdog()
    assert send_recoveries()["delivered"] == 1
    for _ in range(3):
        clock.shift(60)
        assert run_watchdog()["recovered"] == []
    task.refresh_from_db()
    assert task.finding == "lost"


def test_running_after_the_process_died_is_shown_side_by_side(clock, begin, agent_caller):
    begin(quiet_limit="1h")
    task = begin(name="b", quiet_limit="5m")
    clock.shift(301)
    [pair] = [pair for pair in queries.contradictions(task) if "no sign" in pair.seen]
    assert pair.claim == "says it is executing"
    assert pair.seen == "no sign of life since 11-30 12:00"


def test_done_with_a_progress_nobody_received_is_shown_side_by_side(clock, begin, agent_caller):
    task = begin()
    clock.shift(300)
    tick(NAME, caller=agent_caller)
    fail_progress(NAME, caller=agent_caller, error="closed")
    task = set_task(NAME, state="done", report=Report(), caller=agent_caller)
    assert ("says it is done", "no progress of it was ever received") in [
        (pair.claim, pair.seen) for pair in queries.contradictions(task)
    ]


def test_a_lost_task_really_gets_its_message_in_its_session(clock, begin, program):
    """Acceptance 3, simulated: not just a payload."""
    calls = program()
    begin()
    clock.shift(601)
    run_watchdog()
    assert build_payloads()["sent"] == 0
    assert calls.read_text() == ""
    assert send_recoveries() == {"tried": 1, "delivered": 1, "failed": 0, "unknown": 0, "not_attempted": 0}
    [line] = calls.read_text().splitlines()
    assert "gateway call sessions.send" in line
    assert '"key": "agent:main:main"' in line
    assert "已失联 10 分钟" in line
    assert Delivery.objects.get(purpose="recovery").received_at == NOON + timedelta(seconds=601)


def test_an_episode_gets_one_message_however_often_it_is_asked_for(clock, begin, program):
    calls = program()
    begin()
    clock.shift(601)
    for _ in range(4):
        run_watchdog()
        make_recoveries()
        send_recoveries()
        clock.shift(60)
    assert len(calls.read_text().splitlines()) == 1


def test_tasks_lost_long_ago_take_no_turn_from_those_lost_now(clock, begin, program):
    calls = program()
    for number in range(3):
        begin(f"old{number}")
    clock.shift(601)
    run_watchdog(limit=1)
    assert set(LongTask.objects.values_list("finding", flat=True)) == {"lost"}
    for _pass in range(3):
        for made in make_recoveries(limit=1):
            attempt_delivery(Delivery.objects.get(pk=made["deliveryId"]))
    assert len(calls.read_text().splitlines()) == 3
    begin("new")
    clock.shift(601)
    answer = run_watchdog(limit=1)
    assert (answer["count"], len(answer["findings"])) == (4, 1)
    assert [made["task"] for made in make_recoveries(limit=1)] == ["new"]


def test_a_recovery_that_keeps_failing_is_not_sent_every_minute(clock, begin, program):
    calls = program("echo 'no such session' >&2; exit 1")
    begin()
    clock.shift(601)
    for _minute in range(200):
        run_watchdog()
        send_recoveries()
        clock.shift(60)
    assert len(calls.read_text().splitlines()) == 5
    assert send_recoveries()["not_attempted"] == 0


def test_a_recovery_that_failed_says_so_and_is_never_told_as_sent(clock, begin, program):
    program("echo 'no such session' >&2; exit 1")
    task = begin()
    clock.shift(601)
    run_watchdog()
    assert send_recoveries()["failed"] == 1
    event = task.events.first()
    assert (event.kind, event.why) == ("recovery_tried", "no such session")
    assert not task.events.filter(kind="recovery_sent").exists()


def test_without_a_transport_a_recovery_stays_generated(clock, begin):
    begin()
    clock.shift(601)
    run_watchdog()
    assert send_recoveries() == {"tried": 0, "delivered": 0, "failed": 0, "unknown": 0, "not_attempted": 1}
    assert Delivery.objects.get().outcome == ""


def test_payloads_name_tool_session_and_message(clock, begin):
    begin()
    clock.shift(601)
    [payload] = build_payloads()["payloads"]
    assert payload["tool"] == "sessions_send"
    assert payload["arguments"]["sessionKey"] == KEY
    assert payload["arguments"]["message"].startswith("【整理合同】已失联 10 分钟")


def test_suggestions_change_nothing(clock, begin):
    begin()
    clock.shift(601)
    before = LongTask.objects.values().get()
    [suggested] = suggest_recoveries()
    assert suggested["action"] == "send_recovery"
    assert LongTask.objects.values().get() == before
    assert Delivery.objects.count() == 0


def test_a_check_is_one_query_that_uses_the_index(clock, begin):
    begin()
    clock.shift(601)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        check_due()
    assert len(captured) == 1
    plan = LongTask.objects.due_for_watchdog(NOON).explain()
    if connection.vendor == "sqlite":
        assert "longrun_watch" in plan
        assert "longrun_progress" in LongTask.objects.due_for_progress(NOON).explain()
        assert "longrun_idle" in LongTask.objects.silent_since(NOON).explain()


def test_lost_tasks_come_before_blocked_ones_in_the_inbox(clock, begin, agent_caller):
    begin("b", state="blocked", stuck_at="登录", missing="密码", suggestion="登录一次")
    begin("c", state="waiting", next_check="1m")
    begin("a", quiet_limit="20m")
    clock.shift(1201)
    run_watchdog()
    lines = queries.waiting(None)
    assert [(line.title, line.word, line.urgent) for line in lines] == [
        ("a", "lost", True),
        ("b", "blocked", True),
        ("c", "checkpoint due", False),
    ]
    assert "missing: 密码" in lines[1].why
    assert queries.waiting_count(None) == 3
    assert queries.waiting_count("ops") == 0


def test_touching_a_lost_task_is_what_brings_it_back(clock, begin, agent_caller):
    begin()
    clock.shift(601)
    run_watchdog()
    clock.shift(1)
    touch_reply(NAME, caller=agent_caller)
    run_watchdog()
    assert LongTask.objects.get().sign_seen_at == NOON + timedelta(seconds=602)
