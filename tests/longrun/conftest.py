"""Long tasks of agent `main`, and an `openclaw` program that is a real one in the test's own folder."""

from datetime import UTC, datetime

import pytest
import time_machine

from longrun.services.tasks import Report, set_task

KEY = "agent:main:main"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock():
    """Time stands still at NOON until the test shifts it."""
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture(autouse=True)
def program(tmp_path, settings):
    """No `openclaw` until `program(text)` installs one that notes each call and then does `text`."""
    settings.OPENCLAW_BIN = str(tmp_path / "not installed")
    calls = tmp_path / "calls"
    calls.touch()

    def install(text: str = 'echo \'{"status": "started"}\''):
        script = tmp_path / "openclaw-program"
        script.write_text(f"#!/bin/sh\necho \"$*\" | tr '\\n' ' ' >> {calls}\necho >> {calls}\n{text}\n")
        script.chmod(0o755)
        settings.OPENCLAW_BIN = str(script)
        return calls

    return install


@pytest.fixture
def begin(db, agent_caller):
    """Registers a task as the agent does: `begin("name", state, note=…)`."""

    def register(name="整理合同", state="executing", *, caller=agent_caller, **said):
        said = {
            "origin_session_key": KEY,
            "goal": "318 份合同的到期表",
            "done_when": "每份合同都有到期日",
            "note": "核对第 214 份",
            **said,
        }
        return set_task(name, state=state, report=Report(**said), caller=caller)

    return register
