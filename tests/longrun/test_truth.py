"""No path moves `last_progress_at` or `last_progress_sent_at` without a delivery that was received.

Every method, every background pass and every action of the pages is driven, with both fields watched.
"""

import pytest
from django.core.management import call_command

from gateway import tasks as gateway_tasks
from gateway.models import Delivery
from gateway.registry import RpcError, call, methods
from longrun import tasks
from longrun.models import Boundary, LongTask
from longrun.services.heartbeat import tick

from .conftest import KEY

NAME = "整理合同"
T = {"task": NAME}

# Every method of the two ledgers, with params that make it do its work. `$open` is the open heartbeat.
DRIVEN = {
    "longrun.set": [
        {**T, "state": state, "nextCheck": "10m", "stuckAt": "a", "missing": "b", "suggestion": "c", "boundary": "运维",
         "note": "x", "progressEvery": "1m"}
        for state in ("analyzing", "executing", "waiting", "blocked", "handoff", "done")
    ],
    "longrun.get": [T],
    "longrun.list": [{}],
    "longrun.validateStart": [{**T, "expectSessionKey": KEY}],
    "longrun.touchReply": [T],
    "longrun.touchTool": [T, {**T, "failed": True, "error": "500"}, {**T, "running": "14m"},
                          {**T, "failed": True, "error": "403", "need": "login"}],
    "longrun.markProgressAttempt": [{**T, "error": "timeout"}, {**T, "error": "x", "unknown": True}, {**T, "error": "closed"}],
    "longrun.markResume": [T],
    "longrun.foreground.check": [T],
    "longrun.foreground.build": [T],
    "longrun.foreground.tick": [T],
    "longrun.workCycle": [{**T, "step": "read one more"}],
    "longrun.foreground.due": [{}],
    "longrun.foreground.dispatch": [{}],
    "longrun.keepalive.tick": [T],
    "longrun.keepalive.resume": [T],
    "longrun.keepalive.run": [{}, {"autoResume": True}],
    "longrun.watchdog.check": [{}],
    "longrun.watchdog.run": [{}, {"send": True}],
    "longrun.recovery.suggest": [{}],
    "longrun.recovery.messages": [{}],
    "longrun.recovery.payloads": [{}],
    "longrun.recovery.send": [{}],
    "longrun.cleanup": [{}, {"apply": True}],
    "longrun.import": [{"data": {"old": {"state": "executing", "origin_session_key": KEY,
                                         "last_progress_at": "2026-11-30T11:00:00Z"}}}],
    "longrun.trigger": [{"message": "进入长任务模式", "task": NAME}],
    "longrun.messages": [T],
    "deliveries.list": [{}],
    "deliveries.inbox": [{"sessionKey": KEY}],
    "deliveries.report": [{"id": "$open", "outcome": "failed", "error": "closed"},
                          {"id": "$open", "outcome": "unknown", "error": "timeout"}],
}  # fmt: skip
# What says that a message was received: these may move the fields, to exactly that delivery.
RECEIVES = {
    "longrun.touchProgress": [T, {**T, "delivery": "$open"}, {**T, "message": "my own words"}],
    "longrun.acknowledge": [{"ids": ["$open"]}],
    "deliveries.acknowledge": [{"ids": ["$open"]}],
    "deliveries.report": [{"id": "$open", "outcome": "delivered"}],
}
PROGRAMS = {
    "none": None,
    "fails": "echo 'no such session' >&2; exit 1",
    "times out": "echo 'request timed out' >&2; exit 1",
    "says nothing": "exit 0",
}


@pytest.fixture
def task(clock, begin, agent_caller):
    """At work, silent for a while, with a heartbeat that is open."""
    Boundary.objects.get_or_create(name="运维", session_key="agent:ops:main")
    made = begin(progress_every="3m", quiet_limit="1h")
    clock.shift(200)
    tick(NAME, caller=agent_caller)
    clock.shift(100)
    made.refresh_from_db()
    return made


def watched():
    return list(LongTask.objects.order_by("pk").values_list("last_progress_at", "last_progress_sent_at"))


