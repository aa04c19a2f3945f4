"""Sending a run's result to the plan's session. Whether the run went well and whether that arrived are two things."""

from __future__ import annotations

from datetime import datetime, timedelta

from gateway import events
from gateway.callers import Caller
from gateway.deliveries import MAX_TEXT, DeliveryError, attempt_delivery, queue_message
from plans.models import Run

ANNOUNCED_WITHIN = timedelta(minutes=15)
# A time limit of a day, and the waiting before it.
LONGEST_RUN = timedelta(days=2)


def announce_run(run: Run, *, caller: Caller) -> None:
    """Queue and try the message where the plan wants it; the ledger keeps what became of it. The same run is told once."""
    if not run.plan.announce or not run.plan.session_key or run.status != Run.Status.ENDED:
        return
    text = "\n\n".join(part for part in (f"{run.plan}: {run.outcome}", run.reason, run.text) if part)
    try:
        delivery = queue_message(
            agent_id=run.plan.agent_id,
            session_key=run.plan.session_key,
            text=text[:MAX_TEXT],
            purpose="run_result",
            dedupe_key=f"run:{run.uid}",
            subject=f"run:{run.uid}",
            caller=caller,
        )
    except DeliveryError:
        return  # made for another session before the plan moved: that one is on record
    Run.objects.filter(pk=run.pk).update(delivery=delivery)
    run.delivery = attempt_delivery(delivery, caller=caller)
    events.publish(
        "run.announced",
        agent_id=run.plan.agent_id,
        subject=str(run.uid),
        data={"outcome": run.delivery.outcome},
        caller=caller,
    )


def announce_left(*, now: datetime, caller: Caller) -> int:
    """Announces what ended and was not announced, because its worker was killed in between; returns how many.

    Only of the last quarter of an hour: what ended before is old news, and may be from before the plan wanted it.
    """
    left = Run.objects.filter(
        status=Run.Status.ENDED,
        outcome__in=(Run.Outcome.OK, Run.Outcome.ERROR, Run.Outcome.TIMEOUT, Run.Outcome.STOPPED),
        due_at__gte=now - LONGEST_RUN,
        ended_at__range=(now - ANNOUNCED_WITHIN, now - timedelta(minutes=1)),
        delivery=None,
        plan__announce=True,
    ).exclude(plan__session_key="")
    found = list(left.select_related("plan")[:200])
    for run in found:
        announce_run(run, caller=caller)
    return len(found)
