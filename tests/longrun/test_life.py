"""Any sequence of reports through the real service: what is stored is always allowed and complete."""

from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.callers import command_caller
from longrun.errors import LongRunError
from longrun.machine import State
from longrun.models import Boundary, LongTask, TaskEvent
from longrun.services.signs import touch_tool
from longrun.services.tasks import Report, set_task

from .test_machine import ALLOWED, KEY


class Undo(Exception):
    """Ends an example without leaving its rows."""


reports = st.builds(
    Report,
    origin_session_key=st.sampled_from([None, KEY, "主会话"]),
    next_check=st.sampled_from([None, "10m", "soon"]),
    waiting_kind=st.sampled_from([None, "background", "wakeup", "external"]),
    waiting_for=st.sampled_from([None, "the supplier"]),
    stuck_at=st.sampled_from([None, "page 3"]),
    missing=st.sampled_from([None, "the login"]),
    suggestion=st.sampled_from([None, "sign in"]),
    boundary=st.sampled_from([None, "ops", "nowhere"]),
    why=st.sampled_from(["", "seen"]),
)
steps = st.lists(st.tuples(st.sampled_from([*State, "tool_failed"]), reports), min_size=1, max_size=8)


def complete(task: LongTask) -> None:
    match task.state:
        case "analyzing" | "executing" | "waiting":
            assert task.origin_session_key == KEY
        case "blocked":
            assert task.stuck_at and task.missing and task.suggestion and task.block_reason
        case "handoff":
            assert (task.boundary, task.target_session_key) == ("ops", "agent:ops:main")
    if task.state == "waiting":
        assert task.waiting_kind and (task.next_check_at or task.waiting_for)
    else:
        assert (task.waiting_kind, task.waiting_for) == ("", "")
    if task.state != "blocked":
        assert (task.stuck_at, task.block_reason) == ("", "")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_no_sequence_of_reports_breaks_a_promise(db, steps):
    shell = command_caller()
    try:
        with transaction.atomic():
            Boundary.objects.create(name="ops", session_key="agent:ops:main")
            for wanted, report in steps:
                before = LongTask.objects.values().first()
                events = TaskEvent.objects.count()
                was = before["state"] if before else None
                try:
                    if wanted == "tool_failed":
                        task = touch_tool("t", caller=shell, failed=True, error="500")
                    else:
                        task = set_task("t", state=wanted, report=report, caller=shell, agent_id="main")
                except LongRunError:
                    assert LongTask.objects.values().first() == before
                    assert TaskEvent.objects.count() == events
                    continue
                if wanted == "tool_failed":
                    blocks = was in ("analyzing", "executing") and before["tool_failures"] == 2
                    assert task.state == ("blocked" if blocks else was)
                else:
                    assert wanted in ALLOWED[was].split()
                    assert task.state == wanted
                complete(LongTask.objects.get())
            raise Undo
    except Undo:
        pass
