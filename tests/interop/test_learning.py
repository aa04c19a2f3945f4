"""Learning from past conversations with a real OpenClaw: the session is there, and its first words once."""

import time

import pytest

from agents.roster import forget_roster
from gateway.callers import command_caller
from gateway.models import Delivery
from workshop import tasks
from workshop.services.requests import learn_from_conversations

pytestmark = [pytest.mark.real_openclaw, pytest.mark.slow, pytest.mark.django_db]


def test_learning_begins_an_ordinary_session_of_the_real_one(real_openclaw, tmp_path, settings):
    state = tmp_path / "real-state"
    real_openclaw.start(state)
    config = state / "openclaw.json"
    config.write_text(config.read_text().replace('"mode": "off"', '"mode": "propose"'))
    program = real_openclaw.program(tmp_path / "openclaw-program", state)
    settings.OPENCLAW_BIN, settings.DELIVERY_TIMEOUT_SECONDS = str(program), 120
    settings.OPENCLAW_STATE_DIR = state
    forget_roster()
    session = learn_from_conversations("main", caller=command_caller())
    assert tasks.open_session(session.pk) == "delivered"
    # Asked once more, as after an answer that came too late: the same session, the same words, once.
    Delivery.objects.update(received_at=None, outcome="unknown", hold_until=None)
    tasks.open_session(session.pk)
    session.refresh_from_db()
    deadline = time.monotonic() + 60
    said = []
    while not said and time.monotonic() < deadline:
        found = real_openclaw.call(state, "chat.history", {"sessionKey": session.session_key})["messages"]
        said = [str(item["content"]) for item in found if item["role"] == "user"]
        time.sleep(0 if said else 2)
    assert len(said) == 1
    assert "Learn from our past conversations." in said[0]
