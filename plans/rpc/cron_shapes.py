"""Our schedules and runs in the shapes that the peer's `cron.*` answers with (contract §4.1)."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from plans.models import Plan, Run, Schedule

SKIPPED = (Run.Outcome.SKIPPED, Run.Outcome.MISSED, Run.Outcome.HELD, Run.Outcome.STOPPED)


def milliseconds(moment: datetime | None) -> int | None:
    return round(moment.timestamp() * 1000) if moment else None


def job_shape(plan: Plan) -> dict[str, Any]:
    schedule = plan.schedule
    last = plan.runs.filter(status=Run.Status.ENDED).order_by("-due_at").first()
    confirmed = schedule.confirmation.confirmed_at
    revision = hashlib.sha256(f"{plan.uid}{schedule.confirmation_id}{plan.state}".encode()).hexdigest()
    state = {"nextRunAtMs": milliseconds(schedule.next_due_at), **_last(plan, last)}
    job = {
        "id": str(plan.uid),
        "agentId": plan.agent_id,
        "effectiveAgentId": plan.agent_id,
        "name": plan.name or plan.task_id,
        "enabled": plan.state == Plan.State.ACTIVE,
        "createdAtMs": milliseconds(plan.created_at),
        "updatedAtMs": milliseconds(max(plan.state_at, confirmed)),
        "schedule": _schedule(schedule),
        "sessionTarget": schedule.session_target,
        "wakeMode": "now",
        "payload": {
            "kind": schedule.payload_kind,
            "message": schedule.message,
            "timeoutSeconds": plan.time_limit,
        },
        "delivery": {"mode": "none"},
        "state": {key: value for key, value in state.items() if value is not None},
        "configRevision": f"sha256:{revision}",
    }
    if schedule.next_due_at:
        job["nextRunAtMs"] = milliseconds(schedule.next_due_at)
    return job


def _schedule(schedule: Schedule) -> dict[str, Any]:
    if schedule.kind == Schedule.Kind.AT:
        return {"kind": "at", "at": schedule.at.isoformat() if schedule.at else None}
    if schedule.kind == Schedule.Kind.EVERY:
        return {"kind": "every", "everyMs": schedule.every * 1000, "anchorMs": milliseconds(schedule.anchor)}
    return {"kind": "cron", "expr": schedule.expr, "tz": schedule.zone}


def _last(plan: Plan, run: Run | None) -> dict[str, Any]:
    if run is None:
        return {}
    return {
        "lastRunAtMs": milliseconds(run.started_at or run.due_at),
        "lastRunStatus": _status(run),
        "lastStatus": _status(run),
        "lastDurationMs": _duration(run),
        "consecutiveErrors": plan.failures,
    }


def _status(run: Run) -> str:
    if run.outcome == Run.Outcome.OK:
        return "ok"
    return "skipped" if run.outcome in SKIPPED else "error"


def _duration(run: Run) -> int | None:
    return (
        round((run.ended_at - run.started_at).total_seconds() * 1000)
        if run.started_at and run.ended_at
        else None
    )


def entry_shape(run: Run) -> dict[str, Any]:
    status = _status(run)
    entry = {
        "ts": milliseconds(run.ended_at),
        "jobId": str(run.plan.uid),
        "action": "finished",
        "status": status,
        "completionStatus": {"ok": "succeeded", "error": "failed", "skipped": "skipped"}[status],
        "summary": run.text,
        "error": run.reason if status != "ok" else None,
        "runId": str(run.uid),
        "runAtMs": milliseconds(run.started_at or run.due_at),
        "durationMs": _duration(run),
        "model": run.usage.get("model"),
        "usage": _usage(run) or None,
        "delivered": bool(run.delivery and run.delivery.received_at),
        "deliveryStatus": _delivery_status(run),
        "sessionId": run.session_key.rpartition(":")[2] or None,
        "sessionKey": run.session_key or None,
        "jobName": run.plan.name or run.plan.task_id,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _delivery_status(run: Run) -> str:
    """Outcome and delivery are two things: an ok run may not have arrived, a failed one may."""
    if run.delivery is None:
        return "not-requested"
    if run.delivery.received_at:
        return "delivered"
    return "not-delivered" if run.delivery.outcome == run.delivery.Outcome.FAILED else "unknown"


def _usage(run: Run) -> dict[str, int]:
    names = {"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"}
    return {peer: run.usage[ours] for ours, peer in names.items() if ours in run.usage}
