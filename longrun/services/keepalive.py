"""Keepalive: a task at work that has gone silent gets a resume; sending it is a switch of its own.

Source: keepalive section of the seed; spec/longrun.md §4.
"""

import shlex
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import OuterRef
from django.utils import timezone

from gateway.callers import Caller
from gateway.deliveries import acknowledge, attempt_delivery
from gateway.models import Delivery
from longrun import clock, texts
from longrun.models import LongTask, instant
from longrun.services.common import DASHBOARD, find_task, held, make_message, note, unsettled
from longrun.services.heartbeat import SCRIPTS
from longrun.services.signs import counts_as_sign

IDLE_SECONDS = 60


def check_idle(
    name: str, *, caller: Caller, agent_id: str = "", idle_seconds: int = IDLE_SECONDS
) -> dict[str, Any]:
    """Whether the task is at work and silent for longer than `idle_seconds`; changes nothing."""
    return _look(find_task(name, caller=caller, agent_id=agent_id), idle_seconds)


def emit_resume(
    name: str, *, caller: Caller, agent_id: str = "", idle_seconds: int = IDLE_SECONDS
) -> dict[str, Any]:
    """The resume of one silent task as an event (generated, not sent); without `message` where none is due."""
    look = check_idle(name, caller=caller, agent_id=agent_id, idle_seconds=idle_seconds)
    if not look["should_resume"]:
        return look
    return look | _resume(find_task(name, caller=caller, agent_id=agent_id), caller)


def run_keepalive(
    *,
    caller: Caller = DASHBOARD,
    agent_id: str = "",
    idle_seconds: int = IDLE_SECONDS,
    carry_out: bool | None = None,
    limit: int = 200,
) -> dict[str, Any]:
    """One pass over all silent tasks: the plan, carried out only where `carry_out` says so.

    `carry_out` None means the server's own `LONG_RUN_MODE_AUTO_RESUME`. One silence gets one resume, however
    often it is looked at; one that was received, or given up, is in no further plan. `tried` counts what was
    tried in this pass, `sent` what was received by it.
    """
    carry_out = settings.LONG_RUN_MODE_AUTO_RESUME if carry_out is None else carry_out
    now = timezone.now()
    rows = LongTask.objects.silent_since(now - timedelta(seconds=idle_seconds)).of_agent(agent_id)
    if caller.agent_ids is not None:
        rows = rows.filter(agent_id__in=caller.agent_ids)
    plan = []
    for row in unsettled(rows, "resume", generated_at__gt=OuterRef("idle_since"))[:limit]:
        look = _look(row, idle_seconds)
        if not look["should_resume"]:
            continue
        event = look | _resume(row, caller)
        if carry_out:
            event["outcome"] = _carry_out(event["deliveryId"], caller)
        plan.append(event)
    return {
        "auto_resume": carry_out,
        "idle_seconds": idle_seconds,
        "plan": plan,
        "count": len(plan),
        "tried": sum(event.get("outcome") is not None for event in plan),
        "sent": sum(event.get("outcome") == Delivery.Outcome.DELIVERED for event in plan),
    }


def mark_resume(name: str, *, caller: Caller, agent_id: str = "", delivery_id: int | None = None) -> LongTask:
    """The resume reached the session (`mark-resume`): its message is received, and the moment noted."""
    row = find_task(name, caller=caller, agent_id=agent_id)
    resumes = Delivery.objects.filter(subject=row.subject, purpose__in=("resume", "recovery"))
    meant = resumes.filter(pk=delivery_id) if delivery_id is not None else resumes.filter(received_at=None)
    delivery = meant.first()
    if delivery is not None and (caller.is_person or counts_as_sign(row, caller)):
        acknowledge(delivery, caller=caller)
    with held(row) as task:
        task.last_resume_at = timezone.now()
        note(task, "resumed", caller, was=task.state, data={"delivery": delivery.pk if delivery else None})
    return task


def _look(task: LongTask, idle_seconds: int) -> dict[str, Any]:
    now = timezone.now()
    last = clock.last_activity(task) or task.created_at
    silent = now - last
    quiet = bool(task.quiet_until and task.quiet_until > now)
    return {
        "task": task.name,
        "state": task.state,
        "should_resume": task.is_working and silent > timedelta(seconds=idle_seconds) and not quiet,
        "idle_seconds": int(silent.total_seconds()),
        "threshold_seconds": idle_seconds,
        "quiet_until": instant(task.quiet_until) if quiet else None,
        "last_activity": instant(last),
        "signals": {name: instant(moment) for name, moment in task.signals().items()},
    }


def _resume(row: LongTask, caller: Caller) -> dict[str, Any]:
    """The resume of this silence. Its key names the sign that came last, so a new silence is a new one."""
    last = clock.last_activity(row) or row.created_at
    with held(row) as task:
        before = Delivery.objects.filter(subject=task.subject, purpose="resume").first()
        delivery = make_message(
            task,
            texts.resume_text(task, timezone.now() - last),
            purpose="resume",
            key=f"resume:{task.round}:{last.isoformat()}",
            caller=caller,
        )
        if before is None or before.pk != delivery.pk:
            note(task, "resume_made", caller, was=task.state, data={"delivery": delivery.pk})
    return {
        "delivery": "session",
        "sessionKey": delivery.session_key,
        "message": delivery.text,
        "deliveryId": delivery.pk,
        "dedupeKey": delivery.dedupe_key,
        "onSuccess": (
            f"{SCRIPTS}/task_state.py mark-resume --task {shlex.quote(task.name)} --delivery {delivery.pk}"
        ),
    }


def _carry_out(delivery_id: int, caller: Caller) -> str | None:
    """Tries to send one resume; its outcome, None where nothing was tried (held, no transport)."""
    before = Delivery.objects.get(pk=delivery_id)
    tries = before.attempt_count
    after = attempt_delivery(before, caller=caller)
    if after.attempt_count == tries:
        return None
    if after.is_received:
        row = LongTask.objects.get(pk=int(after.subject.removeprefix("longtask:")))
        with held(row) as task:
            if task.last_resume_at is None or task.last_resume_at < after.received_at:  # type: ignore[operator]
                task.last_resume_at = after.received_at
    return after.outcome
