"""Entry points for Django-Q: ids in, nothing decided here, safe to repeat."""

from __future__ import annotations

from django.utils import timezone

from gateway.callers import system_caller
from gateway.schedules import repeat
from plans.services.alarm import CLOCK
from plans.services.announcing import announce_left
from plans.services.discovery import discover_plans
from plans.services.retention import forget_old_runs
from plans.services.running import execute_run
from plans.services.ticking import tick


def run_turn(run_id: int) -> str:
    """Carry one queued run to its end; a message for a taken run does nothing."""
    run = execute_run(run_id)
    return run.outcome or run.status if run else "not taken"


def tick_plans() -> str:
    """Turn due instants into runs and heal what a crash left."""
    done = tick()
    return f"queued {len(done.queued)}, missed {done.missed}, skipped {done.skipped}, held {done.held}"


def follow_plans() -> str:
    """Find plans and changes that agents wrote into PLAN.md files, and results that a killed worker did not tell."""
    told = announce_left(now=timezone.now(), caller=system_caller("plans runner"))
    return f"changed {discover_plans()}, announced {told}"


def forget_runs() -> str:
    """Delete ended runs that are past their time."""
    return f"forgot {forget_old_runs()}"


repeat(CLOCK, "plans.tasks.tick_plans", minutes=1, second=0)
repeat("plans.follow", "plans.tasks.follow_plans", minutes=1)
repeat("plans.forget", "plans.tasks.forget_runs", minutes=1440)
