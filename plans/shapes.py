"""Plans, revisions and runs as JSON, for methods and commands. Instants are ISO 8601 in UTC."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from gateway.models import Delivery
from plans.drafts import Intake as Answer
from plans.models import ChangeRequest, Intake, Plan, Revision, Run, Schedule
from plans.queries import Review
from plans.schedule_text import write_schedule
from plans.schedule_words import describe_timing


def instant(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def plan_shape(plan: Plan) -> dict[str, Any]:
    schedule: Schedule | None = getattr(plan, "schedule", None)
    return {
        "id": str(plan.uid),
        "agentId": plan.agent_id,
        "archiveId": plan.archive_id,
        "taskId": plan.task_id,
        "name": plan.name,
        "path": plan.path,
        "state": plan.state,
        "stateReason": plan.state_reason,
        "stateAt": instant(plan.state_at),
        "sessionKey": plan.session_key,
        "revision": plan.current.number if plan.current else None,
        "digest": plan.current.file_digest if plan.current else None,
        "schedule": schedule_shape(schedule) if schedule else None,
        "missed": plan.missed,
        "rerunInterrupted": plan.rerun_interrupted,
        "timeLimitSeconds": plan.time_limit,
        "announce": plan.announce,
        "failures": plan.failures,
    }


def schedule_shape(schedule: Schedule) -> dict[str, Any]:
    return {
        "text": write_schedule(schedule.timing),
        "words": describe_timing(schedule.timing),
        "sessionTarget": schedule.session_target,
        "payload": {"kind": schedule.payload_kind, "message": schedule.message},
        "nextDueAt": instant(schedule.next_due_at),
        "lastDueAt": instant(schedule.last_due_at),
    }


def review_shape(review: Review) -> dict[str, Any]:
    """What a person sees before confirming, for programs: they may look, and never confirm."""
    return {
        **plan_shape(review.plan),
        "text": review.revision.text,
        "problems": [problem.as_dict() for problem in review.problems],
        "scheduleWords": review.words,
        "instants": [instant(moment) for moment in review.instants],
        "baselineRevision": review.baseline.number if review.baseline else None,
        "drifted": review.drifted,
        "diskError": review.on_disk.error or None,
        "confirmed": review.confirmation is not None,
    }


def revision_shape(revision: Revision) -> dict[str, Any]:
    confirmation = getattr(revision, "confirmation", None)
    return {
        "number": revision.number,
        "digest": revision.file_digest,
        "origin": revision.origin,
        "madeBy": revision.made_by,
        "at": instant(revision.created_at),
        "confirmation": confirmation
        and {
            "person": confirmation.person.get_username(),
            "at": instant(confirmation.confirmed_at),
            "digest": confirmation.digest,
        },
    }


def request_shape(request: ChangeRequest) -> dict[str, Any]:
    return {
        "text": request.text,
        "comments": request.comments,
        "revision": request.revision.number,
        "madeBy": request.made_by,
        "at": instant(request.created_at),
        "delivery": delivery_shape(request.delivery) if request.delivery else None,
        "notSentBecause": request.delivery_error or None,
    }


def delivery_shape(delivery: Delivery) -> dict[str, Any]:
    """The three truths of one message, and what its newest attempt came to."""
    return {
        "generatedAt": instant(delivery.generated_at),
        "attemptedAt": instant(delivery.attempted_at),
        "receivedAt": instant(delivery.received_at),
        "outcome": delivery.outcome,
    }


def run_shape(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.uid),
        "planId": str(run.plan.uid),
        "trigger": run.trigger,
        "dueAt": instant(run.due_at),
        "status": run.status,
        "outcome": run.outcome or None,
        "code": run.code,
        "reason": run.reason,
        "startedAt": instant(run.started_at),
        "endedAt": instant(run.ended_at),
        "notBefore": instant(run.not_before),
        "attempts": run.attempts,
        "runner": run.runner,
        "sessionKey": run.session_key,
        "digest": run.digest,
        "agentStarted": run.agent_started,
        "text": run.text,
        "usage": run.usage,
        "outputs": run.outputs,
        "outputsFound": run.outputs_found,
        "textChanged": run.text_changed,
        "delivery": delivery_shape(run.delivery) if run.delivery else None,
    }


def intake_shape(intake: Intake, answer: Answer) -> dict[str, Any]:
    baseline = answer.baseline
    return {
        "id": str(intake.uid),
        "agentId": intake.agent_id,
        "wish": intake.wish,
        "state": intake.state,
        "language": answer.language,
        "draftedBy": answer.drafted_by,
        "baseline": {**asdict(baseline), "actions": list(baseline.actions)},
        "options": [
            {
                "key": option.key,
                "label": option.label,
                "chosen": option.chosen,
                "choices": [asdict(choice) for choice in option.choices],
            }
            for option in answer.options
        ],
        "other": answer.other,
        "notes": list(answer.notes),
        "planId": str(intake.plan.uid) if intake.plan else None,
    }
