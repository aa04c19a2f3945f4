"""What pages and programs read."""

from datetime import datetime
from typing import Any

from django.db.models import Case, Count, IntegerField, Max, Q, QuerySet, Sum, Value, When
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.models import Delivery, DeliveryAttempt
from gateway.rpc import as_payload
from gateway.waiting import Waiting
from longrun import clock
from longrun.machine import State
from longrun.models import LongTask, TaskEvent, instant
from longrun.shown import Contradiction, Line

COLUMNS = (State.BLOCKED, State.ANALYZING, State.EXECUTING, State.WAITING, State.HANDOFF, State.DONE)
_PLAIN = (
    "state", "session", "origin_session_key", "goal", "done_when", "blocked_when", "boundary", "next_check",
    "note", "waiting_kind", "waiting_for", "stuck_at", "missing", "suggestion", "block_reason",
    "target_session_key", "last_progress_error", "tool_failures", "undelivered", "round",
)  # fmt: skip
_MOMENTS = (
    "next_check_at", "last_visible_reply_at", "last_tool_result_at", "last_progress_at", "last_progress_sent_at",
    "last_progress_attempt_at", "last_resume_at", "updated_at", "created_at", "quiet_until", "validated_at",
)  # fmt: skip


def visible(caller: Caller, *, agent_id: str = "", state: str = "") -> QuerySet[LongTask]:
    """The tasks that the caller may see, those reported last first."""
    rows = LongTask.objects.of_agent(agent_id).select_related("last_delivery", "progress")
    if caller.agent_ids is not None:
        rows = rows.filter(agent_id__in=caller.agent_ids)
    return rows.filter(state=state) if state else rows


def counts_by_state(agent_id: str = "") -> dict[str, int]:
    """How many tasks there are in each state."""
    rows = LongTask.objects.of_agent(agent_id).order_by().values_list("state").annotate(n=Count("id"))
    return {state.value: 0 for state in COLUMNS} | dict(rows)


def board_mark() -> str:
    """Changes when any card of the board does: the newest event and the newest try to send."""
    event = TaskEvent.objects.aggregate(newest=Max("id"))["newest"]
    attempt = DeliveryAttempt.objects.aggregate(newest=Max("id"))["newest"]
    return f"{event}-{attempt}"


def task_mark(task: LongTask) -> str:
    """Changes when the task's page does."""
    event = task.events.aggregate(newest=Max("id"))["newest"]
    messages = deliveries_of(task).aggregate(n=Count("id"), tries=Sum("attempt_count"), at=Max("received_at"))
    moments = [task.activity_at, messages["at"], task.progress_due_at]
    stamp = "-".join(str(moment.timestamp() if moment else 0) for moment in moments)
    return f"{event}-{messages['n']}-{messages['tries'] or 0}-{stamp}"


def column(
    state: str, *, agent_id: str = "", after: tuple[datetime, int] | None = None, size: int = 20
) -> list[LongTask]:
    """One page of a state's tasks, those reported last first, after the given (`updated_at`, id)."""
    rows = (
        LongTask.objects.filter(state=state)
        .of_agent(agent_id)
        .select_related("last_delivery")
        .order_by("-updated_at", "-id")
    )
    if after is not None:
        moment, pk = after
        rows = rows.filter(updated_at__lte=moment).exclude(updated_at=moment, pk__gte=pk)
    return list(rows[: size + 1])


def deliveries_of(task: LongTask) -> QuerySet[Delivery]:
    """The task's messages, newest first."""
    return Delivery.objects.filter(subject=task.subject).order_by("-id")


def timeline(task: LongTask, *, before: int | None = None, size: int = 60) -> tuple[list[Line], int | None]:
    """Events and messages, newest first, with the event id to go on before; None at the end."""
    rows = task.events.order_by("-id")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    events = list(rows[: size + 1])
    more = len(events) > size
    events = events[:size]
    messages = deliveries_of(task).prefetch_related("attempts")
    if more:
        messages = messages.filter(generated_at__gte=events[-1].at)
    if before is not None and events:
        messages = messages.filter(generated_at__lt=events[0].at)
    elif before is not None:
        messages = messages.none()
    lines = [Line(event.at, event=event) for event in events]
    lines += [
        Line(row.generated_at, delivery=row, attempts=tuple(row.attempts.all()))
        for row in messages[: size * 2]
    ]
    lines.sort(key=lambda line: line.at, reverse=True)
    return lines, events[-1].pk if more else None


