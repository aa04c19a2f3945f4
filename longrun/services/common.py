"""What the services share: finding a task, holding it, noting an event, blocking it by rule."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, Q, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway import events
from gateway.callers import Caller, system_caller
from gateway.deliveries import MAX_TRIES, queue_message
from gateway.models import Delivery, LedgerEvent
from longrun import clock, texts
from longrun.errors import LongRunError, unknown_task
from longrun.machine import Need, State, agent_of, automatic_block
from longrun.models import LongTask, LongTaskQuerySet, TaskEvent, newest

DASHBOARD = system_caller("dashboard")


def find_task(name: str, *, caller: Caller, agent_id: str = "") -> LongTask:
    """The task of that name which the caller may see.

    Raises LongRunError `TASK_UNKNOWN`, or `TASK_AMBIGUOUS` where several agents have one of that name.
    """
    rows = LongTask.objects.filter(name=name).of_agent(agent_id).select_related("progress", "last_delivery")
    if caller.agent_ids is not None:
        rows = rows.filter(agent_id__in=caller.agent_ids)
    found = list(rows[:2])
    if not found:
        raise unknown_task(name)
    if len(found) > 1:
        raise LongRunError(
            _("Several agents have a task “%(name)s”: name the agent (--agent).") % {"name": name},
            code="TASK_AMBIGUOUS",
        )
    return found[0]


@contextmanager
def held(task: LongTask) -> Iterator[LongTask]:
    """The row as it is now, locked, brought up to date with its deliveries, and saved at the end.

    Use the row it yields from then on. Only for changes of rows: nothing that waits for a peer may happen inside.
    """
    with transaction.atomic():
        row = LongTask.objects.select_for_update(of=("self",)).select_related("progress").get(pk=task.pk)
        settle(row)
        yield row
        clock.refresh(row).save()


def note(
    task: LongTask,
    kind: str,
    caller: Caller,
    *,
    was: str = "",
    why: str = "",
    at: datetime | None = None,
    data: dict[str, Any] | None = None,
    into: list[TaskEvent] | None = None,
) -> TaskEvent:
    """Appends an event to the task's timeline, and to the ledger that all pages follow.

    With `into` it is only gathered there; `write_notes` appends the gathered ones at once.
    """
    event = TaskEvent(
        task=task,
        at=at or timezone.now(),
        kind=kind,
        actor=caller.label[:200],
        from_state=was,
        to_state=task.state if was != task.state or kind == "state" else "",
        why=why[:4000],
        data=data or {},
    )
    if into is not None:
        into.append(event)
        return event
    event.save()
    events.publish(caller=caller, **_published(event, task.state))
    return event


def write_notes(gathered: list[TaskEvent]) -> None:
    """Appends gathered events in a few statements, in their order."""
    TaskEvent.objects.bulk_create(gathered, batch_size=500)
    LedgerEvent.objects.bulk_create(
        [
            LedgerEvent(actor=event.actor, **_published(event, event.to_state or event.from_state))
            for event in gathered
        ],
        batch_size=500,
    )


def _published(event: TaskEvent, state: str) -> dict[str, Any]:
    return {
        "kind": f"longtask.{event.kind}",
        "agent_id": event.task.agent_id,
        "subject": event.task.subject,
        "data": {"task": event.task.name, "from": event.from_state, "to": state, "why": event.why[:500]},
    }


def settle(task: LongTask) -> None:
    """Takes over what the ledger knows: the only place that moves the two progress moments.

    They move to a delivery that was received, and to nothing else; a late confirmation counts when it
    comes. Source: truth rules of the seed.
    """
    received = (
        Delivery.objects.filter(subject=task.subject, purpose="progress", received_at__isnull=False)
        .order_by("-received_at")
        .first()
    )
    at = received.received_at if received is not None else None
    if (
        received is not None
        and at is not None
        and (task.last_progress_at is None or at > task.last_progress_at)
    ):
        task.last_progress_at = at
        task.last_progress_sent_at = received.attempted_at
        task.last_progress_attempt_at = newest(task.last_progress_attempt_at, received.attempted_at)
        task.last_progress_error = ""
        task.undelivered = 0
    if task.progress is None:
        return
    if task.progress.received_at is not None:
        task.progress = None
    elif task.progress.outcome == Delivery.Outcome.FAILED:
        close_undelivered(task)
    elif task.progress.attempted_at:
        task.last_progress_attempt_at = newest(task.last_progress_attempt_at, task.progress.attempted_at)


def close_undelivered(task: LongTask) -> None:
    """Ends the open heartbeat as not delivered: one more in a row, with its time and reason."""
    lost = task.progress
    if lost is None:
        return
    task.undelivered += 1
    task.last_progress_attempt_at = newest(task.last_progress_attempt_at, lost.attempted_at)
    task.last_progress_error = lost.error or ("unknown" if lost.attempted_at else "no transport")
    task.progress = None
    note(task, "heartbeat_lost", DASHBOARD, why=task.last_progress_error, data={"delivery": lost.pk})


def block_if_due(
    task: LongTask,
    now: datetime,
    *,
    need: Need | None = None,
    detail: str = "",
    into: list[TaskEvent] | None = None,
) -> bool:
    """Blocks work in progress at once where the rules say so; the event says which rule."""
    reason = automatic_block(
        task.life,
        tool_failures=task.tool_failures,
        need=need,
        since_advance=clock.since_advance(task, now),
        limit=task.limit,
        undelivered=task.undelivered,
    )
    if not reason:
        return False
    if reason == "undelivered":
        detail = task.last_progress_error
    was, task.state, task.block_reason = task.state, State.BLOCKED, reason
    task.stuck_at, task.missing, task.suggestion = texts.block_answers(task, reason, detail)
    note(task, "state", DASHBOARD, was=was, why=task.missing, at=now, data={"rule": reason}, into=into)
    return True


def make_message(
    task: LongTask,
    text: str,
    *,
    purpose: str,
    key: str,
    caller: Caller,
    session_key: str = "",
    expires_at: datetime | None = None,
) -> Delivery:
    """Writes a message of this task into the ledger (generated), to its origin session or the one named."""
    target = session_key or task.origin_session_key
    delivery = queue_message(
        # A handoff goes to another agent's session, and that agent must find it in its inbox.
        agent_id=agent_of(target) or task.agent_id,
        session_key=target,
        text=text,
        purpose=purpose,
        dedupe_key=f"{task.subject}:{key}"[:200],
        subject=task.subject,
        caller=caller,
        expires_at=expires_at,
    )
    task.last_delivery = delivery
    return delivery


def unsettled(rows: LongTaskQuerySet, purpose: str, **which: Any) -> LongTaskQuerySet:
    """Those of `rows` whose message of `purpose` (`which` says which of them) is neither received nor given up.

    A pass that looks at so many tasks only must not spend its turns on those for which all is done.
    """
    done = Delivery.objects.filter(
        Q(received_at__isnull=False) | Q(attempt_count__gte=MAX_TRIES),
        subject=Concat(Value("longtask:"), Cast(OuterRef("pk"), CharField())),
        purpose=purpose,
        **which,
    )
    return rows.filter(~Exists(done))


def silence(task: LongTask, now: datetime) -> timedelta:
    """How long there has been no sign of any kind."""
    return now - (clock.last_activity(task) or task.created_at)
