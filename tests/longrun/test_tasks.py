from datetime import timedelta

import pytest

from archives.models import Workspace
from gateway.callers import Caller
from gateway.deliveries import fetch_inbox
from gateway.models import AuditEntry, Delivery
from gateway.tokens import make_token
from longrun.errors import LongRunError
from longrun.models import Boundary, LongTask
from longrun.services.signs import touch_reply, touch_tool
from longrun.services.tasks import Report, clear_task, set_task

from .conftest import KEY, NOON


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(LongRunError) as refused:
        call(*args, **kwargs)
    return refused.value.code


def test_a_registered_task_keeps_what_the_agent_said(clock, begin):
    task = begin(session="主会话", next_check="2h30m", progress_every="3m", boundary="合同")
    task = LongTask.objects.get(pk=task.pk)
    assert (task.agent_id, task.name, task.state, task.session) == ("main", "整理合同", "executing", "主会话")
    assert task.next_check == "2h30m"
    assert task.next_check_at == NOON + timedelta(hours=2, minutes=30)
    assert task.progress_every == timedelta(minutes=3)
    assert (task.started_at, task.updated_at) == (NOON, NOON)
    [event] = task.events.all()
    assert (event.kind, event.actor, event.from_state, event.to_state, event.at) == (
        "state",
        "token of main",
        "",
        "executing",
        NOON,
    )


def test_wall_clock_words_are_read_in_the_zone_that_is_named(clock, begin):
    task = begin(next_check="明天9点", zone="Asia/Shanghai")
    assert task.next_check_at.isoformat() == "2026-12-01T01:00:00+00:00"


def test_wall_clock_words_without_a_zone_are_read_in_the_agents_own(clock, begin, settings):
    settings.READER_TIME_ZONE = "Europe/London"
    assert begin(next_check="明天9点").next_check_at.isoformat() == "2026-12-01T09:00:00+00:00"
    Workspace.objects.create(agent_id="main", root="/srv/main", zone="Asia/Shanghai")
    assert begin(next_check="明天9点").next_check_at.isoformat() == "2026-12-01T01:00:00+00:00"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Asia", "../etc/passwd"])
def test_a_zone_that_does_not_exist_is_refused(begin, zone):
    assert refusal(begin, next_check="明天9点", zone=zone) == "BAD_ZONE"


@pytest.mark.parametrize("state", ["analyzing", "executing", "waiting"])
def test_a_started_state_without_a_real_session_key_stores_nothing(db, agent_caller, state):
    for key in (None, "", "主会话", "<真实目标 sessionKey>"):
        report = Report(origin_session_key=key, goal="x", next_check="10m")
        code = refusal(set_task, "t", state=state, report=report, caller=agent_caller)
        assert code in ("SESSION_KEY_MISSING", "SESSION_KEY_FORM")
    assert LongTask.objects.count() == 0


def test_a_refused_change_leaves_the_task_as_it_was(clock, begin, agent_caller):
    task = begin()
    clock.shift(60)
    before = LongTask.objects.values().get()
    report = Report(note="something else", waiting_for="")
    assert refusal(set_task, task.name, state="waiting", report=report, caller=agent_caller) == "WAITING_ANY"
    assert LongTask.objects.values().get() == before
    assert task.events.count() == 1


def test_a_session_of_another_agent_is_refused(db, shell):
    report = Report(origin_session_key="agent:ops:main")
    code = refusal(set_task, "t", state="executing", report=report, caller=shell, agent_id="main")
    assert code == "SESSION_OF_ANOTHER_AGENT"
    assert LongTask.objects.count() == 0


