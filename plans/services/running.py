"""One run, from the queue's message to its end.

The row is taken by a conditional update; then the file is read once, without following links, and compared with what
was confirmed; the runner gets *those* bytes, or nothing. Source: `spec/plans.md` §1 (active), §3, §4.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import override

from gateway import events
from gateway.callers import Caller, system_caller
from gateway.runners import Reply, RunnerError, Turn, choose_runner
from plans.models import Plan, Run, Schedule
from plans.planfile_check import holds
from plans.planfile_write import task_message
from plans.sentences import kept
from plans.services.alarm import wake_clock
from plans.services.announcing import announce_run
from plans.services.lifecycle import count_outcome
from plans.services.outputs import find_outputs
from plans.services.recovery import own_name
from plans.services.revisions import OnDisk, follow_file, hold_plan, lock_plan, look_at_disk, workspace_root

BACK_OFF = (30, 60, 300)  # seconds before the second, third and fourth try
LOOK_IN_EVERY = 5.0  # seconds between two signs of life


def execute_run(run_id: int, *, now: datetime | None = None) -> Run | None:
    """Take the run and carry it to its end; None when it is not to be taken (taken, over, or not yet)."""
    # What is stored is stored in English and told in the reader's language (`plans.sentences`).
    with override("en"):
        return _execute(run_id, now)


def _execute(run_id: int, now: datetime | None) -> Run | None:
    now = now or timezone.now()
    caller = system_caller("plans runner")
    try:
        run = _take(run_id, now)
    except IntegrityError:
        # The database refused: between the due time and now the confirmed text stopped being the current one.
        return _hold_untaken(run_id, caller)
    if run is None:
        return None
    seen = look_at_disk(run.plan)
    if not _still_confirmed(run, seen):
        return _end_held(run, seen, caller)
    assert seen.file is not None
    text = seen.file.text_of(seen.file.find(run.plan.task_id)[0])
    return _run_turn(run, text, caller)


def _take(run_id: int, now: datetime) -> Run | None:
    """Exactly one worker gets past here for one attempt of one run."""
    with transaction.atomic():
        taken = (
            Run.objects.filter(pk=run_id, status=Run.Status.QUEUED)
            .filter(Q(not_before=None) | Q(not_before__lte=now))
            .update(
                status=Run.Status.RUNNING,
                owner=own_name(),
                started_at=now,
                seen_at=now,
                attempts=F("attempts") + 1,
                code="",
                reason="",
            )
        )
    if not taken:
        return None
    run = Run.objects.select_related("plan", "confirmation__revision").get(pk=run_id)
    events.publish(
        "run.started", agent_id=run.plan.agent_id, subject=str(run.uid), data={"plan": str(run.plan.uid)}
    )
    return run


def _still_confirmed(run: Run, seen: OnDisk) -> bool:
    if seen.file is None or run.confirmation is None:
        return False
    return holds(run.confirmation.revision.seal, seen.file, run.plan.task_id)


def _hold_untaken(run_id: int, caller: Caller) -> Run | None:
    run = Run.objects.select_related("plan").get(pk=run_id)
    if run.status != Run.Status.QUEUED:
        return None
    reason = kept("The plan's text is not the confirmed one any more.")
    run.agent_started = False
    _finish(run, Run.Outcome.HELD, "NOT_CONFIRMED", reason, was=Run.Status.QUEUED)
    return run


def _end_held(run: Run, seen: OnDisk, caller: Caller) -> Run:
    """Nothing is executed: the run and the plan are held, people are told, the difference is kept as a revision."""
    reason = seen.error or kept("PLAN.md is not the text that was confirmed; nothing was executed.")
    plan = follow_file(run.plan, caller=caller, seen=seen)
    with transaction.atomic():
        plan = lock_plan(plan)
        if plan.state in (Plan.State.ACTIVE, Plan.State.PAUSED, Plan.State.ENDED):
            hold_plan(plan, reason, code=seen.code or "PLAN_CHANGED", caller=caller)
        # The held run is on record now; the schedule stays quiet until a person has confirmed.
        Schedule.objects.filter(plan=plan).update(next_due_at=None)
    run.agent_started = False
    _finish(run, Run.Outcome.HELD, seen.code or "PLAN_CHANGED", reason)
    return run


def session_key_of(run: Run) -> str:
    """An isolated session of its own, in the peer's form (contract §4.1)."""
    return f"agent:{run.plan.agent_id}:cron:{run.plan.uid}:run:{run.uid}"


def message_of(run: Run, text: str) -> str:
    """The schedule's message (the forced instruction first), then the very text that was checked."""
    schedule = Schedule.objects.filter(plan=run.plan).first()
    message = schedule.message if schedule else task_message(run.plan.archive_id, run.plan.task_id)
    digest = sha256(text.encode()).hexdigest()
    return f"{message}\n\nPLAN.md (confirmed, SHA-256 {digest}):\n\n{text.rstrip()}\n"


def _run_turn(run: Run, text: str, caller: Caller) -> Run:
    plan = run.plan
    run.session_key = session_key_of(run)
    run.digest = run.confirmation.digest if run.confirmation else ""
    try:
        runner = choose_runner()
        run.runner = runner.name
        run.save(update_fields=["session_key", "digest", "runner"])
        turn = Turn(
            agent_id=plan.agent_id,
            session_key=run.session_key,
            message=message_of(run, text),
            time_limit=plan.time_limit,
            workspace=workspace_root(plan.agent_id),
            mark=str(run.uid),
        )
        watch = _Watch(run)
        reply = runner.run(turn, on_start=watch.started, go_on=watch.go_on)
    except RunnerError as error:
        return _end_failed(run, error, caller)
    return _end_well(run, reply, caller)


