"""Long tasks against a real OpenClaw: what we call received lies in the session's history."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from gateway.deliveries import attempt_delivery, queue_message
from longrun import clock
from longrun.models import LongTask
from longrun.services.heartbeat import send_due
from longrun.services.tasks import Report, set_task
from longrun.services.watchdog import run_watchdog, send_recoveries

pytestmark = [pytest.mark.real_openclaw, pytest.mark.slow, pytest.mark.django_db]
KEY = "agent:main:main"


@pytest.fixture
def gateway(real_openclaw, tmp_path, settings):
    """A running Gateway whose own program is our `openclaw`, with one session that exists."""
    state = tmp_path / "real-state"
    real_openclaw.start(state)
    program = real_openclaw.program(tmp_path / "openclaw-program", state)
    settings.OPENCLAW_BIN = str(program)
    settings.DELIVERY_TIMEOUT_SECONDS = 120
    real_openclaw.call(
        state, "chat.send", {"sessionKey": KEY, "message": "say: hello", "idempotencyKey": "begin"}
    )
    real_openclaw.call(state, "agent.wait", {"runId": "begin", "timeoutMs": 60000})

    def history() -> str:
        return str(real_openclaw.call(state, "chat.history", {"sessionKey": KEY})["messages"])

    def shows(words: str) -> bool:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if words in history():
                return True
            time.sleep(2)
        return False

    return shows


def test_the_three_acceptance_rules_against_a_real_gateway(gateway, shell, tmp_path):
    said = {"goal": "整理合同", "note": "核对第 214 份"}
    seen = set_task("看得见", state="executing", report=Report(origin_session_key=KEY, **said), caller=shell)
    gone = set_task(
        "发不出",
        state="executing",
        report=Report(origin_session_key="agent:main:no-such-session", **said),
        caller=shell,
    )
    lost = set_task("失联", state="executing", report=Report(origin_session_key=KEY, **said), caller=shell)
    _age(seen, gone, minutes=6)

    # Visibility: the progress lies in the session.
    counts = send_due()
    assert (counts["due"], counts["delivered"], counts["failed"]) == (2, 1, 1)
    seen.refresh_from_db()
    assert seen.last_progress_at is not None
    assert gateway("正在看：整理合同")

    # Honesty: the failure has its time and the Gateway's own reason, and moved nothing.
    gone.refresh_from_db()
    assert gone.last_progress_at is None
    assert gone.last_progress_attempt_at is not None
    assert gone.last_progress_error

    # Recovery: the message of the lost task lies in its session, not only in a payload.
    _age(lost, minutes=11)
    assert [found["task"] for found in run_watchdog()["findings"]] == ["失联"]
    assert send_recoveries()["delivered"] == 1
    assert gateway("【失联】已失联 11 分钟")


def test_the_same_key_lies_in_the_history_once(gateway, shell):
    delivery = queue_message(
        agent_id="main",
        session_key=KEY,
        text="say: once only",
        purpose="chat",
        dedupe_key="once",
        caller=shell,
    )
    assert attempt_delivery(delivery).outcome == "delivered"
    assert attempt_delivery(delivery).attempt_count == 1
    assert gateway("once only")


def _age(*tasks: LongTask, minutes: int) -> None:
    for task in tasks:
        task.refresh_from_db()
        at = timezone.now() - timedelta(minutes=minutes)
        task.created_at = task.started_at = task.updated_at = task.last_advance_at = at
        clock.refresh(task).save()
