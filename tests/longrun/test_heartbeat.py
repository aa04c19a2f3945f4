from datetime import timedelta

import pytest

from gateway.callers import Caller
from gateway.deliveries import acknowledge
from gateway.models import Delivery
from gateway.tokens import make_token
from longrun.errors import LongRunError
from longrun.models import LongTask
from longrun.services import heartbeat
from longrun.services.heartbeat import build_progress, check_progress, confirm_progress, fail_progress, tick
from longrun.services.signs import touch_reply
from longrun.services.tasks import Report, set_task

from .conftest import KEY, NOON

NAME = "整理合同"


def moments(task):
    task.refresh_from_db()
    return task.last_progress_at, task.last_progress_sent_at


def test_in_the_loop_a_progress_is_due_after_three_minutes(clock, begin, agent_caller):
    begin()
    clock.shift(179)
    assert tick(NAME, caller=agent_caller)["must_send_now"] is False
    clock.shift(1)
    answer = tick(NAME, caller=agent_caller)
    assert answer["must_send_now"] is True
    assert answer["sessionKey"] == KEY
    assert answer["delivery"] == "session"


def test_in_the_background_it_is_due_after_five_minutes(clock, begin, agent_caller):
    begin()
    clock.shift(299)
    assert heartbeat.emit_due(caller=agent_caller) == []
    clock.shift(1)
    [event] = heartbeat.emit_due(caller=agent_caller)
    assert (event["task"], event["sessionKey"]) == (NAME, KEY)


def test_a_rhythm_of_its_own_counts_in_both(clock, begin, agent_caller):
    begin(progress_every="30s")
    clock.shift(30)
    assert tick(NAME, caller=agent_caller)["must_send_now"] is True
    assert len(heartbeat.emit_due(caller=agent_caller)) == 1


def test_a_visible_reply_moves_the_due_time_and_a_tool_result_does_not(clock, begin, agent_caller):
    begin()
    clock.shift(120)
    touch_reply(NAME, caller=agent_caller)
    clock.shift(179)
    assert tick(NAME, caller=agent_caller)["must_send_now"] is False
    clock.shift(1)
    assert tick(NAME, caller=agent_caller)["must_send_now"] is True


def test_every_further_tick_says_so_again_with_the_same_message(clock, begin, agent_caller):
    begin()
    clock.shift(180)
    first = tick(NAME, caller=agent_caller)
    for _ in range(3):
        clock.shift(20)
        again = tick(NAME, caller=agent_caller, step="读了第 215 份")
        assert (again["must_send_now"], again["deliveryId"]) == (True, first["deliveryId"])
    assert Delivery.objects.count() == 1


def test_the_short_progress_names_its_three_things(clock, begin, agent_caller):
    begin()
    tick(
        NAME,
        caller=agent_caller,
        step="第 213 份到期日是 2027-03-01",
        focus="供应商合同",
        next_step="核对第 214 份",
    )
    clock.shift(180)
    assert tick(NAME, caller=agent_caller)["message"] == (
        "【整理合同】\n正在看：供应商合同\n刚确认：第 213 份到期日是 2027-03-01\n下一步：核对第 214 份"
    )


def test_an_english_task_is_told_in_english_and_claims_nothing_unconfirmed(clock, begin, agent_caller):
    begin("Move the tables", goal="billing tables on PostgreSQL", note="copy invoices")
    clock.shift(180)
    assert tick("Move the tables", caller=agent_caller)["message"] == (
        "[Move the tables]\nLooking at: billing tables on PostgreSQL\n"
        "Just confirmed: nothing new yet\nNext: copy invoices"
    )


def test_received_moves_the_moments_and_quiets_the_ticks(clock, begin, agent_caller):
    task = begin()
    clock.shift(180)
    tick(NAME, caller=agent_caller)
    assert moments(task) == (None, None)
    clock.shift(5)
    confirm_progress(NAME, caller=agent_caller)
    assert moments(task) == (NOON + timedelta(seconds=185), NOON + timedelta(seconds=185))
    assert tick(NAME, caller=agent_caller)["must_send_now"] is False
    delivery = Delivery.objects.get()
    assert (delivery.outcome, delivery.received_via) == ("delivered", "token of main")


