"""Pause, resume, retire, run now, stop: what happens to a plan that was confirmed."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway import audit, events
from gateway.callers import WRITE, Caller
from plans.errors import PlansError
from plans.models import Plan, Run, Schedule
from plans.planfile_check import holds
from plans.schedule import next_due
from plans.sentences import kept
from plans.services.alarm import wake_clock
from plans.services.revisions import (
    OnDisk,
    State,
    follow_file,
    lock_plan,
    look_at_disk,
    move_plan,
    pause_schedule,
)

FAILED_RUNS_BEFORE_PAUSE = 5
FAILED = (Run.Outcome.ERROR, Run.Outcome.TIMEOUT, Run.Outcome.INTERRUPTED)
SETTINGS = ("missed", "rerun_interrupted", "time_limit", "announce")


def pause_plan(plan: Plan, *, caller: Caller, reason: str = "") -> Plan:
    """No due time until it is resumed; a run that is going on goes on. Raises PlansError `NOT_ACTIVE`."""
    _may(caller, plan)
    with transaction.atomic():
        plan = lock_plan(plan)
        if plan.state != State.ACTIVE:
            raise PlansError(_("Only an active plan can be paused."), code="NOT_ACTIVE")
        _pause(plan, reason)
    _told("plan.paused", plan, caller, reason)
    return plan


def _pause(plan: Plan, reason: str) -> None:
    move_plan(plan, State.PAUSED, reason)
    pause_schedule(plan)
    plan.save(update_fields=["state", "state_reason", "state_at"])


def resume_plan(plan: Plan, *, caller: Caller, now: datetime | None = None) -> Plan:
    """Due times count from now on; what was due meanwhile is not made up for.

    A paused plan, and a held one where the confirmed text stands in the file again. Raises PlansError `NOT_PAUSED`,
    `PLAN_CHANGED` (the text is not the confirmed one: confirm it instead).
    """
    _may(caller, plan)
    now = now or timezone.now()
    seen = look_at_disk(plan)
    plan = follow_file(plan, caller=caller, seen=seen)
    with transaction.atomic():
        plan = lock_plan(plan)
        _require_resumable(plan, seen)
        schedule = Schedule.objects.select_for_update().get(plan=plan)
        schedule.next_due_at = next_due(schedule.timing, max(now, schedule.last_due_at or now))
        schedule.save(update_fields=["next_due_at"])
        plan.failures = 0
        move_plan(plan, State.ACTIVE if schedule.next_due_at else State.ENDED)
        plan.save(update_fields=["state", "state_reason", "state_at", "failures"])
    wake_clock(schedule.next_due_at)
    _told("plan.resumed", plan, caller)
    return plan


def _require_resumable(plan: Plan, seen: OnDisk) -> None:
    if plan.state not in (State.PAUSED, State.HELD):
        raise PlansError(
            _("This plan is not paused: it is %(state)s.") % {"state": plan.get_state_display()},
            code="PLAN_CHANGED" if plan.state == State.AWAITING else "NOT_PAUSED",
        )
    confirmed = plan.confirmations.filter(revision=plan.current_id).exists()
    same = (
        seen.file is not None
        and plan.current is not None
        and holds(plan.current.seal, seen.file, plan.task_id)
    )
    if not confirmed or not same:
        message = _("PLAN.md is not the text that was confirmed: confirm it, or put the confirmed text back.")
        raise PlansError(message, code="PLAN_CHANGED")


def retire_plan(plan: Plan, *, caller: Caller, reason: str = "") -> Plan:
    """The end of a plan: nothing of it runs again; what was queued is skipped. The file is left as it is."""
    _may(caller, plan)
    with transaction.atomic():
        plan = lock_plan(plan)
        if plan.state == State.RETIRED:
            return plan
        move_plan(plan, State.RETIRED, reason)
        pause_schedule(plan)
        plan.save(update_fields=["state", "state_reason", "state_at"])
        now = timezone.now()
        plan.runs.filter(status=Run.Status.QUEUED).update(
            status=Run.Status.ENDED,
            outcome=Run.Outcome.SKIPPED,
            code="RETIRED",
            reason=kept("The plan was retired before this run started."),
            ended_at=now,
        )
    _told("plan.retired", plan, caller, reason)
    return plan


def change_settings(plan: Plan, *, caller: Caller, **settings: object) -> Plan:
    """`missed` (run_once, skip), `rerun_interrupted` (bool), `time_limit` (10–86400 s), `announce` (bool: send each
    result to the plan's session). Not part of the promise, so no new confirmation. Raises PlansError `BAD_SETTING`."""
    _may(caller, plan)
    unknown = set(settings) - set(SETTINGS)
    limit = settings.get("time_limit", plan.time_limit)
    if unknown or settings.get("missed", plan.missed) not in Plan.Missed.values:
        raise PlansError(_("There is no such setting."), code="BAD_SETTING")
    if not isinstance(limit, int) or not 10 <= limit <= 86400:
        raise PlansError(_("The time limit is 10 seconds to 24 hours."), code="BAD_SETTING")
    for key, value in settings.items():
        setattr(plan, key, value)
    plan.save(update_fields=sorted(settings))
    audit.record(
        caller, "plan.settings", subject=str(plan.uid), agent_id=plan.agent_id, detail=dict(settings)
    )
    return plan


def run_now(plan: Plan, *, caller: Caller, now: datetime | None = None) -> Run:
    """A run by hand, of the confirmed text only. Raises PlansError `NOT_CONFIRMED`, `ALREADY_RUNNING`.

    The row is queued; `plans.services.queue.enqueue_runs` puts it into the queue.
    """
    _may(caller, plan)
    now = now or timezone.now()
    with transaction.atomic():
        plan = lock_plan(plan)
        confirmation = plan.confirmations.filter(revision=plan.current_id).first()
        if confirmation is None or plan.state not in (State.ACTIVE, State.PAUSED, State.ENDED):
            raise PlansError(_("Only a plan whose present text is confirmed can run."), code="NOT_CONFIRMED")
        if plan.runs.open().exists():
            raise PlansError(_("A run of this plan is still going."), code="ALREADY_RUNNING")
        try:
            run = Run.objects.create(
                plan=plan, confirmation=confirmation, trigger=Run.Trigger.MANUAL, due_at=now
            )
        except IntegrityError as error:
            raise PlansError(_("A run of this plan is still going."), code="ALREADY_RUNNING") from error
    audit.record(
        caller,
        "plan.run_now",
        subject=str(plan.uid),
        agent_id=plan.agent_id,
        digest=confirmation.digest,
        detail={"run": str(run.uid)},
    )
    return run


def stop_run(run: Run, *, caller: Caller) -> Run:
    """Ask a run to stop: a queued one ends here, a running one when its worker next looks (within seconds).

    Raises PlansError `NOT_RUNNING`.
    """
    _may(caller, run.plan)
    now = timezone.now()
    ended = Run.objects.filter(pk=run.pk, status=Run.Status.QUEUED).update(
        status=Run.Status.ENDED,
        outcome=Run.Outcome.STOPPED,
        code="STOPPED",
        reason=kept("Stopped by %(who)s before it started.", who=caller.label),
        ended_at=now,
    )
    asked = ended or Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING, stop_requested_at=None).update(
        stop_requested_at=now, stop_requested_by=caller.label[:200]
    )
    run.refresh_from_db()
    if not asked and run.status != Run.Status.RUNNING:
        raise PlansError(_("This run is over."), code="NOT_RUNNING")
    audit.record(caller, "run.stop", subject=str(run.uid), agent_id=run.plan.agent_id, outcome="ok")
    events.publish(
        "run.ended" if ended else "run.stop_asked",
        agent_id=run.plan.agent_id,
        subject=str(run.uid),
        data={"outcome": run.outcome} if ended else {},
        caller=caller,
    )
    return run