def filled(params):
    heartbeat = Delivery.objects.filter(purpose="progress").first()

    def put(value):
        if isinstance(value, list):
            return [put(item) for item in value]
        return heartbeat.pk if value == "$open" else value

    return {name: put(value) for name, value in params.items()}


def test_the_table_drives_every_method_of_the_two_ledgers():
    known = {one.name for one in methods() if one.name.startswith(("longrun.", "deliveries."))}
    assert known == set(DRIVEN) | set(RECEIVES) | {"longrun.clear"}


@pytest.mark.parametrize("program_is", list(PROGRAMS))
@pytest.mark.parametrize("name", sorted(DRIVEN))
def test_no_other_method_moves_the_two_fields(task, agent_caller, program, clock, name, program_is):
    if PROGRAMS[program_is]:
        program(PROGRAMS[program_is])
    for params in DRIVEN[name]:
        try:
            call(name, filled(params), agent_caller)
        except RpcError as refused:
            # Only what a state before it in the list forbids; a wrong table would drive nothing.
            assert refused.details and refused.details["code"] in ("TRANSITION", "DONE_WHY"), refused.message
        clock.shift(30)
        assert watched() == [(None, None)] * LongTask.objects.count()


@pytest.mark.parametrize(
    ("name", "params"), [(name, params) for name, sets in RECEIVES.items() for params in sets]
)
def test_what_was_received_moves_them_to_exactly_that_delivery(task, agent_caller, name, params):
    call(name, filled(params), agent_caller)
    tick(NAME, caller=agent_caller)
    task.refresh_from_db()
    received = Delivery.objects.get(received_at__isnull=False)
    assert received.purpose == "progress"
    assert received.outcome == "delivered"
    assert (task.last_progress_at, task.last_progress_sent_at) == (
        received.received_at,
        received.attempted_at,
    )


def test_clearing_leaves_the_messages_as_they_are(task, agent_caller):
    before = list(Delivery.objects.values())
    call("longrun.clear", T, agent_caller)
    assert list(Delivery.objects.values()) == before


@pytest.mark.parametrize("program_is", list(PROGRAMS))
def test_no_background_pass_moves_them_without_a_received_delivery(
    task, program, clock, settings, program_is
):
    settings.LONG_RUN_MODE_AUTO_RESUME = True
    if PROGRAMS[program_is]:
        program(PROGRAMS[program_is])
    for _ in range(6):
        for background in (tasks.beat, tasks.keep_alive, tasks.watch, gateway_tasks.deliver):
            background()
        clock.shift(150)
        assert watched() == [(None, None)]


def test_a_received_resume_or_recovery_is_no_progress(task, program, clock, settings):
    settings.LONG_RUN_MODE_AUTO_RESUME = True
    Delivery.objects.all().delete()
    LongTask.objects.update(progress_every=None, progress_due_at=None)
    program()
    clock.shift(4000)
    tasks.keep_alive()
    tasks.watch()
    purposes = set(Delivery.objects.filter(outcome="delivered").values_list("purpose", flat=True))
    assert purposes == {"resume", "recovery"}
    assert watched() == [(None, None)]


def test_no_action_of_the_pages_moves_them(task, reviewer, clock):
    for action, data in (
        ("progress", {}),
        ("waiting", {"waiting-waiting_kind": "external", "waiting-waiting_for": "x"}),
        ("resume", {}),
        ("blocked", {"blocked-stuck_at": "a", "blocked-missing": "b", "blocked-suggestion": "c"}),
        ("resume", {}),
        ("handoff", {"handoff-boundary": "运维"}),
        ("done", {"done-why": "seen"}),
    ):
        assert reviewer.post(f"/tasks/{task.pk}/{action}/", data).status_code == 302
        clock.shift(10)
        assert watched() == [(None, None)]


def test_the_command_reaches_every_method_as_a_verb(task, capsys):
    call_command("longrun", "get", "--task", NAME)
    assert '"last_progress_at": null' in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        call_command("longrun", "touch-progress", "--task", "nothing")
    assert ended.value.code == 1
    assert '"ok": false' in capsys.readouterr().out
    call_command("longrun", "touch-progress", "--task", NAME)
    assert watched()[0][0] is not None