@pytest.mark.parametrize(
    ("state", "said", "code"),
    [
        ("running", {}, "STATE_UNKNOWN"),
        ("executing", {"next_check": "soon"}, "BAD_TIME"),
        ("executing", {"progress_every": "1s"}, "BAD_TIME"),
        ("executing", {"zone": "Mars/Base", "next_check": "9:00"}, "BAD_ZONE"),
        ("waiting", {}, "WAITING_ANY"),
        ("waiting", {"waiting_kind": "background"}, "WAITING_CHECKPOINT"),
        ("waiting", {"waiting_kind": "external"}, "WAITING_EXTERNAL"),
        ("waiting", {"waiting_kind": "idle"}, "WAITING_KIND"),
        ("blocked", {"stuck_at": "login", "missing": "password"}, "BLOCKED_ANSWERS"),
        ("handoff", {}, "HANDOFF_BOUNDARY"),
        ("handoff", {"boundary": "nowhere"}, "HANDOFF_TARGET"),
        ("done", {}, "TRANSITION"),
    ],
)
def test_each_rule_is_refused_by_its_code(db, agent_caller, state, said, code):
    report = Report(origin_session_key=KEY, **said)
    assert refusal(set_task, "t", state=state, report=report, caller=agent_caller) == code
    assert LongTask.objects.count() == 0


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"next_check": "10m"}, "wakeup"),
        ({"next_check": "10m", "waiting_kind": "background"}, "background"),
        ({"waiting_for": "the supplier's answer"}, "external"),
    ],
)
def test_waiting_keeps_its_form(begin, agent_caller, said, kind):
    begin()
    task = set_task("整理合同", state="waiting", report=Report(**said), caller=agent_caller)
    assert (task.state, task.waiting_kind) == ("waiting", kind)


def test_leaving_waiting_forgets_what_was_awaited(begin, agent_caller):
    begin()
    set_task("整理合同", state="waiting", report=Report(waiting_for="the supplier"), caller=agent_caller)
    task = set_task("整理合同", state="executing", report=Report(), caller=agent_caller)
    assert (task.waiting_kind, task.waiting_for) == ("", "")


def test_a_note_stands_for_the_suggestion_of_a_block(begin, agent_caller):
    begin()
    report = Report(stuck_at="登录页", missing="验证码", note="请负责人登录一次")
    task = set_task("整理合同", state="blocked", report=report, caller=agent_caller)
    assert (task.stuck_at, task.missing, task.suggestion) == ("登录页", "验证码", "请负责人登录一次")
    assert task.block_reason == "reported"


def test_handoff_goes_to_the_session_of_its_boundary_and_is_tried(begin, agent_caller, program):
    calls = program()
    begin()
    Boundary.objects.create(name="ops", session_key="agent:ops:main")
    task = set_task("整理合同", state="handoff", report=Report(boundary="ops"), caller=agent_caller)
    assert task.target_session_key == "agent:ops:main"
    delivery = Delivery.objects.get(purpose="handoff")
    assert (delivery.session_key, delivery.outcome) == ("agent:ops:main", "delivered")
    assert len(calls.read_text().splitlines()) == 1


def test_a_handoff_lies_in_the_inbox_of_the_agent_it_goes_to(begin, agent_caller, shell):
    make_token("ops", scopes=["operator.write"], agent_ids=["ops"], is_agent=True, caller=shell)
    begin()
    Boundary.objects.create(name="ops", session_key="agent:ops:main")
    set_task("整理合同", state="handoff", report=Report(boundary="ops"), caller=agent_caller)
    ops = Caller(kind="token", label="ops", agent_ids=frozenset({"ops"}), is_agent=True)
    [message] = fetch_inbox("agent:ops:main", caller=ops, agent_id="ops")
    assert message.purpose == "handoff"


def test_done_said_three_times_is_one_change(clock, begin, agent_caller):
    begin()
    for _ in range(3):
        task = set_task("整理合同", state="done", report=Report(), caller=agent_caller)
        clock.shift(10)
    assert [event.to_state for event in task.events.order_by("id")] == ["executing", "done"]


def test_the_same_name_begins_a_new_round_after_done(begin, agent_caller):
    begin()
    set_task("整理合同", state="done", report=Report(), caller=agent_caller)
    task = begin(state="analyzing")
    assert (task.round, LongTask.objects.count()) == (2, 1)


