"""The foreground heartbeat: short progresses that are due, sent, received, or recorded as lost.

A heartbeat is one delivery. It is open until it was received, failed, or its interval is over; while it
is open every tick names the same message. Source: main rule of the seed; spec/longrun.md §3.
"""

import shlex
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.deliveries import acknowledge, attempt_delivery, report_attempt
from gateway.models import Delivery
from gateway.transports import is_timeout
from longrun import clock, texts
from longrun.errors import LongRunError
from longrun.machine import State
from longrun.models import LOOP_EVERY, SCAN_EVERY, LongTask, instant
from longrun.services.common import (
    DASHBOARD,
    block_if_due,
    close_undelivered,
    find_task,
    held,
    make_message,
    note,
)
from longrun.services.signs import counts_as_sign

SCRIPTS = "python3 skills/long-run-mode/scripts"


def check_progress(name: str, *, caller: Caller, agent_id: str = "") -> dict[str, Any]:
    """Whether a short progress is due; changes nothing."""
    task = find_task(name, caller=caller, agent_id=agent_id)
    now = timezone.now()
    due_at = clock.progress_due(task, LOOP_EVERY)
    pending = task.progress if task.progress and not task.progress.is_received else None
    return {
        "task": task.name,
        "state": task.state,
        "due": pending is not None or (due_at is not None and due_at <= now),
        "due_at": instant(due_at),
        "last_visible_at": instant(task.last_visible_at),
        "last_progress_at": instant(task.last_progress_at),
        "last_progress_attempt_at": instant(task.last_progress_attempt_at),
        "last_progress_error": task.last_progress_error or None,
        "open_delivery": pending.pk if pending else None,
    }


def build_progress(name: str, *, caller: Caller, agent_id: str = "") -> dict[str, Any]:
    """The short progress of a task at work, written into the ledger as generated. Nothing is sent.

    Raises LongRunError `NOT_AT_WORK`.
    """
    with held(find_task(name, caller=caller, agent_id=agent_id)) as task:
        if not task.is_working:
            raise LongRunError(
                _("“%(name)s” is %(state)s: only a task at work has a progress to tell.")
                % {"name": task.name, "state": task.get_state_display()},
                code="NOT_AT_WORK",
            )
        _supersede(task, timezone.now())
        delivery = _open_heartbeat(task, caller)
    return progress_event(task, delivery)


def tick(
    name: str, *, caller: Caller, agent_id: str = "", step: str = "", focus: str = "", next_step: str = ""
) -> dict[str, Any]:
    """One turn of the work loop: what was done, and whether a progress must go out before anything else.

    `must_send_now` is true from the moment a progress is due until it was received or recorded as failed;
    within the cool-down after a try with unknown outcome it is false. A step counts as an advance.
    """
    now = timezone.now()
    with held(find_task(name, caller=caller, agent_id=agent_id)) as task:
        if step.strip() and counts_as_sign(task, caller):
            _take_step(task, step.strip(), focus.strip(), next_step.strip(), caller, now)
        blocked = block_if_due(task, now)
        delivery, cooling = (None, None) if blocked else _due_heartbeat(task, LOOP_EVERY, caller, now)
    answer: dict[str, Any] = {
        "task": task.name,
        "state": task.state,
        "must_send_now": delivery is not None,
        "next_due_at": instant(clock.progress_due(task, LOOP_EVERY)),
        "undelivered_in_a_row": task.undelivered,
    }
    if delivery is not None:
        answer |= progress_event(task, delivery)
        answer["hint"] = _("Send this message in the session now, before any other work.")
    elif cooling is not None:
        answer["cooldown_until"] = instant(cooling)
        answer["hint"] = _("It was tried, and it is not known whether it arrived. Do not send it again yet.")
    elif task.state == State.BLOCKED:
        answer |= {"stuck_at": task.stuck_at, "missing": task.missing, "suggestion": task.suggestion}
        answer["hint"] = _("The task is blocked. Say where, what is missing and what you suggest.")
    else:
        answer["hint"] = _("Nothing is due. Go on.")
    return answer


def emit_due(*, caller: Caller, agent_id: str = "", limit: int = 200) -> list[dict[str, Any]]:
    """Generates the progresses that are due, and returns them as events. An event is not a sending."""
    now = timezone.now()
    due = LongTask.objects.due_for_progress(now).of_agent(agent_id)
    if caller.agent_ids is not None:
        due = due.filter(agent_id__in=caller.agent_ids)
    found = []
    for row in due[:limit]:
        with held(row) as task:
            if block_if_due(task, now):
                continue
            delivery, _cooling = _due_heartbeat(task, SCAN_EVERY, caller, now)
        if delivery is not None:
            found.append(progress_event(task, delivery))
    return found


