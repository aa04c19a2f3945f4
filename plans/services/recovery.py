"""Runs whose worker is gone: recorded as interrupted, and run again only where the plan says so.

A run is its worker's as long as that worker lives and gives signs of life; a sign far in the past or in the future
(the clock jumped) is none, and a worker that is seen to live gets a second look. Source: reports.md row 22, `spec/plans.md` §3.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from django.db import IntegrityError, transaction

from gateway import events
from gateway.callers import Caller
from gateway.runners import end_leftovers
from plans.models import Run
from plans.models.runs import RunQuerySet
from plans.sentences import kept
from plans.services.lifecycle import count_outcome

# A worker looks in at least every few seconds.
SILENT_AFTER = timedelta(minutes=5)
MOST_ATTEMPTS = 3
# The mark of a run whose living worker was silent at the last look; its next sign of life takes it away.
QUIET = "QUIET"


@lru_cache(maxsize=1)
def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        boot = "-"
    return f"{socket.gethostname()}/{boot}"


def own_name() -> str:
    """This process, so that nobody can be taken for it: host, boot, pid and the moment the pid was given."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}"


def _started(pid: int) -> str:
    try:
        # Field 22, counted behind the parenthesised name, which may itself hold blanks.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


def is_alive(owner: str) -> bool | None:
    """Whether that worker lives; None where only its own host can know."""
    machine, _slash, rest = owner.rpartition("/")
    machine, _slash, pid = machine.rpartition("/")
    if machine != _machine():
        # Another boot of this host is certainly over; another host is not ours to judge.
        return False if machine.split("/")[0] == _machine().split("/")[0] else None
    if _started(int(pid)) != rest:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z" if rest != "-" else None


def recover_runs(*, now: datetime, caller: Caller) -> int:
    """Look at every running run; returns how many were found abandoned."""
    found = 0
    for run in Run.objects.filter(status=Run.Status.RUNNING).select_related("plan"):
        alive = is_alive(run.owner) if run.owner else False
        seen = run.seen_at or run.started_at or now
        silent = not (now - SILENT_AFTER <= seen <= now + SILENT_AFTER)
        if alive and silent and run.code != QUIET:
            # It lives. Perhaps only the clock jumped: a healthy worker gives a sign within seconds, so look again.
            second_look = now - SILENT_AFTER + timedelta(seconds=30)
            _mine(run).filter(seen_at=run.seen_at).update(seen_at=second_look, code=QUIET)
            continue
        if alive is False or silent:
            found += _interrupt(run, now, caller)
    return found


def _interrupt(run: Run, now: datetime, caller: Caller) -> int:
    end_leftovers(str(run.uid))
    if run.plan.rerun_interrupted and run.attempts < MOST_ATTEMPTS and run.stop_requested_at is None:
        if _queue_again(run):
            events.publish("run.rerun", agent_id=run.plan.agent_id, subject=str(run.uid), caller=caller)
            return 1
    cut_off = _mine(run).update(
        status=Run.Status.ENDED,
        outcome=Run.Outcome.INTERRUPTED,
        code="WORKER_GONE",
        reason=kept(
            "The worker was cut off while this run was going; what the agent had done until then stays done."
        ),
        ended_at=now,
    )
    if cut_off:
        events.publish(
            "run.ended",
            agent_id=run.plan.agent_id,
            subject=str(run.uid),
            data={"outcome": "interrupted"},
            caller=caller,
        )
        count_outcome(run.plan, Run.Outcome.INTERRUPTED, caller=caller)
    return cut_off


def _mine(run: Run) -> RunQuerySet:
    """The row as it was looked at: a worker that came back, or another that took it, is left alone."""
    return Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING, owner=run.owner, attempts=run.attempts)


def _queue_again(run: Run) -> bool:
    try:
        with transaction.atomic():
            return bool(
                _mine(run).update(
                    status=Run.Status.QUEUED,
                    owner="",
                    child="",
                    seen_at=None,
                    enqueued_at=None,
                    code="RERUN",
                    reason=kept("The worker was cut off; the plan allows another try."),
                )
            )
    except IntegrityError:
        # The database refuses: the text is not the confirmed one any more.
        return False