def test_three_tool_failures_in_a_row_block_at_once(clock, begin, agent_caller):
    begin()
    for number, state in ((1, "executing"), (2, "executing"), (3, "blocked")):
        task = touch_tool("整理合同", caller=agent_caller, failed=True, error=f"HTTP 500 no {number}")
        assert task.state == state
    assert task.block_reason == "tool_failures"
    assert (task.stuck_at, task.missing) == ("核对第 214 份", "连续 3 次工具失败：HTTP 500 no 3")
    assert task.suggestion


def test_a_success_between_failures_starts_the_count_anew(begin, agent_caller):
    begin()
    for failed in (True, True, False, True, True):
        task = touch_tool("整理合同", caller=agent_caller, failed=failed, error="no" if failed else "")
    assert (task.state, task.tool_failures) == ("executing", 2)


@pytest.mark.parametrize("need", ["permission", "token", "login", "browser", "confirmation"])
def test_a_reported_need_blocks_at_once(begin, agent_caller, need):
    begin()
    task = touch_tool("整理合同", caller=agent_caller, failed=True, error="403", need=need)
    assert (task.state, task.block_reason) == ("blocked", "need")
    assert need in task.missing


def test_a_reply_after_more_than_ten_minutes_without_advance_blocks(clock, begin, agent_caller):
    begin()
    clock.shift(600)
    assert touch_reply("整理合同", caller=agent_caller).state == "executing"
    clock.shift(1)
    task = touch_reply("整理合同", caller=agent_caller)
    assert (task.state, task.block_reason) == ("blocked", "no_advance")


def test_a_quiet_tool_call_that_was_announced_is_no_standstill(clock, begin, agent_caller):
    begin()
    touch_tool("整理合同", caller=agent_caller, running_for="14m")
    clock.shift(13 * 60)
    assert touch_reply("整理合同", caller=agent_caller).state == "executing"


def test_a_person_changes_the_state_but_gives_no_sign_of_life(clock, begin, person):
    begin()
    clock.shift(30)
    report = Report(waiting_for="合同部", why="等回信")
    task = set_task("整理合同", state="waiting", report=report, caller=person, agent_id="main")
    assert task.state == "waiting"
    assert (task.updated_at, task.activity_at) == (NOON, NOON)
    assert touch_reply("整理合同", caller=person).last_visible_reply_at is None


def test_a_sign_from_another_session_of_the_agent_does_not_count(clock, begin):
    begin()
    other = Caller(
        kind="token",
        label="token of main",
        scopes=frozenset({"operator.write"}),
        agent_ids=frozenset({"main"}),
        is_agent=True,
        session_key="agent:main:other",
    )
    task = touch_tool("整理合同", caller=other)
    assert task.last_tool_result_at is None
    assert task.events.first().kind == "foreign_sign"


def test_another_agent_sees_no_such_task(begin):
    begin()
    ops = Caller(kind="token", label="ops", agent_ids=frozenset({"ops"}), is_agent=True)
    assert refusal(touch_reply, "整理合同", caller=ops) == "TASK_UNKNOWN"


def test_one_name_of_two_agents_asks_which(begin, shell):
    begin()
    begin(caller=shell, origin_session_key="agent:ops:main")
    assert refusal(touch_reply, "整理合同", caller=shell) == "TASK_AMBIGUOUS"
    assert touch_reply("整理合同", caller=shell, agent_id="ops").last_visible_reply_at is not None


def test_clearing_removes_the_task_and_stands_in_the_trail(begin, agent_caller):
    begin()
    assert clear_task("整理合同", caller=agent_caller)["state"] == "executing"
    assert LongTask.objects.count() == 0
    assert AuditEntry.objects.filter(action="longtask.clear", subject="整理合同").exists()


def test_every_sign_is_an_event_of_the_timeline(clock, begin, agent_caller):
    task = begin()
    touch_reply(task.name, caller=agent_caller)
    touch_tool(task.name, caller=agent_caller, running_for="14m")
    touch_tool(task.name, caller=agent_caller, failed=True, error="no answer")
    told = task.events.order_by("id").values_list("kind", "why", "data")
    assert list(told)[1:] == [
        ("reply", "", {}),
        ("quiet", "", {"until": (NOON + timedelta(minutes=14)).isoformat()}),
        ("tool_failed", "no answer", {"need": ""}),
    ]