def dispatch_due(*, caller: Caller, agent_id: str = "") -> dict[str, Any]:
    """The due events as a plan, one `sessions_send` a step; whoever carries it out does the sending."""
    steps = [
        {
            "tool": "sessions_send",
            "arguments": {"sessionKey": event["sessionKey"], "message": event["message"]},
            **{
                key: event[key]
                for key in ("task", "deliveryId", "dedupeKey", "onSuccess", "onError", "onTimeout")
            },
        }
        for event in emit_due(caller=caller, agent_id=agent_id)
    ]
    return {"plan": steps, "count": len(steps), "sent": 0}


def send_due(*, caller: Caller = DASHBOARD) -> dict[str, int]:
    """The background's turn: takes over what was received, then generates and tries what is due."""
    for row in LongTask.objects.filter(progress__received_at__isnull=False)[:500]:
        with held(row):
            pass
    counts = {"due": 0, "delivered": 0, "failed": 0, "unknown": 0, "not_attempted": 0}
    for event in emit_due(caller=caller):
        delivery = attempt_delivery(Delivery.objects.get(pk=event["deliveryId"]), caller=caller)
        counts["due"] += 1
        counts[delivery.outcome or "not_attempted"] += 1
        after_attempt(delivery)
    return counts


def send_now(task: LongTask, *, caller: Caller) -> Delivery:
    """A person asks for a progress at once. Raises LongRunError `NOT_AT_WORK`."""
    event = build_progress(task.name, caller=caller, agent_id=task.agent_id)
    delivery = attempt_delivery(Delivery.objects.get(pk=event["deliveryId"]), caller=caller)
    after_attempt(delivery)
    return delivery


def confirm_progress(
    name: str, *, caller: Caller, agent_id: str = "", delivery_id: int | None = None, message: str = ""
) -> LongTask:
    """The progress reached the session (`touch-progress`): its delivery is received, then the moments move.

    Without an open heartbeat there is nothing that could have been received, unless `message` gives the
    words that the agent itself put into its session; they become a delivery of their own.
    Raises LongRunError `NOTHING_SENT`, `NOT_THE_OWNER`.
    """
    row = find_task(name, caller=caller, agent_id=agent_id)
    _require_owner(row, caller)
    delivery = _which(row, delivery_id)
    if delivery is None and message.strip():
        with held(row) as task:
            delivery = _open_heartbeat(task, caller, message.strip())
    if delivery is None:
        raise LongRunError(
            _(
                "No progress of this task is on its way, so none can have been received. Build one first "
                "(build_progress_update.py), or give the words you sent (--message)."
            ),
            code="NOTHING_SENT",
        )
    already = delivery.is_received
    acknowledge(delivery, caller=caller)
    with held(row) as task:
        if not already:
            note(task, "progress", caller, was=task.state, why=delivery.text, data={"delivery": delivery.pk})
    return task


def fail_progress(
    name: str,
    *,
    caller: Caller,
    error: str,
    agent_id: str = "",
    delivery_id: int | None = None,
    unknown: bool = False,
) -> LongTask:
    """A try to send the progress did not succeed (`mark-progress-attempt`), with its reason.

    A reason that says that no answer came in time is `unknown`, never `failed`. The third heartbeat in a
    row that was not delivered blocks the task. Raises LongRunError `NOTHING_SENT`, `REASON_MISSING`.
    """
    if not error.strip():
        raise LongRunError(_("Say why the sending failed (--error)."), code="REASON_MISSING")
    row = find_task(name, caller=caller, agent_id=agent_id)
    _require_owner(row, caller)
    delivery = _which(row, delivery_id)
    if delivery is None:
        raise LongRunError(
            _("No progress of this task is on its way, so none can have failed."), code="NOTHING_SENT"
        )
    outcome = "unknown" if unknown or is_timeout(error) else "failed"
    report_attempt(delivery, outcome=outcome, error=error, caller=caller)
    with held(row) as task:
        if outcome == "unknown":
            task.last_progress_error = error
        note(task, "progress_lost", caller, was=task.state, why=error, data={"outcome": outcome})
        block_if_due(task, timezone.now())
    return task


