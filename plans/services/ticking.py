"""The clock of plans: turns due instants into runs, each exactly once, and heals what a crash left.

A due instant becomes a row (unique per plan and instant) in the same transaction that moves the schedule on, before
any message is sent and any work begins. Whatever is killed, repeated or run twice, there is one row, and a row is
taken by one worker. Source: `spec/plans.md` §3, reports.md rows 15–22.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import override

from gateway import events
from gateway.callers import Caller, system_caller
from plans.errors import PlansError
from plans.models import Plan, Run, Schedule, Tick
from plans.schedule import due_between, next_due
from plans.sentences import kept
from plans.services.alarm import set_alarm
from plans.services.queue import enqueue_runs, enqueue_waiting
from plans.services.recovery import recover_runs
from plans.services.revisions import State

logger = logging.getLogger(__name__)
BATCH = 500
# A tick comes at least once a minute. A longer silence means that the clock was off, and what was due in it was missed.
OFF_AFTER = timedelta(seconds=150)
MOST_MISSED_ROWS = 100


@dataclass(slots=True)
class Ticked:
    """What one tick did."""

    queued: list[int] = field(default_factory=list)
    missed: int = 0
    skipped: int = 0
    held: int = 0
    recovered: int = 0
    sent: int = 0


def tick(*, now: datetime | None = None) -> Ticked:
    """One look at the clock: heal, claim what is due, send messages. Idempotent, and safe beside another tick."""
    with override("en"):
        return _tick(now or timezone.now())


def _tick(now: datetime) -> Ticked:
    caller = system_caller("plans clock")
    result = Ticked(recovered=recover_runs(now=now, caller=caller))
    off_since = _note_tick(now)
    while _claim_batch(now, off_since, result, caller):
        pass
    result.sent = enqueue_runs(result.queued, now=now) + enqueue_waiting(now=now)
    set_alarm(now=now)
    return result


def _note_tick(now: datetime) -> datetime | None:
    """Remember this tick; the moment of the one before it where there was a gap, else None."""
    with transaction.atomic():
        last, created = Tick.objects.select_for_update().get_or_create(pk=1, defaults={"at": now})
        before = last.at
        if not created:
            last.at = now
            last.save(update_fields=["at"])
    return before if not created and now - before > OFF_AFTER else None


def _claim_batch(now: datetime, off_since: datetime | None, result: Ticked, caller: Caller) -> int:
    """Claim up to BATCH due schedules in one transaction; returns how many there were."""
    try:
        with transaction.atomic():
            due = list(_due(now)[:BATCH])
            _claim(due, now, off_since, result, caller)
            return len(due)
    except IntegrityError:
        # One row that the database refuses must not stop the others: claim them one by one.
        logger.exception("a batch of due plans was refused; claiming one by one")
    return _claim_singly(now, off_since, result, caller)


def _due(now: datetime):  # type: ignore[no-untyped-def]
    return (
        Schedule.objects.select_for_update(of=("self", "plan"), skip_locked=True)
        .filter(next_due_at__lte=now)
        .select_related("plan", "confirmation")
        .order_by("next_due_at", "pk")
    )


def _claim_singly(now: datetime, off_since: datetime | None, result: Ticked, caller: Caller) -> int:
    claimed = 0
    for pk in list(Schedule.objects.filter(next_due_at__lte=now).values_list("pk", flat=True)[:BATCH]):
        try:
            with transaction.atomic():
                due = list(_due(now).filter(pk=pk))
                _claim(due, now, off_since, result, caller)
                claimed += len(due)
        except IntegrityError:
            logger.exception("schedule %s was refused by the database", pk)
            Schedule.objects.filter(pk=pk).update(next_due_at=None)
    return claimed


def _claim(
    due: list[Schedule], now: datetime, off_since: datetime | None, result: Ticked, caller: Caller
) -> None:
    busy = set(
        Run.objects.open()
        .filter(plan_id__in=[schedule.plan_id for schedule in due])
        .values_list("plan_id", flat=True)
    )
    rows: list[Run] = []
    ended: list[Plan] = []
    for schedule in due:
        try:
            rows += _rows_of(schedule, now, off_since, schedule.plan_id in busy)
            schedule.next_due_at = _next(schedule, now)
        except (ArithmeticError, ValueError, PlansError) as error:
            # One bad schedule never stops the others; this one waits for a person.
            logger.exception("the schedule of plan %s cannot be computed", schedule.plan_id)
            schedule.next_due_at = None
            schedule.plan.state_reason = kept("The next due time cannot be computed: %(why)s", why=error)
            Plan.objects.filter(pk=schedule.plan_id).update(state_reason=schedule.plan.state_reason)
            events.publish(
                "plan.schedule_failed", agent_id=schedule.plan.agent_id, subject=str(schedule.plan.uid)
            )
        if (
            schedule.next_due_at is None
            and schedule.plan.state == State.ACTIVE
            and schedule.kind == Schedule.Kind.AT
        ):
            ended.append(schedule.plan)
    Run.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)
    _move_on(due)
    if ended:
        Plan.objects.filter(pk__in=[plan.pk for plan in ended]).update(state=State.ENDED, state_at=now)
    _count(rows, result, caller)


def _move_on(due: list[Schedule]) -> None:
    """Write where each schedule stands now. Plain statements: `bulk_update` takes longer than all the rest."""
    stored = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE plans_schedule SET next_due_at = %s, last_due_at = %s WHERE id = %s",
            [(stored(schedule.next_due_at), stored(schedule.last_due_at), schedule.pk) for schedule in due],
        )


def _rows_of(schedule: Schedule, now: datetime, off_since: datetime | None, busy: bool) -> list[Run]:
    """A row for each instant that became due; moves `last_due_at`."""
    plan = schedule.plan
    if schedule.next_due_at is None:
        return []
    after = schedule.next_due_at - timedelta(microseconds=1)
    instants, count = due_between(schedule.timing, after, now, newest=MOST_MISSED_ROWS)
    if not instants:
        return []
    schedule.last_due_at = instants[-1]
    if plan.state != State.ACTIVE:
        return (
            [_ended_row(schedule, instants[-1], Run.Outcome.HELD, *_why_held(plan))]
            if plan.state == State.HELD
            else []
        )
    missed = [
        due
        for due in instants
        if off_since is not None and due > off_since and now - due > timedelta(seconds=5)
    ]
    on_time = [due for due in instants if due not in set(missed)]
    return _missed_rows(schedule, missed, bool(on_time), busy, count) + _on_time_rows(schedule, on_time, busy)


def _missed_rows(
    schedule: Schedule, missed: list[datetime], covered: bool, busy: bool, count: int
) -> list[Run]:
    """`run once`: the newest missed instant runs, unless a due one runs anyway; all others are on record."""
    rows = []
    make_up = bool(missed) and not covered and schedule.plan.missed == Plan.Missed.RUN_ONCE
    if make_up:
        rows.append(
            _queued_row(schedule, missed[-1], Run.Trigger.CATCH_UP)
            if not busy
            else _overlap_row(schedule, missed[-1])
        )
    for index, due in enumerate(missed[:-1] if make_up else missed):
        reason = kept("The clock was off at this time.")
        if index == 0 and count > len(missed) and count > MOST_MISSED_ROWS:
            reason = kept(
                "The clock was off at this time and at over %(count)d others before it.",
                count=count - MOST_MISSED_ROWS,
            )
        rows.append(_ended_row(schedule, due, Run.Outcome.MISSED, "CLOCK_OFF", reason))
    return rows


def _on_time_rows(schedule: Schedule, on_time: list[datetime], busy: bool) -> list[Run]:
    rows = []
    for due in on_time:
        rows.append(_overlap_row(schedule, due) if busy else _queued_row(schedule, due, Run.Trigger.SCHEDULE))
        busy = True
    return rows


def _queued_row(schedule: Schedule, due: datetime, trigger: str) -> Run:
    return Run(
        plan_id=schedule.plan_id, confirmation_id=schedule.confirmation_id, trigger=trigger, due_at=due
    )


def _overlap_row(schedule: Schedule, due: datetime) -> Run:
    reason = kept("The run before it was still going.")
    return _ended_row(schedule, due, Run.Outcome.SKIPPED, "OVERLAP", reason)


def _ended_row(schedule: Schedule, due: datetime, outcome: str, code: str, reason: str) -> Run:
    return Run(
        plan_id=schedule.plan_id,
        confirmation_id=schedule.confirmation_id,
        due_at=due,
        status=Run.Status.ENDED,
        outcome=outcome,
        code=code,
        reason=reason,
        ended_at=timezone.now(),
    )


def _why_held(plan: Plan) -> tuple[str, str]:
    return "PLAN_HELD", plan.state_reason or kept("The plan is held until a person has looked at it.")


def _next(schedule: Schedule, now: datetime) -> datetime | None:
    """The instant after what was claimed; a clock that stepped back never brings one back."""
    if schedule.plan.state != State.ACTIVE:
        return None
    return next_due(schedule.timing, max(now, schedule.last_due_at or now))


def _count(rows: list[Run], result: Ticked, caller: Caller) -> None:
    """Ids of what was queued (bulk_create gives none where rows may exist), and one event for each batch."""
    queued = [row for row in rows if row.status == Run.Status.QUEUED]
    if queued:
        uids = [row.uid for row in queued]
        result.queued += Run.objects.filter(uid__in=uids).values_list("pk", flat=True)
    result.missed += sum(row.outcome == Run.Outcome.MISSED for row in rows)
    result.skipped += sum(row.outcome == Run.Outcome.SKIPPED for row in rows)
    result.held += sum(row.outcome == Run.Outcome.HELD for row in rows)
    for row in rows:
        if row.outcome == Run.Outcome.HELD:
            events.publish("run.held", subject=str(row.uid), data={"reason": row.reason}, caller=caller)
    if rows:
        events.publish(
            "runs.due",
            data={"queued": len(queued), "others": len(rows) - len(queued)},
            caller=caller,
        )
