"""What a person decides on a task's page: the change, and the word of it to the task's session."""

from gateway.callers import WRITE, Caller
from gateway.deliveries import attempt_delivery
from longrun import texts
from longrun.machine import State
from longrun.models import LongTask
from longrun.services.common import held, make_message
from longrun.services.tasks import Report, set_task


def decide(task: LongTask, *, state: str, report: Report, caller: Caller) -> LongTask:
    """Changes the state for a person and tries to tell the origin session; the change stands either way.

    Letting a task go on sends a resume, every other change a notice. A task without a session is told to
    nobody. Raises what `set_task` raises, and GatewayError `MISSING_SCOPE`.
    """
    caller.require_scope(WRITE)
    was = task.state
    changed = set_task(task.name, state=state, report=report, caller=caller, agent_id=task.agent_id)
    if changed.state == was or not changed.origin_session_key:
        return changed
    resumes = changed.state == State.EXECUTING
    event = changed.events.filter(kind="state").first()
    with held(changed) as row:
        handed = row.last_delivery
        delivery = make_message(
            row,
            texts.operator_resume_text(row, report.why) if resumes else texts.change_text(row, report.why),
            purpose="resume" if resumes else "notice",
            key=f"person:{event.pk if event else 0}",
            caller=caller,
        )
        if row.state == State.HANDOFF:
            row.last_delivery = handed  # the card tells of the message that matters: the one to the target
    attempt_delivery(delivery, caller=caller)
    return row
