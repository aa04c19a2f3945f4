"""The delivery ledger. The program is a real one: a small shell script in the test's own folder."""

import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import override

from gateway import transports
from gateway.callers import Caller
from gateway.deliveries import (
    DeliveryError,
    acknowledge,
    attempt_delivery,
    deliver_open,
    fetch_inbox,
    queue_message,
    report_attempt,
)
from gateway.errors import GatewayError
from gateway.models import Delivery, LedgerEvent
from gateway.tokens import make_token
from gateway.transports import DELIVERED, FAILED, UNKNOWN, Sent, is_timeout, register_transport

KEY = "agent:main:main"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def program(tmp_path, settings):
    """Installs an `openclaw` that notes its arguments and does what the shell text says."""
    settings.DELIVERY_TIMEOUT_SECONDS = 1
    calls = tmp_path / "calls"

    def install(text: str) -> Path:
        script = tmp_path / "openclaw-program"
        script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {calls}\n{text}\n')
        script.chmod(0o755)
        settings.OPENCLAW_BIN = str(script)
        return calls

    settings.OPENCLAW_BIN = str(tmp_path / "no such program")
    return install


@pytest.fixture
def message(db, shell, program):
    return queue_message(
        agent_id="main",
        session_key=KEY,
        text="核对第 214 份",
        purpose="progress",
        dedupe_key="task:1:1",
        caller=shell,
    )


def test_a_queued_message_is_generated_and_nothing_more(message):
    assert (message.outcome, message.attempt_count) == ("", 0)
    assert message.generated_at is not None
    assert (message.attempted_at, message.received_at) == (None, None)


def test_the_same_dedupe_key_is_one_message_however_often_it_is_announced(message, shell):
    for text in ("核对第 214 份", "done", "done!"):
        again = queue_message(
            agent_id="main", session_key=KEY, text=text, purpose="done", dedupe_key="task:1:1", caller=shell
        )
        assert (again.pk, again.text) == (message.pk, "核对第 214 份")
    assert Delivery.objects.count() == 1
    assert LedgerEvent.objects.filter(kind="delivery.generated").count() == 1


def test_a_dedupe_key_never_moves_to_another_session(message, shell):
    with pytest.raises(DeliveryError) as refused:
        queue_message(
            agent_id="main",
            session_key="agent:main:other",
            text="x",
            purpose="progress",
            dedupe_key="task:1:1",
            caller=shell,
        )
    assert refused.value.code == "DELIVERY_OTHER_SESSION"


@pytest.mark.parametrize(
    ("session_key", "text", "code"),
    [
        ("", "hello", "DELIVERY_NO_SESSION"),
        ("  ", "hello", "DELIVERY_NO_SESSION"),
        (KEY, " \n", "DELIVERY_EMPTY"),
        (KEY, "x" * 200_001, "DELIVERY_TOO_LONG"),
    ],
)
def test_a_message_without_session_or_words_is_refused(db, shell, session_key, text, code):
    with pytest.raises(DeliveryError) as refused:
        queue_message(
            agent_id="main", session_key=session_key, text=text, purpose="p", dedupe_key="k", caller=shell
        )
    assert refused.value.code == code
    assert Delivery.objects.count() == 0


def test_without_a_transport_it_stays_generated(message):
    attempt_delivery(message)
    message.refresh_from_db()
    assert (message.outcome, message.attempt_count, message.attempted_at) == ("", 0, None)


def test_the_program_is_given_the_session_the_words_and_the_key(message, program):
    calls = program('echo \'{"runId": "task:1:1", "status": "started"}\'')
    sent = attempt_delivery(message)
    assert (sent.outcome, sent.transport, sent.received_via) == ("delivered", "openclaw", "openclaw")
    assert sent.received_at is not None
    line = calls.read_text().strip()
    assert line.startswith("gateway call sessions.send --params ")
    assert line.endswith(" --json")
    assert json.loads(line.removeprefix("gateway call sessions.send --params ").removesuffix(" --json")) == {
        "key": "agent:main:main",
        "message": "核对第 214 份",
        "idempotencyKey": "task:1:1",
    }


