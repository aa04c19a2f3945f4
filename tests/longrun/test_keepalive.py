from datetime import timedelta

import pytest

from gateway.models import Delivery
from longrun.models import LongTask
from longrun.services.keepalive import check_idle, emit_resume, mark_resume, run_keepalive
from longrun.services.signs import touch_reply, touch_tool
from longrun.services.tasks import Report, set_task

from .conftest import KEY, NOON

NAME = "整理合同"


@pytest.mark.parametrize("state", ["analyzing", "executing"])
def test_silence_of_more_than_sixty_seconds_should_be_resumed(clock, begin, agent_caller, state):
    begin(state=state)
    clock.shift(60)
    assert check_idle(NAME, caller=agent_caller)["should_resume"] is False
    clock.shift(1)
    look = check_idle(NAME, caller=agent_caller)
    assert (look["should_resume"], look["idle_seconds"]) == (True, 61)
    assert look["last_activity"] == NOON.isoformat()


def test_each_of_the_four_signs_breaks_the_silence(clock, begin, agent_caller):
    begin()
    for field in ("last_visible_reply_at", "last_tool_result_at", "last_progress_at", "updated_at"):
        clock.shift(61)
        assert check_idle(NAME, caller=agent_caller)["should_resume"] is True
        LongTask.objects.update(**{field: NOON + timedelta(seconds=61 * 4)})
        assert check_idle(NAME, caller=agent_caller)["should_resume"] is False
        LongTask.objects.update(
            last_visible_reply_at=None, last_tool_result_at=None, last_progress_at=None, updated_at=NOON
        )


def test_a_task_that_waits_is_left_in_peace(clock, begin, agent_caller):
    begin()
    set_task(NAME, state="waiting", report=Report(waiting_for="x"), caller=agent_caller)
    clock.shift(3600)
    assert check_idle(NAME, caller=agent_caller)["should_resume"] is False
    assert run_keepalive()["count"] == 0


def test_a_quiet_tool_call_that_was_announced_is_not_resumed(clock, begin, agent_caller):
    begin()
    touch_tool(NAME, caller=agent_caller, running_for="14m")
    clock.shift(13 * 60)
    assert check_idle(NAME, caller=agent_caller)["should_resume"] is False


def test_the_resume_event_names_session_message_and_what_to_do_on_success(clock, begin, agent_caller):
    begin()
    clock.shift(90)
    event = emit_resume(NAME, caller=agent_caller)
    assert (event["delivery"], event["sessionKey"]) == ("session", KEY)
    assert "核对第 214 份" in event["message"]
    assert event["onSuccess"] == (
        f"python3 skills/long-run-mode/scripts/task_state.py mark-resume --task '整理合同' --delivery {event['deliveryId']}"
    )
    assert Delivery.objects.get().attempted_at is None


def test_without_the_switch_a_plan_is_made_and_nothing_is_sent(clock, begin, program):
    calls = program()
    begin()
    clock.shift(61)
    answer = run_keepalive()
    assert (answer["auto_resume"], answer["count"], answer["sent"]) == (False, 1, 0)
    assert calls.read_text() == ""
    assert Delivery.objects.get().outcome == ""


def test_with_the_switch_it_is_sent_once(clock, begin, program, settings):
    settings.LONG_RUN_MODE_AUTO_RESUME = True
    calls = program()
    begin()
    for _ in range(4):
        clock.shift(61)
        run_keepalive()
    assert len(calls.read_text().splitlines()) == 1
    task = LongTask.objects.get()
    assert task.last_resume_at == NOON + timedelta(seconds=61)


def test_a_resume_that_failed_is_told_once_as_tried_and_never_as_sent(clock, begin, program):
    calls = program("echo 'no such session' >&2; exit 1")
    begin()
    clock.shift(61)
    first = run_keepalive(carry_out=True)
    assert (first["tried"], first["sent"], first["plan"][0]["outcome"]) == (1, 0, "failed")
    clock.shift(30)
    second = run_keepalive(carry_out=True)
    assert (second["tried"], second["sent"], second["plan"][0]["outcome"]) == (0, 0, None)
    assert len(calls.read_text().splitlines()) == 1


def test_silences_that_had_their_resume_take_no_turn_from_the_others(clock, begin, program):
    calls = program()
    for number in range(3):
        begin(f"t{number}", quiet_limit="20m")
    clock.shift(61)
    assert [run_keepalive(carry_out=True, limit=2)["sent"] for _pass in range(3)] == [2, 1, 0]
    assert len(calls.read_text().splitlines()) == 3


def test_a_resume_is_not_itself_a_sign_of_life(clock, begin, program, settings):
    settings.LONG_RUN_MODE_AUTO_RESUME = True
    program()
    begin()
    clock.shift(61)
    run_keepalive()
    assert LongTask.objects.get().activity_at == NOON


def test_a_new_silence_gets_a_new_resume(clock, begin, program, agent_caller):
    calls = program()
    begin()
    clock.shift(61)
    run_keepalive(carry_out=True)
    touch_reply(NAME, caller=agent_caller)
    clock.shift(61)
    run_keepalive(carry_out=True)
    assert len(calls.read_text().splitlines()) == 2


def test_a_marked_resume_is_received_and_moves_no_progress(clock, begin, agent_caller):
    begin()
    clock.shift(61)
    event = emit_resume(NAME, caller=agent_caller)
    task = mark_resume(NAME, caller=agent_caller, delivery_id=event["deliveryId"])
    assert Delivery.objects.get().outcome == "delivered"
    assert task.last_resume_at == NOON + timedelta(seconds=61)
    assert (task.last_progress_at, task.last_progress_sent_at) == (None, None)
