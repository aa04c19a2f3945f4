"""Methods that decide. `plans.confirm` exists for signed-in people only, whatever scopes a token has."""

from __future__ import annotations

from typing import Any

from gateway.callers import Caller
from gateway.registry import WRITE, Params, method
from plans.models import Plan
from plans.rpc.finding import find_plan, find_run
from plans.services import decisions, lifecycle
from plans.services.queue import enqueue_runs
from plans.shapes import plan_shape, request_shape, run_shape


class ConfirmParams(Params):
    id: str
    digest: str


class CommentParams(Params):
    line: int
    text: str


class RequestParams(Params):
    id: str
    text: str = ""
    comments: list[CommentParams] | None = None


class ReasonParams(Params):
    id: str
    reason: str = ""


class PlanParams(Params):
    id: str


class RunNowParams(Params):
    id: str
    idempotency_key: str | None = None


class StopParams(Params):
    run_id: str


class SettingsParams(Params):
    id: str
    missed: str | None = None
    rerun_interrupted: bool | None = None
    time_limit_seconds: int | None = None
    announce: bool | None = None


@method("plans.confirm", params=ConfirmParams, scope=WRITE, people_only=True)
def plans_confirm(params: ConfirmParams, caller: Caller) -> dict[str, Any]:
    """A person's yes to the text with this SHA-256; only then is the schedule made."""
    plan = find_plan(params.id, caller)
    decisions.confirm_plan(plan, digest=params.digest, caller=caller)
    return {"plan": plan_shape(find_plan(params.id, caller))}


@method("plans.requestChanges", params=RequestParams, scope=WRITE)
def plans_request_changes(params: RequestParams, caller: Caller) -> dict[str, Any]:
    """Sends words (and comments on lines) about the current text to the plan's session."""
    request = decisions.request_changes(
        find_plan(params.id, caller),
        text=params.text,
        comments=[comment.model_dump() for comment in params.comments or []],
        caller=caller,
    )
    return {"request": request_shape(request)}


@method("plans.pause", params=ReasonParams, scope=WRITE)
def plans_pause(params: ReasonParams, caller: Caller) -> dict[str, Any]:
    """No due times until it is resumed; a run that is going on goes on."""
    return _shown(lifecycle.pause_plan(find_plan(params.id, caller), caller=caller, reason=params.reason))


@method("plans.resume", params=PlanParams, scope=WRITE)
def plans_resume(params: PlanParams, caller: Caller) -> dict[str, Any]:
    """Due times count from now; refused where the text is not the confirmed one any more."""
    return _shown(lifecycle.resume_plan(find_plan(params.id, caller), caller=caller))


@method("plans.retire", params=ReasonParams, scope=WRITE)
def plans_retire(params: ReasonParams, caller: Caller) -> dict[str, Any]:
    """The end of a plan: nothing of it runs again. PLAN.md is left as it is."""
    return _shown(lifecycle.retire_plan(find_plan(params.id, caller), caller=caller, reason=params.reason))


@method("plans.settings", params=SettingsParams, scope=WRITE)
def plans_settings(params: SettingsParams, caller: Caller) -> dict[str, Any]:
    """Missed times (run_once, skip), whether an interrupted run may run again, time limit, announcing."""
    wanted = {
        "missed": params.missed,
        "rerun_interrupted": params.rerun_interrupted,
        "time_limit": params.time_limit_seconds,
        "announce": params.announce,
    }
    given = {key: value for key, value in wanted.items() if value is not None}
    return _shown(lifecycle.change_settings(find_plan(params.id, caller), caller=caller, **given))


@method("plans.runNow", params=RunNowParams, scope=WRITE, idempotent=True)
def plans_run_now(params: RunNowParams, caller: Caller) -> dict[str, Any]:
    """Queues a run of the confirmed text by hand."""
    run = lifecycle.run_now(find_plan(params.id, caller), caller=caller)
    enqueue_runs([run.pk])
    return {"run": run_shape(run)}


@method("plans.stop", params=StopParams, scope=WRITE)
def plans_stop(params: StopParams, caller: Caller) -> dict[str, Any]:
    """Asks a run to stop; it ends within seconds."""
    return {"run": run_shape(lifecycle.stop_run(find_run(params.run_id, caller), caller=caller))}


def _shown(plan: Plan) -> dict[str, Any]:
    return {"plan": plan_shape(plan)}