def test_touch_progress_without_anything_sent_is_refused(clock, begin, agent_caller):
    task = begin()
    with pytest.raises(LongRunError) as refused:
        confirm_progress(NAME, caller=agent_caller)
    assert refused.value.code == "NOTHING_SENT"
    assert moments(task) == (None, None)
    assert Delivery.objects.count() == 0


def test_words_that_the_agent_sent_itself_become_a_delivery(clock, begin, agent_caller):
    task = begin()
    confirm_progress(NAME, caller=agent_caller, message="看到第 100 份了")
    assert moments(task) == (NOON, NOON)
    delivery = Delivery.objects.get()
    assert (delivery.text, delivery.received_at) == ("看到第 100 份了", NOON)


def test_a_failure_keeps_time_and_reason_and_is_not_said_again_at_once(clock, begin, agent_caller):
    task = begin()
    clock.shift(180)
    tick(NAME, caller=agent_caller)
    fail_progress(NAME, caller=agent_caller, error="channel closed")
    assert moments(task) == (None, None)
    assert task.last_progress_attempt_at == NOON + timedelta(seconds=180)
    assert task.last_progress_error == "channel closed"
    assert tick(NAME, caller=agent_caller)["must_send_now"] is False
    clock.shift(179)
    assert tick(NAME, caller=agent_caller)["must_send_now"] is False
    clock.shift(1)
    assert tick(NAME, caller=agent_caller, step="next")["must_send_now"] is True


@pytest.mark.parametrize("error", ["timeout", "sessions_send timed out", "发送超时"])
def test_a_timeout_is_unknown_and_waits_for_the_cool_down(clock, begin, agent_caller, error):
    begin(progress_every="4m")
    clock.shift(240)
    first = tick(NAME, caller=agent_caller)
    fail_progress(NAME, caller=agent_caller, error=error)
    assert Delivery.objects.get().outcome == "unknown"
    answer = tick(NAME, caller=agent_caller)
    assert answer["must_send_now"] is False
    assert answer["cooldown_until"] == (NOON + timedelta(seconds=360)).isoformat()
    clock.shift(120)
    again = tick(NAME, caller=agent_caller)
    assert (again["must_send_now"], again["deliveryId"]) == (True, first["deliveryId"])


def test_a_late_confirmation_turns_unknown_into_received(clock, begin, agent_caller):
    task = begin(progress_every="10m", quiet_limit="1h")
    clock.shift(600)
    tick(NAME, caller=agent_caller)
    fail_progress(NAME, caller=agent_caller, error="timeout")
    clock.shift(150)
    confirm_progress(NAME, caller=agent_caller)
    assert moments(task)[0] == NOON + timedelta(seconds=750)
    assert Delivery.objects.get().outcome == "delivered"


def test_three_due_heartbeats_in_a_row_that_failed_block_at_once(clock, begin, agent_caller):
    begin(progress_every="1m", quiet_limit="1h")
    for number, state in ((1, "executing"), (2, "executing"), (3, "blocked")):
        clock.shift(60)
        assert tick(NAME, caller=agent_caller)["must_send_now"] is True
        task = fail_progress(NAME, caller=agent_caller, error=f"closed {number}")
        assert (task.state, task.undelivered) == (state, number)
    assert task.block_reason == "undelivered"
    assert "closed 3" in task.missing


def test_heartbeats_that_nobody_carried_count_as_undelivered(clock, begin, agent_caller):
    begin(progress_every="1m", quiet_limit="1h")
    states = []
    for _ in range(4):
        clock.shift(60)
        heartbeat.send_due()
        states.append(LongTask.objects.get().state)
    assert states == ["executing", "executing", "executing", "blocked"]


def test_a_tick_of_a_blocked_task_gives_the_three_answers_and_no_other_tick_does(begin, agent_caller):
    begin("b", state="blocked", stuck_at="登录页", missing="验证码", suggestion="登录一次")
    begin("w")
    blocked, working = tick("b", caller=agent_caller), tick("w", caller=agent_caller)
    assert [blocked[answer] for answer in ("stuck_at", "missing", "suggestion")] == [
        "登录页",
        "验证码",
        "登录一次",
    ]
    assert "blocked" in blocked["hint"]
    assert blocked["must_send_now"] is False
    assert "stuck_at" not in working
    assert working["hint"] == "Nothing is due. Go on."


