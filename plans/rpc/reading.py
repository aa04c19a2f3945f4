"""Methods that look: plans, their texts, their runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.registry import READ, Params, method
from plans.errors import PlansError
from plans.queries import list_plans, list_runs, requests_of, review_plan, revisions_of
from plans.rpc.finding import find_plan, find_run
from plans.shapes import plan_shape, request_shape, review_shape, revision_shape, run_shape


class ListParams(Params):
    agent_id: str | None = None
    state: str = ""
    query: str = ""
    limit: int = 50
    offset: int = 0


class PlanParams(Params):
    id: str


class RevisionParams(Params):
    id: str
    number: int


class RunsParams(Params):
    id: str | None = None
    agent_id: str | None = None
    outcome: str = ""
    limit: int = 50
    before: str | None = None


class RunParams(Params):
    run_id: str


@method("plans.list", params=ListParams, scope=READ)
def plans_list(params: ListParams, caller: Caller) -> dict[str, Any]:
    """Plans the caller may see, those that changed last first."""
    if params.agent_id:
        caller.require_agent(params.agent_id)
    plans = list_plans(agent_id=params.agent_id, state=params.state, text=params.query)
    if caller.agent_ids is not None:
        plans = plans.filter(agent_id__in=caller.agent_ids)
    limit, offset = max(1, min(params.limit, 200)), max(params.offset, 0)
    rows = list(plans[offset : offset + limit + 1])
    return {"plans": [plan_shape(plan) for plan in rows[:limit]], "hasMore": len(rows) > limit}


@method("plans.get", params=PlanParams, scope=READ)
def plans_get(params: PlanParams, caller: Caller) -> dict[str, Any]:
    """One plan as its review page shows it: text, problems with lines, schedule in words, next due times."""
    plan = find_plan(params.id, caller)
    review = review_plan(plan)
    return {
        "plan": review_shape(review) if review else plan_shape(plan),
        "revisions": [revision_shape(revision) for revision in revisions_of(plan)[:50]],
        "requests": [request_shape(request) for request in requests_of(plan)],
    }


@method("plans.revision", params=RevisionParams, scope=READ)
def plans_revision(params: RevisionParams, caller: Caller) -> dict[str, Any]:
    """The text of one revision, as it was; null where there is no such number."""
    plan = find_plan(params.id, caller)
    revision = plan.revisions.filter(number=params.number).first()
    return {"revision": {**revision_shape(revision), "text": revision.text} if revision else None}


@method("plans.runs", params=RunsParams, scope=READ)
def plans_runs(params: RunsParams, caller: Caller) -> dict[str, Any]:
    """Runs, newest due time first; `before` is the `dueAt` of the last one seen."""
    if params.agent_id:
        caller.require_agent(params.agent_id)
    plan = find_plan(params.id, caller) if params.id else None
    runs = list_runs(plan=plan, agent_id=params.agent_id, outcome=params.outcome)
    if caller.agent_ids is not None:
        runs = runs.filter(plan__agent_id__in=caller.agent_ids)
    if params.before:
        runs = runs.filter(due_at__lt=_moment(params.before))
    limit = max(1, min(params.limit, 200))
    rows = list(runs[: limit + 1])
    return {"runs": [run_shape(run) for run in rows[:limit]], "hasMore": len(rows) > limit}


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise PlansError(
            _("“%(text)s” is no instant; write it like 2026-11-30T09:00:00Z.") % {"text": text},
            code="BAD_INSTANT",
        ) from None


@method("plans.run", params=RunParams, scope=READ)
def plans_run(params: RunParams, caller: Caller) -> dict[str, Any]:
    """One run: outcome, reason, the agent's final text, what it archived."""
    return {"run": run_shape(find_run(params.run_id, caller))}
