"""Sending a run's result to the plan's session. Whether the run went well and whether that arrived are two things."""

from __future__ import annotations

from gateway import events
from gateway.callers import Caller
from gateway.deliveries import MAX_TEXT, DeliveryError, attempt_delivery, queue_message
from plans.models import Run


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