def test_a_received_heartbeat_starts_the_count_anew(clock, begin, agent_caller):
    begin(progress_every="1m", quiet_limit="1h")
    for number in range(5):
        clock.shift(60)
        tick(NAME, caller=agent_caller)
        if number == 2:
            task = confirm_progress(NAME, caller=agent_caller)
        else:
            task = fail_progress(NAME, caller=agent_caller, error="closed")
    assert (task.state, task.undelivered) == ("executing", 2)


def test_a_fifteen_minute_task_shows_two_progresses_by_itself(clock, begin, program):
    """Acceptance 1, simulated: nobody but the background moves."""
    program()
    task = begin(quiet_limit="1h")
    for _ in range(15):
        clock.shift(60)
        heartbeat.send_due()
    received = Delivery.objects.filter(purpose="progress", outcome="delivered")
    assert received.count() == 3
    assert moments(task)[0] == NOON + timedelta(minutes=15)


def test_a_failed_sending_shows_its_time_and_reason(clock, begin, program):
    """Acceptance 2, simulated."""
    program('echo \'{"error": {"message": "no such session"}}\'; exit 1')
    task = begin()
    clock.shift(300)
    heartbeat.send_due()
    assert moments(task) == (None, None)
    assert (task.last_progress_error, task.last_progress_attempt_at) == (
        "no such session",
        NOON + timedelta(minutes=5),
    )


def test_a_message_in_the_inbox_is_in_the_agents_hands_when_its_loop_asks(clock, begin, shell, agent_caller):
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    task = begin(progress_every="4m")
    clock.shift(240)
    heartbeat.send_due()
    lying = Delivery.objects.get()
    assert (lying.transport, lying.outcome) == ("inbox", "unknown")
    assert tick(NAME, caller=agent_caller)["deliveryId"] == lying.pk
    acknowledge(lying, caller=agent_caller)
    heartbeat.send_due()
    assert moments(task)[0] == NOON + timedelta(seconds=240)


def test_another_session_cannot_confirm_what_this_one_received(clock, begin):
    task = begin()
    clock.shift(180)
    other = Caller(
        kind="token",
        label="main",
        scopes=frozenset({"operator.write"}),
        agent_ids=frozenset({"main"}),
        is_agent=True,
        session_key="agent:main:other",
    )
    tick(NAME, caller=other)
    with pytest.raises(LongRunError) as refused:
        confirm_progress(NAME, caller=other)
    assert refused.value.code == "NOT_THE_OWNER"
    assert moments(task) == (None, None)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("waiting", {"waiting_for": "x"}),
        ("blocked", {"stuck_at": "a", "missing": "b", "suggestion": "c"}),
        ("done", {}),
    ],
)
def test_what_is_not_at_work_has_no_heartbeat(clock, begin, agent_caller, state, said):
    begin()
    set_task(NAME, state=state, report=Report(**said), caller=agent_caller)
    clock.shift(3600)
    ticked = tick(NAME, caller=agent_caller)
    assert (ticked["must_send_now"], ticked["next_due_at"]) == (False, None)
    assert LongTask.objects.get().progress_due_at is None
    assert heartbeat.emit_due(caller=agent_caller) == []
    with pytest.raises(LongRunError) as refused:
        build_progress(NAME, caller=agent_caller)
    assert refused.value.code == "NOT_AT_WORK"


def test_checking_changes_nothing(clock, begin, agent_caller):
    begin()
    clock.shift(180)
    before = LongTask.objects.values().get()
    assert check_progress(NAME, caller=agent_caller)["due"] is True
    assert LongTask.objects.values().get() == before
    assert Delivery.objects.count() == 0


def test_a_dispatch_plan_says_itself_that_nothing_was_sent(clock, begin, agent_caller, program):
    calls = program()
    begin()
    clock.shift(300)
    plan = heartbeat.dispatch_due(caller=agent_caller)
    assert (plan["count"], plan["sent"]) == (1, 0)
    assert plan["plan"][0]["tool"] == "sessions_send"
    assert plan["plan"][0]["arguments"]["sessionKey"] == KEY
    assert calls.read_text() == ""
    assert Delivery.objects.get().attempted_at is None
