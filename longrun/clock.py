"""When a task is due for what: pure functions of its fields, and the columns that the scans are indexed by.

Source: spec/longrun.md §3 (foreground heartbeat) and §4 (keepalive, watchdog).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from longrun.machine import State
from longrun.models import SCAN_EVERY, LongTask, instant, newest


@dataclass(frozen=True, slots=True)
class Finding:
    """What the watchdog says about a task, with what it saw."""

    kind: str
    evidence: dict[str, Any] = field(default_factory=dict)


def last_activity(task: LongTask) -> datetime | None:
    """The newest of the four signs of life."""
    return newest(*task.signals().values())


def progress_due(task: LongTask, default: timedelta) -> datetime | None:
    """When the next short progress is due, None while the task is not at work.

    A try that failed starts a new interval: it was recorded, and the next tick must not say it again.
    """
    if not task.is_working:
        return None
    failed = task.last_progress_attempt_at if task.last_progress_error else None
    base = newest(task.last_visible_at, task.started_at, failed)
    return (base or task.created_at) + (task.progress_every or default)


def refresh(task: LongTask) -> LongTask:
    """Brings the derived columns up to date; every service does so before it saves."""
    task.activity_at = last_activity(task)
    task.idle_since = (task.activity_at or task.created_at) if task.is_working else None
    task.progress_due_at = progress_due(task, SCAN_EVERY)
    task.watch_at = _next_look(task)
    return task


def examine(task: LongTask, now: datetime) -> Finding | None:
    """At most one finding: `lost` before `stuck` before `overdue` before `checkpoint_due`.

    Lost: no sign of any kind within the limit. Stuck: signs, but no advance within the limit. A tool call
    announced as quiet until an instant counts as a sign until then.
    """
    if task.state == State.WAITING:
        return _checkpoint(task, now)
    if task.is_working:
        return _silence(task, now) or _standstill(task, now) or _overdue(task, now)
    if task.finding and (task.activity_at is None or task.activity_at <= (task.finding_at or now)):
        # Blocked or handed off since: what was found stays true until a fresh sign says otherwise.
        return Finding(task.finding, task.evidence) if task.state != State.DONE else None
    return None


def since_advance(task: LongTask, now: datetime) -> timedelta:
    """How long ago the work last advanced; a quiet tool call that was announced is not standing still."""
    last = newest(task.last_advance_at, task.started_at) or task.created_at
    return now - max(last, min(task.quiet_until or last, now))


def _next_look(task: LongTask) -> datetime | None:
    if task.state == State.DONE:
        return None
    if task.finding:
        return task.finding_at  # until it is cleared, every pass looks again
    if task.state == State.WAITING:
        return task.next_check_at
    if not task.is_working:
        return None
    moments = [
        (newest(task.activity_at, task.quiet_until) or task.created_at) + task.limit,
        (newest(task.last_advance_at, task.started_at, task.quiet_until) or task.created_at) + task.limit,
        task.next_check_at,
    ]
    return min(moment for moment in moments if moment is not None)


def _silence(task: LongTask, now: datetime) -> Finding | None:
    sign = newest(last_activity(task), task.quiet_until) or task.created_at
    if now - sign <= task.limit:
        return None
    return Finding(LongTask.Finding.LOST, _evidence(task, now, silent=now - sign))


def _standstill(task: LongTask, now: datetime) -> Finding | None:
    idle = since_advance(task, now)
    if idle <= task.limit:
        return None
    return Finding(LongTask.Finding.STUCK, _evidence(task, now, without_advance=idle))


def _overdue(task: LongTask, now: datetime) -> Finding | None:
    if task.next_check_at is None or task.next_check_at >= now:
        return None
    return Finding(LongTask.Finding.OVERDUE, _evidence(task, now, late=now - task.next_check_at))


def _checkpoint(task: LongTask, now: datetime) -> Finding | None:
    if task.next_check_at is None or task.next_check_at > now:
        return None
    return Finding(LongTask.Finding.CHECKPOINT_DUE, _evidence(task, now, late=now - task.next_check_at))


def _evidence(task: LongTask, now: datetime, **spans: timedelta) -> dict[str, Any]:
    """What was seen, beside what the task says of itself."""
    return {
        "says": task.state,
        "looked_at": instant(now),
        "limit_seconds": int(task.limit.total_seconds()),
        "next_check_at": instant(task.next_check_at),
        "quiet_until": instant(task.quiet_until),
        **{name: instant(moment) for name, moment in task.signals().items()},
        **{f"{name}_seconds": int(span.total_seconds()) for name, span in spans.items()},
    }
