"""Registering, changing and ending a task, and its signs of life."""

from dataclasses import dataclass, fields
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from archives.queries import default_zone
from gateway import audit
from gateway.callers import Caller
from gateway.deliveries import attempt_delivery
from longrun import clock, texts
from longrun.durations import DurationError, parse_interval, parse_moment
from longrun.errors import LongRunError, rule_refused, span_refused
from longrun.machine import (
    WORKING,
    Change,
    RuleError,
    State,
    Waiting,
    agent_of,
    check_change,
    waiting_form,
)
from longrun.models import Boundary, LongTask
from longrun.services.common import find_task, held, make_message, note

LEAST_EVERY = timedelta(seconds=5)
_TEXTS = ("session", "goal", "done_when", "blocked_when", "boundary", "note", "focus", "confirmed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a caller says of a task. None leaves a field as it is; times are as written by the agent."""

    session: str | None = None
    origin_session_key: str | None = None
    goal: str | None = None
    done_when: str | None = None
    blocked_when: str | None = None
    boundary: str | None = None
    next_check: str | None = None
    note: str | None = None
    focus: str | None = None
    confirmed: str | None = None
    progress_every: str | None = None
    quiet_limit: str | None = None
    waiting_kind: str | None = None
    waiting_for: str | None = None
    stuck_at: str | None = None
    missing: str | None = None
    suggestion: str | None = None
    why: str = ""
    zone: str = ""


def set_task(name: str, *, state: str, report: Report, caller: Caller, agent_id: str = "") -> LongTask:
    """Registers a task or changes it; a refused change stores nothing.

    The agent is the one named, else the one of the session key, else the only one the caller acts for.
    A person's change does not count as a sign of life, and is told to the task's session.
    Raises LongRunError: the rule's code (`SESSION_KEY_MISSING`, `TRANSITION`, …), `BAD_TIME`, `STATE_UNKNOWN`,
    `AGENT_MISSING`, `SESSION_OF_ANOTHER_AGENT`.
    """
    name = name.strip()
    if not name or len(name) > 200:
        raise LongRunError(_("A task needs a name of at most 200 characters."), code="TASK_NAME")
    wanted = _state(state)
    agent_id = _agent(agent_id, report, caller, name)
    caller.require_agent(agent_id)
    now = timezone.now()
    row = LongTask.objects.filter(agent_id=agent_id, name=name).first()
    if row is None:
        task = LongTask(agent_id=agent_id, name=name, state=wanted, created_at=now, updated_at=now)
        _apply(task, None, wanted, report, caller, now)
        try:
            with transaction.atomic():
                clock.refresh(task).save()
                note(task, "state", caller, why=report.why or task.note, at=now)
        except IntegrityError:
            # Somebody registered the same name in this moment: what we have is a change of theirs.
            return set_task(name, state=state, report=report, caller=caller, agent_id=agent_id)
    else:
        task = _change(row, wanted, report, caller, now)
    if task.state == State.HANDOFF and task.last_delivery and task.last_delivery.purpose == "handoff":
        attempt_delivery(task.last_delivery, caller=caller)
    audit.record(caller, "longtask.set", subject=name, agent_id=agent_id, detail={"state": task.state})
    return task


def _change(row: LongTask, wanted: State, report: Report, caller: Caller, now: datetime) -> LongTask:
    with held(row) as task:
        was = task.life
        if was == State.DONE and wanted == State.DONE:
            return task  # saying it twice is no news, and no second announcement
        before = {field: getattr(task, field) for field in _TEXTS}
        _apply(task, was, wanted, report, caller, now)
        edited = [field for field in _TEXTS if before[field] != getattr(task, field)]
        if edited and not caller.is_person:
            task.last_advance_at = now
        if was != wanted:
            event = note(task, "state", caller, was=was, why=report.why or task.note, at=now)
            if wanted == State.HANDOFF:
                make_message(
                    task,
                    texts.handoff_text(task),
                    purpose="handoff",
                    key=f"handoff:{event.pk}",
                    caller=caller,
                    session_key=task.target_session_key,
                )
        elif edited or not caller.is_person:
            note(task, "report", caller, was=was, why=report.why, at=now, data={"changed": edited})
    return task


def _apply(
    task: LongTask, was: State | None, wanted: State, report: Report, caller: Caller, now: datetime
) -> None:
    """Puts the report onto the row, checks the rules, and enters the state."""
    for field in fields(Report):
        value = getattr(report, field.name)
        if field.name in _TEXTS and value is not None:
            setattr(task, field.name, value.strip())
    if report.origin_session_key is not None:
        key = report.origin_session_key.strip()
        if agent_of(key) not in ("", task.agent_id):
            raise LongRunError(
                _("The session “%(key)s” belongs to another agent than “%(agent)s”.")
                % {"key": key, "agent": task.agent_id},
                code="SESSION_OF_ANOTHER_AGENT",
                details={"field": "origin_session_key"},
            )
        if key != task.origin_session_key:
            task.validated_at = None
        task.origin_session_key = key
    _read_times(task, report, now)
    change = _as_change(task, wanted, report)
    try:
        check_change(was, change)
    except RuleError as refused:
        raise rule_refused(refused, was=was.value if was else "", wanted=wanted.value) from refused
    _enter(task, was, change, now)
    if not caller.is_person and caller.kind != "system":
        task.updated_at = now


def _as_change(task: LongTask, wanted: State, report: Report) -> Change:
    boundary = Boundary.objects.filter(name=task.boundary).first() if wanted == State.HANDOFF else None
    kind = report.waiting_kind if report.waiting_kind is not None else ""
    if kind and kind not in list(Waiting):
        raise LongRunError(
            _("There are three ways to wait: background, wakeup, external."), code="WAITING_KIND"
        )
    again = task.state == wanted  # what was said when the state was entered still holds
    return Change(
        state=wanted,
        origin_session_key=task.origin_session_key,
        next_check_at=task.next_check_at if report.next_check is not None or again else None,
        waiting_kind=Waiting(kind) if kind else None,
        waiting_for=_said(report.waiting_for, task.waiting_for if again else ""),
        stuck_at=_said(report.stuck_at, task.stuck_at if again else ""),
        missing=_said(report.missing, task.missing if again else ""),
        # The seed's `--note` is the next step, so it may stand for the suggestion.
        suggestion=_said(report.suggestion, (task.suggestion if again else "") or (report.note or "")),
        boundary=task.boundary,
        target_session_key=boundary.session_key if boundary else "",
        why=report.why,
    )


def _said(now: str | None, before: str) -> str:
    return now.strip() if now is not None else before


def _enter(task: LongTask, was: State | None, change: Change, now: datetime) -> None:
    task.state = change.state
    waiting = change.state == State.WAITING
    task.waiting_kind = waiting_form(change) if waiting else ""
    task.waiting_for = change.waiting_for if waiting else ""
    blocked = change.state == State.BLOCKED
    task.stuck_at, task.missing, task.suggestion = (
        (change.stuck_at, change.missing, change.suggestion) if blocked else ("", "", "")
    )
    task.block_reason = (
        (task.block_reason or "reported")
        if blocked and was == State.BLOCKED
        else ("reported" if blocked else "")
    )
    task.target_session_key = change.target_session_key if change.state == State.HANDOFF else ""
    if was == State.DONE:
        task.round += 1
        task.started_at = task.validated_at = None
        task.finding, task.finding_at, task.evidence, task.sign_seen_at = "", None, {}, None
    if change.state in WORKING:
        if was not in WORKING:
            task.started_at = now
            task.tool_failures = task.undelivered = 0
            task.quiet_until = None
        if was != change.state:
            task.last_advance_at = now
    if change.state == State.DONE:
        task.finding, task.finding_at, task.sign_seen_at = "", None, None
        task.progress = None


def _read_times(task: LongTask, report: Report, now: datetime) -> None:
    if report.next_check is not None:
        try:
            moment = parse_moment(
                report.next_check, now=now, zone=_zone(report.zone or default_zone(task.agent_id))
            )
        except DurationError as refused:
            raise span_refused(refused, "next_check") from refused
        task.next_check, task.next_check_at = report.next_check.strip(), moment.at
    for field in ("progress_every", "quiet_limit"):
        text = getattr(report, field)
        if text is None:
            continue
        try:
            setattr(task, field, parse_interval(text, least=LEAST_EVERY) if text.strip() else None)
        except DurationError as refused:
            raise span_refused(refused, field) from refused


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise LongRunError(
            _("There is no time zone “%(zone)s”.") % {"zone": name}, code="BAD_ZONE"
        ) from error


def _state(text: str) -> State:
    try:
        return State(text)
    except ValueError as error:
        raise LongRunError(
            _("There is no state “%(state)s”. The states are: %(states)s.")
            % {"state": text, "states": ", ".join(State)},
            code="STATE_UNKNOWN",
            details={"field": "state"},
        ) from error


def _agent(agent_id: str, report: Report, caller: Caller, name: str) -> str:
    found = agent_id or agent_of((report.origin_session_key or "").strip())
    if found:
        return found
    if caller.agent_ids is not None and len(caller.agent_ids) == 1:
        return next(iter(caller.agent_ids))
    known = LongTask.objects.filter(name=name).values_list("agent_id", flat=True)[:2]
    if len(known) == 1:
        return known[0]
    raise LongRunError(
        _("Which agent is this task of? Give its real session key, or name the agent."),
        code="AGENT_MISSING",
        details={"field": "agent"},
    )


def clear_task(name: str, *, caller: Caller, agent_id: str = "") -> dict[str, object]:
    """Removes a task with its timeline; its messages stay in the delivery ledger. Returns what was removed."""
    task = find_task(name, caller=caller, agent_id=agent_id)
    audit.record(caller, "longtask.clear", subject=name, agent_id=task.agent_id, detail={"state": task.state})
    task.delete()
    return {"task": name, "agent": task.agent_id, "state": task.state}
