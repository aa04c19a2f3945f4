"""An agent with a workspace, and plans at each stage of their life."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from archives.models import Workspace
from gateway.callers import Caller
from plans.models import Plan
from plans.services import decisions, intakes


@pytest.fixture
def workspace(db, tmp_path: Path) -> Path:
    """The workspace of agent `main`."""
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "SOUL.md").write_text("# Soul\n\nSay less, do more.\n")
    (root / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Mira\n")
    Workspace.objects.create(agent_id="main", root=str(root), label="Main")
    return root


@pytest.fixture
def later(person: Caller):
    """The same person in another request each time it is called."""
    count = iter(range(1, 1000))
    return lambda: replace(person, request_id=f"request-{next(count)}")


@pytest.fixture
def written(workspace, later) -> Plan:
    """A plan written by intake and awaiting confirmation: every weekday at 09:00 in London."""
    intake = intakes.start_intake(
        "every weekday at 9 check the build", agent_id="main", caller=later(), zone="Europe/London"
    )
    intakes.agree_ora(intake, caller=later())
    return intakes.write_plan(intake, caller=later())


@pytest.fixture
def confirmed(written, later) -> Plan:
    """The same plan, confirmed and active."""
    decisions.confirm_plan(written, digest=written.current.file_digest, caller=later())
    written.refresh_from_db()
    return written


@pytest.fixture
def plan_file(written, workspace) -> Path:
    return workspace / written.path


@pytest.fixture
def agent_program(settings, monkeypatch, tmp_path: Path) -> Path:
    """The `command` runner set to our small agent; gives the file in which it counts its executions."""
    program = Path(__file__).parent / "agent_program.py"
    settings.RUNNER = "command"
    settings.RUNNER_COMMAND = f"{sys.executable} {program} --session {{session}} --message {{message}}"
    count = tmp_path / "executions"
    count.write_text("")
    monkeypatch.setenv("AGENT_COUNT_FILE", str(count))
    return count


@pytest.fixture
def roster(state_dir: Path, workspace: Path) -> Path:
    """openclaw.json with agent `main`, whose workspace is the fixture's."""
    agents = {"list": [{"id": "main", "name": "Main", "workspace": str(workspace)}]}
    (state_dir / "openclaw.json").write_text(json.dumps({"agents": agents}))
    return workspace