def contradictions(task: LongTask, now: datetime | None = None) -> list[Contradiction]:
    """Where what the task says of itself does not fit what was seen."""
    now = now or timezone.now()
    found = []
    silent = now - (clock.last_activity(task) or task.created_at)
    quiet = bool(task.quiet_until and task.quiet_until > now)
    if task.is_working and silent > task.limit and not quiet:
        found.append(
            Contradiction(
                _("says it is %(state)s") % {"state": task.get_state_display()},
                _("no sign of life since %(moment)s")
                % {"moment": _clock(task.activity_at or task.created_at)},
            )
        )
    if task.is_working and task.validated_at is None:
        found.append(
            Contradiction(_("says it has started"), _("not bound yet: its start was never validated"))
        )
    last = task.last_delivery
    if (
        task.state == State.DONE
        and last is not None
        and last.received_at is None
        and last.purpose == "progress"
    ):
        found.append(Contradiction(_("says it is done"), _("its last progress was not received by anybody")))
    if task.state == State.DONE and task.last_progress_at is None and task.heartbeat:
        found.append(Contradiction(_("says it is done"), _("no progress of it was ever received")))
    return found


def waiting(agent_id: str | None, limit: int = 50) -> list[Waiting]:
    """What the Inbox shows: lost tasks first, then blocked ones, then the other findings; oldest first."""
    order = Case(
        When(finding="lost", then=Value(0)),
        When(state=State.BLOCKED, then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    rows = _needing(agent_id).annotate(urgency=order).order_by("urgency", "finding_at", "updated_at", "id")
    now = timezone.now()
    return [_as_waiting(task, now) for task in rows[:limit]]


def waiting_count(agent_id: str | None) -> int:
    """How many tasks wait for a person."""
    return _needing(agent_id).count()


def as_dict(task: LongTask) -> dict[str, Any]:
    """A task as the seed's state file has it, and what is known beside it."""
    last = task.last_delivery
    return {
        "task": task.name,
        "agent": task.agent_id,
        **{field: getattr(task, field) for field in _PLAIN},
        "progress_every": int(task.progress_every.total_seconds()) if task.progress_every else None,
        **{field: instant(getattr(task, field)) for field in _MOMENTS},
        "bound": task.validated_at is not None,
        "finding": task.finding or None,
        "evidence": task.evidence or None,
        "contradictions": [[pair.claim, pair.seen] for pair in contradictions(task)],
        "last_message": as_payload(last) if last else None,
    }


def _needing(agent_id: str | None) -> QuerySet[LongTask]:
    # Written as two equalities, so that each half has its index; a task that is done has no finding.
    found = [finding.value for finding in LongTask.Finding if finding.value]
    return LongTask.objects.of_agent(agent_id or "").filter(Q(state=State.BLOCKED) | Q(finding__in=found))


def _as_waiting(task: LongTask, now: datetime) -> Waiting:
    lost = task.finding == LongTask.Finding.LOST
    at = task.finding_at or task.updated_at
    if task.state == State.BLOCKED and not lost:
        word = task.get_state_display()
        why = _("Stuck at: %(stuck)s · missing: %(missing)s · suggested: %(suggestion)s") % {
            "stuck": task.stuck_at,
            "missing": task.missing,
            "suggestion": task.suggestion,
        }
    else:
        word = task.get_finding_display()
        why = _("Goal: %(goal)s · next: %(note)s") % {
            "goal": task.goal or task.name,
            "note": task.note or _("not named"),
        }
        if task.last_visible_at:
            why += " · " + _("last visible sign %(moment)s") % {"moment": _clock(task.last_visible_at)}
    return Waiting(
        kind="task",
        title=task.name,
        why=why,
        url=reverse("longrun:task", args=[task.pk]),
        at=at,
        word=word,
        tone="bad" if lost or task.state == State.BLOCKED else "warn",
        urgent=lost or task.state == State.BLOCKED,
        agent_id=task.agent_id,
    )


def _clock(moment: datetime) -> str:
    return timezone.localtime(moment).strftime("%m-%d %H:%M")