def acknowledge_messages(ids: list[int], *, caller: Caller) -> list[Delivery]:
    """Messages that the session has, of any purpose. Raises LongRunError `DELIVERY_UNKNOWN`; then none is kept."""
    found = {row.pk: row for row in Delivery.objects.filter(pk__in=ids) if caller.allows_agent(row.agent_id)}
    if unknown := [pk for pk in ids if pk not in found]:
        raise LongRunError(
            _("There is no message %(id)s for you.") % {"id": unknown[0]}, code="DELIVERY_UNKNOWN"
        )
    received = [acknowledge(found[pk], caller=caller) for pk in ids]
    for delivery in received:
        after_attempt(delivery)
    return received


def after_attempt(delivery: Delivery) -> None:
    """Takes over the outcome of a try into the task it is about, and blocks it where that was the third."""
    pk = delivery.subject.removeprefix("longtask:")
    row = LongTask.objects.filter(pk=int(pk)).first() if pk.isdecimal() else None
    if row is not None:
        with held(row) as task:
            block_if_due(task, timezone.now())


def progress_event(task: LongTask, delivery: Delivery) -> dict[str, Any]:
    """A heartbeat as the seed's event: `delivery`, `sessionKey`, `message`, `onSuccess`, `onError`."""
    which = f"--task {shlex.quote(task.name)} --delivery {delivery.pk}"
    return {
        "task": task.name,
        "delivery": "session",
        "sessionKey": delivery.session_key,
        "session_label": task.session,
        "message": delivery.text,
        "deliveryId": delivery.pk,
        "dedupeKey": delivery.dedupe_key,
        "generatedAt": instant(delivery.generated_at),
        "onSuccess": f"{SCRIPTS}/task_state.py touch-progress {which}",
        "onError": f"{SCRIPTS}/task_state.py mark-progress-attempt {which} --error <reason>",
        "onTimeout": f"{SCRIPTS}/task_state.py mark-progress-attempt {which} --unknown --error timeout",
    }


def _due_heartbeat(
    task: LongTask, default: timedelta, caller: Caller, now: datetime
) -> tuple[Delivery | None, datetime | None]:
    """The heartbeat that must go out now, or until when its cool-down lasts; neither where none is due."""
    if not task.is_working:
        return None, None
    _supersede(task, now)
    if block_if_due(task, now):
        return None, None
    waiting = task.progress
    if waiting is not None:
        cooling = waiting.hold_until
        # What lies unfetched in the inbox is in the agent's hands the moment its own loop asks.
        if cooling and cooling > now and (waiting.transport != "inbox" or caller.kind == "system"):
            return None, cooling
        return waiting, None
    due_at = clock.progress_due(task, default)
    if due_at is None or due_at > now:
        return None, None
    return _open_heartbeat(task, caller), None


def _supersede(task: LongTask, now: datetime) -> None:
    """A heartbeat whose whole interval passed without being received is lost; the next one has newer words."""
    waiting = task.progress
    if waiting is not None and now - waiting.generated_at >= (task.progress_every or SCAN_EVERY):
        close_undelivered(task)


def _open_heartbeat(task: LongTask, caller: Caller, text: str = "") -> Delivery:
    if task.progress is None:
        task.heartbeat += 1
        task.progress = make_message(
            task,
            text or texts.progress_text(task),
            purpose="progress",
            key=f"progress:{task.round}:{task.heartbeat}",
            caller=caller,
            expires_at=timezone.now() + (task.progress_every or SCAN_EVERY),
        )
    return task.progress


def _take_step(task: LongTask, step: str, focus: str, next_step: str, caller: Caller, now: datetime) -> None:
    task.confirmed = step
    task.focus = focus or task.focus
    task.note = next_step or task.note
    if task.is_working:
        task.updated_at = task.last_advance_at = now
        task.quiet_until = None
    note(task, "step", caller, was=task.state, why=step, at=now)


def _which(task: LongTask, delivery_id: int | None) -> Delivery | None:
    """The heartbeat that is meant: the one named, else the open one, else the newest that is still unknown."""
    mine = Delivery.objects.filter(subject=task.subject, purpose="progress")
    if delivery_id is not None:
        return mine.filter(pk=delivery_id).first()
    if task.progress_id:
        return mine.filter(pk=task.progress_id, received_at=None).first()
    return None


def _require_owner(task: LongTask, caller: Caller) -> None:
    if not caller.is_person and not counts_as_sign(task, caller):
        raise LongRunError(
            _("“%(name)s” belongs to the session “%(session)s”; only that one can say what it received.")
            % {"name": task.name, "session": task.origin_session_key},
            code="NOT_THE_OWNER",
        )