def test_a_failure_keeps_its_time_and_its_reason(message, program):
    program('echo \'{"ok": false, "error": {"message": "no such session"}}\'; exit 1')
    with time_machine.travel(NOON, tick=False):
        sent = attempt_delivery(message)
    assert (sent.outcome, sent.error, sent.received_at) == ("failed", "no such session", None)
    attempt = sent.attempts.get()
    assert (attempt.outcome, attempt.error) == ("failed", "no such session")
    assert (attempt.started_at, attempt.ended_at, sent.attempted_at) == (NOON, NOON, NOON)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("sleep 5", "unknown"),
        ("echo 'request timed out' >&2; exit 1", "unknown"),
        ("kill -9 $$", "unknown"),
        ("echo hello", "unknown"),
        ('echo \'{"status": "refused"}\'', "unknown"),
        ('echo \'{"status": "in_flight"}\'', "delivered"),
        ("exit 3", "failed"),
    ],
)
def test_only_a_word_of_the_session_is_delivered_and_a_timeout_is_unknown(message, program, text, outcome):
    program(text)
    assert attempt_delivery(message).outcome == outcome


def test_a_program_that_cannot_start_is_a_failure_with_its_reason(message, program, settings, tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF broken")
    broken.chmod(0o755)
    settings.OPENCLAW_BIN = str(broken)
    sent = attempt_delivery(message)
    assert sent.outcome == "failed"
    assert "could not be started" in sent.error


def test_within_the_cool_down_an_unknown_message_is_not_sent_again(message, program):
    calls = program("echo 'timeout' >&2; exit 1")
    with time_machine.travel(NOON, tick=False) as clock:
        attempt_delivery(message)
        clock.shift(119)
        attempt_delivery(message)
        assert len(calls.read_text().splitlines()) == 1
        clock.shift(1)
        attempt_delivery(message)
    assert len(calls.read_text().splitlines()) == 2
    message.refresh_from_db()
    assert (message.attempt_count, message.outcome) == (2, "unknown")


def test_after_a_failure_only_a_person_tries_again_at_once(message, program, person, shell):
    program("exit 1")
    attempt_delivery(message, caller=shell)
    program('echo \'{"status": "started"}\'')
    assert attempt_delivery(message, caller=shell).attempt_count == 1
    assert attempt_delivery(message, caller=person).outcome == "delivered"


def test_a_person_does_not_send_twice_what_may_have_arrived(message, program, person):
    program("echo 'timeout' >&2; exit 1")
    attempt_delivery(message, caller=person)
    assert attempt_delivery(message, caller=person).attempt_count == 1


def test_a_received_message_is_never_sent_again(message, program, shell):
    calls = program('echo \'{"status": "started"}\'')
    attempt_delivery(message)
    attempt_delivery(message)
    deliver_open(caller=shell)
    assert len(calls.read_text().splitlines()) == 1


def test_a_sending_that_timed_out_and_arrived_150_seconds_later_turns_delivered(
    message, program, agent_caller
):
    program("sleep 5")
    with time_machine.travel(NOON, tick=False) as clock:
        assert attempt_delivery(message).outcome == "unknown"
        clock.shift(150)
        late = acknowledge(message, caller=agent_caller)
    assert (late.outcome, late.received_via) == ("delivered", "token of main")
    assert late.received_at == NOON + timedelta(seconds=150)
    assert [attempt.outcome for attempt in late.attempts.all()] == ["delivered"]


def test_confirming_twice_keeps_the_first_moment(message, agent_caller):
    with time_machine.travel(NOON, tick=False) as clock:
        acknowledge(message, caller=agent_caller)
        clock.shift(60)
        again = acknowledge(message, caller=agent_caller)
    assert again.received_at == NOON
    assert again.attempts.count() == 1


def test_a_late_failure_never_undoes_what_was_received(message, agent_caller):
    acknowledge(message, caller=agent_caller)
    later = report_attempt(message, outcome="failed", error="socket closed", caller=agent_caller)
    assert (later.outcome, later.received_at is not None) == ("delivered", True)
    assert [attempt.outcome for attempt in later.attempts.all()] == ["delivered", "failed"]


def test_a_reported_failure_needs_its_reason(message, agent_caller):
    with pytest.raises(DeliveryError) as refused:
        report_attempt(message, outcome="failed", error=" ", caller=agent_caller)
    assert refused.value.code == "DELIVERY_REASON_MISSING"
    assert message.attempts.count() == 0


def test_what_an_agent_failed_to_send_itself_is_not_held_back(message, agent_caller):
    told = report_attempt(message, outcome="failed", error="socket closed", caller=agent_caller)
    assert (told.outcome, told.hold_until) == ("failed", None)


def test_the_database_itself_refuses_received_without_delivered(message):
    for values in ({"received_at": timezone.now()}, {"outcome": "delivered"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Delivery.objects.filter(pk=message.pk).update(**values)


def test_the_inbox_is_open_only_where_the_agent_holds_a_token(message, shell):
    make_token("ops", scopes=["operator.write"], agent_ids=["ops"], is_agent=True, caller=shell)
    assert attempt_delivery(message).attempt_count == 0
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    lying = attempt_delivery(message)
    assert (lying.outcome, lying.transport, lying.received_at) == ("unknown", "inbox", None)


def test_an_inbox_message_is_received_only_when_the_agent_acknowledges_it(message, shell, agent_caller):
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    attempt_delivery(message)
    [fetched] = fetch_inbox(KEY, caller=agent_caller, agent_id="main")
    assert (fetched.pk, fetched.received_at) == (message.pk, None)
    assert Delivery.objects.get().fetched_at is not None
    assert acknowledge(fetched, caller=agent_caller).outcome == "delivered"
    assert fetch_inbox(KEY, caller=agent_caller, agent_id="main") == []


def test_a_message_is_put_into_the_inbox_once(message, shell):
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(3):
            attempt_delivery(message)
            clock.shift(600)
    message.refresh_from_db()
    assert message.attempt_count == 1


def test_another_agents_inbox_stays_shut(message):
    ops = Caller(kind="token", label="ops", agent_ids=frozenset({"ops"}), is_agent=True)
    with pytest.raises(GatewayError) as refused:
        fetch_inbox(KEY, caller=ops, agent_id="main")
    assert refused.value.code == "AGENT_NOT_ALLOWED"
    with pytest.raises(GatewayError):
        acknowledge(message, caller=ops)


def test_what_expired_is_not_sent_any_more(db, shell, program):
    calls = program('echo \'{"status": "started"}\'')
    late = queue_message(
        agent_id="main",
        session_key=KEY,
        text="old news",
        purpose="progress",
        dedupe_key="old",
        caller=shell,
        expires_at=timezone.now() - timedelta(seconds=1),
    )
    assert attempt_delivery(late).attempt_count == 0
    assert not calls.exists()


def test_the_background_waits_longer_after_each_failure_and_leaves_the_fifth_to_a_person(
    message, program, shell, person
):
    program("exit 1")
    with time_machine.travel(NOON, tick=False) as clock:
        for _minute in range(300):
            deliver_open(caller=shell)
            attempt_delivery(message, caller=shell)
            clock.shift(60)
        tries = [attempt.started_at for attempt in message.attempts.all()]
        assert [(at - NOON) // timedelta(minutes=1) for at in tries] == [0, 1, 6, 21, 81]
        assert attempt_delivery(message, caller=person).attempt_count == 6
    message.refresh_from_db()
    assert message.outcome == "failed"


def test_what_nobody_can_carry_takes_no_turn_from_what_somebody_can(db, shell, program):
    def make(agent_id, key):
        return queue_message(
            agent_id=agent_id, session_key=f"agent:{agent_id}:main", text="x", purpose="p", dedupe_key=key, caller=shell
        )  # fmt: skip

    for number in range(3):
        make("nobody", f"n{number}")
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    lying = [make("main", f"m{number}") for number in range(3)]
    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert deliver_open(caller=shell, limit=3) == 3
        clock.shift(600)
        assert deliver_open(caller=shell, limit=3) == 0
        new = make("main", "new")
        assert deliver_open(caller=shell, limit=3) == 1
    new.refresh_from_db()
    lying[0].refresh_from_db()
    assert (new.transport, new.attempt_count, lying[0].attempt_count) == ("inbox", 1, 1)


def test_a_better_way_takes_over_what_lies_in_the_inbox(message, program, shell):
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        deliver_open(caller=shell)
        clock.shift(600)
        program('echo \'{"status": "started"}\'')
        assert deliver_open(caller=shell) == 1
    message.refresh_from_db()
    assert (message.outcome, message.received_via) == ("delivered", "openclaw")


def test_a_transport_that_registers_itself_comes_first_and_replaces_its_namesake(message, monkeypatch):
    monkeypatch.setattr(transports, "TRANSPORTS", list(transports.TRANSPORTS))

    class Gateway:
        name = "gateway"

        def __init__(self, answer):
            self.answer = answer

        def serves(self, delivery):
            return True

        def send(self, delivery):
            return self.answer

    register_transport(Gateway(Sent(FAILED, "pairing needed")))
    assert attempt_delivery(message).error == "pairing needed"
    register_transport(Gateway(Sent(DELIVERED)))
    assert attempt_delivery(message).transport == "gateway"
    assert [transport.name for transport in transports.TRANSPORTS] == ["gateway", "openclaw", "inbox"]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("timeout", True), ("Request timed out after 30 s", True), ("发送超时", True), ("ETIMEDOUT", True),
     ("context deadline exceeded", True), ("no such session", False), ("permission denied", False)],
)  # fmt: skip
def test_a_reason_that_means_no_answer_in_time_is_recognised(reason, expected):
    assert is_timeout(reason) is expected


def test_our_own_reasons_are_stored_in_english_and_told_in_the_readers_language(message, program, settings):
    settings.OPENCLAW_BIN = "/bin/false"
    with override("zh-hans"):
        sent = attempt_delivery(message)
        assert sent.error == "The program ended with status 1."
        assert sent.reason == "程序以状态 1 结束。"
        assert sent.attempts.get().reason == sent.reason
    assert sent.reason == sent.error
    assert Delivery(error="no such session").reason == "no such session"


def test_the_three_truths_are_said_one_by_one(message, agent_caller):
    def words():
        message.refresh_from_db()
        return " ".join(
            render_to_string("gateway/_delivery.html", {"delivery": message})
            .replace("<", " <")
            .replace(">", "> ")
            .split()
        )

    assert "not attempted" in words()
    assert "not received" in words()
    report_attempt(message, outcome=FAILED, error="<b>no such session</b>", caller=agent_caller)
    assert "attempted once" in words()
    assert 'title="&lt;b&gt;no such session&lt;/b&gt;"' in words()
    report_attempt(message, outcome=UNKNOWN, error="timeout", caller=agent_caller)
    assert "attempted 2 times" in words()
    assert "receipt unknown" in words()
    acknowledge(message, caller=agent_caller)
    assert "> received <" in words()
    assert "unknown" not in words()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request, tmp_path):
    """An empty database that several processes may open."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'db.sqlite3'}"
        return
    name = f"ocw_deliveries_{uuid.uuid4().hex[:8]}"
    subprocess.run(["createdb", "-h", "localhost", name], check=True)
    yield f"postgres://root@localhost:5432/{name}"
    subprocess.run(["dropdb", "-h", "localhost", "--force", name], check=True)


@pytest.mark.slow
def test_of_four_processes_that_send_at_once_one_sends(tmp_path, database_url):
    """Four real processes that wait on one starting line; the claim lets one through."""
    calls = tmp_path / "calls"
    script = tmp_path / "slow-openclaw"
    script.write_text(f"#!/bin/sh\necho sent >> {calls}\nsleep 0.5\necho timeout >&2\nexit 1\n")
    script.chmod(0o755)
    root = Path(__file__).parents[2]
    env = {
        **os.environ,
        "OPENCLAW_WEB_DATA_DIR": str(tmp_path / "data"),
        "OPENCLAW_STATE_DIR": str(tmp_path / "state"),
        "OPENCLAW_BIN": str(script),
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
    }
    head = "import django; django.setup()\nfrom gateway.deliveries import *\nfrom gateway.models import Delivery\n"
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=root, env=env, check=True)
    make = head + (
        "from gateway.callers import command_caller\n"
        "queue_message(agent_id='main', session_key='agent:main:main', text='x', purpose='p',"
        " dedupe_key='k', caller=command_caller())"
    )
    subprocess.run([sys.executable, "-c", make], cwd=root, env=env, check=True)
    send = head + (
        "message = Delivery.objects.get()\nprint('ready', flush=True)\ninput()\nattempt_delivery(message)\n"
    )
    senders = [
        subprocess.Popen(
            [sys.executable, "-c", send],
            cwd=root,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [sender.stdout.readline() for sender in senders] == ["ready\n"] * 4
    for sender in senders:
        sender.stdin.write("go\n")
        sender.stdin.close()
    assert [sender.wait(60) for sender in senders] == [0, 0, 0, 0]
    assert calls.read_text() == "sent\n"
    show = head + "d = Delivery.objects.get(); print(d.outcome, d.attempt_count, d.attempts.count())"
    shown = subprocess.run(
        [sys.executable, "-c", show], cwd=root, env=env, check=True, capture_output=True, text=True
    )
    assert shown.stdout.split() == ["unknown", "1", "1"]
