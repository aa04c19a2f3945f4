"""Signs of life: visible replies, tool results, quiet calls; and who may give them.

Source: activity signals of the seed; spec/longrun.md §2.
"""

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from gateway.callers import Caller
from longrun.durations import DurationError, parse_interval
from longrun.errors import LongRunError, span_refused
from longrun.machine import Need
from longrun.models import LongTask
from longrun.services.common import block_if_due, find_task, held, note


def counts_as_sign(task: LongTask, caller: Caller) -> bool:
    """Whether the caller is a known owner: the agent in the task's own session, or whoever runs this host."""
    if caller.is_person:
        return False
    return (
        not caller.session_key or not task.origin_session_key or caller.session_key == task.origin_session_key
    )


def touch_reply(name: str, *, caller: Caller, agent_id: str = "") -> LongTask:
    """The agent replied in view of the person."""
    with held(find_task(name, caller=caller, agent_id=agent_id)) as task:
        if _foreign(task, caller, "reply"):
            return task
        task.last_visible_reply_at = timezone.now()
        note(task, "reply", caller, was=task.state)
        block_if_due(task, timezone.now())
    return task


def touch_tool(
    name: str,
    *,
    caller: Caller,
    agent_id: str = "",
    failed: bool = False,
    error: str = "",
    need: str = "",
    running_for: str = "",
) -> LongTask:
    """A tool came back (`failed` or not), or a quiet call has begun that may take `running_for`.

    Three failures in a row block the task, a reported `need` (permission, token, login, browser,
    confirmation) at once. Raises LongRunError `BAD_TIME`, `NEED_UNKNOWN`, `TOOL_ERROR_MISSING`.
    """
    if need and need not in list(Need):
        raise LongRunError(
            _("What is needed is one of: %(needs)s.") % {"needs": ", ".join(Need)}, code="NEED_UNKNOWN"
        )
    if failed and not error.strip():
        raise LongRunError(_("Say how the tool failed (--error)."), code="TOOL_ERROR_MISSING")
    now = timezone.now()
    with held(find_task(name, caller=caller, agent_id=agent_id)) as task:
        if _foreign(task, caller, "tool"):
            return task
        if running_for:
            try:
                task.quiet_until = now + parse_interval(running_for, most=timedelta(hours=12))
            except DurationError as refused:
                raise span_refused(refused, "running") from refused
            note(task, "quiet", caller, was=task.state, data={"until": task.quiet_until.isoformat()})
            return task
        task.last_tool_result_at, task.quiet_until = now, None
        if failed:
            task.tool_failures += 1
            note(task, "tool_failed", caller, was=task.state, why=error, at=now, data={"need": need})
        else:
            task.tool_failures = 0
            task.last_advance_at = now
        block_if_due(
            task, now, need=Need(need) if need else None, detail=" · ".join(filter(None, (need, error)))
        )
    return task


def _foreign(task: LongTask, caller: Caller, what: str) -> bool:
    if counts_as_sign(task, caller):
        return False
    note(task, "foreign_sign", caller, was=task.state, data={"sign": what, "session": caller.session_key})
    return True