def count_outcome(plan: Plan, outcome: str, *, caller: Caller) -> None:
    """Keep the count of failures in a row; at five the plan pauses itself and people are told."""
    if outcome == Run.Outcome.OK:
        Plan.objects.filter(pk=plan.pk).update(failures=0)
        return
    if outcome not in FAILED:
        return
    Plan.objects.filter(pk=plan.pk).update(failures=F("failures") + 1)
    with transaction.atomic():
        plan = lock_plan(plan)
        if plan.failures < FAILED_RUNS_BEFORE_PAUSE or plan.state != State.ACTIVE:
            return
        reason = kept("Paused itself after %(count)d failed runs in a row.", count=plan.failures)
        _pause(plan, reason)
        events.publish(
            "plan.paused",
            agent_id=plan.agent_id,
            subject=str(plan.uid),
            data={"reason": reason, "self": True},
            caller=caller,
        )


def _may(caller: Caller, plan: Plan) -> None:
    caller.require_scope(WRITE)
    caller.require_agent(plan.agent_id)


def _told(kind: str, plan: Plan, caller: Caller, reason: str = "") -> None:
    audit.record(
        caller,
        kind.replace("paused", "pause").replace("resumed", "resume").replace("retired", "retire"),
        subject=str(plan.uid),
        agent_id=plan.agent_id,
        reason=reason,
    )
    events.publish(
        kind, agent_id=plan.agent_id, subject=str(plan.uid), data={"reason": reason}, caller=caller
    )