class _Watch:
    """The worker's signs of life, and its ear for a wish to stop."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.looked = time.monotonic()

    def started(self, pid: int) -> None:
        Run.objects.filter(pk=self.run.pk).update(agent_started=True, child=str(pid or ""))

    def go_on(self) -> bool:
        """False when somebody asked to stop, or when the run was taken from us."""
        if time.monotonic() - self.looked < LOOK_IN_EVERY and self.run.attempts:
            return not self._stop_asked_lately()
        self.looked = time.monotonic()
        return bool(
            Run.objects.filter(
                pk=self.run.pk, status=Run.Status.RUNNING, attempts=self.run.attempts, stop_requested_at=None
            ).update(seen_at=timezone.now(), code="")
        )

    def _stop_asked_lately(self) -> bool:
        if time.monotonic() - self.looked < 1.0:
            return False
        return Run.objects.filter(pk=self.run.pk).exclude(stop_requested_at=None).exists()


def _end_failed(run: Run, error: RunnerError, caller: Caller) -> Run:
    run.text, run.agent_started = error.text, error.started
    if error.code == "STOPPED":
        run.refresh_from_db(fields=["stop_requested_by"])
        reason = kept("Stopped by %(who)s.", who=run.stop_requested_by)
        return _close(run, Run.Outcome.STOPPED, "STOPPED", reason, caller)
    if error.code == "TIMEOUT":
        return _close(run, Run.Outcome.TIMEOUT, "TIMEOUT", error.message, caller)
    if error.code == "NOT_STARTED" and error.started is False and run.attempts <= len(BACK_OFF):
        if _try_later(run, error, BACK_OFF[run.attempts - 1], caller):
            return run
    return _close(run, Run.Outcome.ERROR, error.code, error.message, caller)


def _try_later(run: Run, error: RunnerError, seconds: int, caller: Caller) -> bool:
    """Only where the agent certainly did not start: the same run, queued again behind its back-off."""
    not_before = timezone.now() + timedelta(seconds=seconds)
    why = error.message if error.message.endswith((".", "。", "!", "！")) else f"{error.message}."
    reason = kept("%(why)s Next try in %(seconds)d s.", why=why, seconds=seconds)
    try:
        with transaction.atomic():
            moved = _own(run).update(
                status=Run.Status.QUEUED,
                not_before=not_before,
                enqueued_at=None,
                owner="",
                child="",
                code="BACK_OFF",
                reason=reason,
                agent_started=False,
            )
    except IntegrityError:
        return False
    run.refresh_from_db()
    if moved:
        wake_clock(not_before)
        events.publish(
            "run.backed_off",
            agent_id=run.plan.agent_id,
            subject=str(run.uid),
            data={"seconds": seconds},
            caller=caller,
        )
    return bool(moved)


def _end_well(run: Run, reply: Reply, caller: Caller) -> Run:
    run.text, run.usage, run.agent_started = reply.text, reply.usage, True
    return _close(run, Run.Outcome.OK, "", "", caller)


def _close(run: Run, outcome: str, code: str, reason: str, caller: Caller) -> Run:
    """The end of a run that reached its runner: outputs, the check of step 4, and whether the plan changed meanwhile."""
    if run.agent_started is not False:
        run.outputs = find_outputs(run, reply_text=run.text)
        run.outputs_found = bool(run.outputs)
    plan = follow_file(run.plan, caller=caller)
    run.text_changed = plan.current_id != (run.confirmation.revision_id if run.confirmation else None)
    _finish(run, outcome, code, reason)
    count_outcome(run.plan, run.outcome, caller=caller)
    announce_run(run, caller=caller)
    return run


def _own(run: Run):  # type: ignore[no-untyped-def]
    return Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING, owner=run.owner, attempts=run.attempts)


def _finish(run: Run, outcome: str, code: str, reason: str, *, was: str = Run.Status.RUNNING) -> None:
    """Write the end where the run is still ours; a late end joins what is on record instead of replacing it."""
    known = {
        name: getattr(run, name)
        for name in (
            "text",
            "usage",
            "agent_started",
            "outputs",
            "outputs_found",
            "text_changed",
            "session_key",
        )
    }
    rows = _own(run) if was == Run.Status.RUNNING else Run.objects.filter(pk=run.pk, status=was)
    ended = rows.update(
        status=Run.Status.ENDED, outcome=outcome, code=code, reason=reason, ended_at=timezone.now(), **known
    )
    if not ended:
        late = kept("Its worker was taken for lost and ended later, with: %(outcome)s.", outcome=outcome)
        Run.objects.filter(pk=run.pk, outcome=Run.Outcome.INTERRUPTED).update(
            code="LATE_END", reason=late, **known
        )
    run.refresh_from_db()
    events.publish(
        "run.ended",
        agent_id=run.plan.agent_id,
        subject=str(run.uid),
        data={"plan": str(run.plan.uid), "outcome": run.outcome, "code": run.code},
    )
