"""`cron.*` in the peer's shapes over our schedules (contract §4.1).

Reading is the peer's. What would make or change a schedule without a person's yes is refused with the way to go:
there is no call that changes the schedule and not the file.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field

from gateway.callers import Caller
from gateway.registry import ADMIN, READ, Params, method
from plans.errors import PlansError
from plans.models import Plan, Run
from plans.queries import list_runs
from plans.rpc.cron_shapes import entry_shape, job_shape
from plans.rpc.finding import find_plan
from plans.services import lifecycle
from plans.services.queue import enqueue_runs
from plans.services.recovery import own_name

State = Plan.State
SHOWN = (State.ACTIVE, State.PAUSED, State.HELD, State.ENDED)


class NoParams(Params):
    pass


class ListParams(Params):
    include_disabled: bool = False
    enabled: Literal["all", "enabled", "disabled"] | None = None
    agent_id: str | None = None
    query: str = ""
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0)
    sort_by: Literal["nextRunAtMs", "updatedAtMs", "name"] = "nextRunAtMs"
    sort_dir: Literal["asc", "desc"] = "asc"


class JobParams(Params):
    """`id` or `jobId`, exactly one of them."""

    id: str | None = None
    job_id: str | None = None

    @property
    def wanted(self) -> str:
        if (self.id is None) == (self.job_id is None):
            raise PlansError(_("Give id or jobId, exactly one of them."), code="BAD_PARAMS")
        return self.id or self.job_id or ""


class RunParams(JobParams):
    mode: Literal["due", "force", "if-enabled"] = "due"


class RunsParams(Params):
    id: str | None = None
    job_id: str | None = None
    scope: Literal["job", "all"] | None = None
    statuses: list[Literal["ok", "error", "skipped"]] | None = None
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0)


class PatchParams(Params):
    enabled: bool | None = None


class UpdateParams(JobParams):
    patch: PatchParams


class AddParams(Params):
    """The peer's params, accepted in full so that the answer is about the rule and not about a key."""

    name: str | None = None
    agent_id: str | None = None
    schedule: dict[str, Any]
    payload: dict[str, Any]
    session_target: str | None = None
    wake_mode: str | None = None
    delivery: dict[str, Any] | None = None
    enabled: bool | None = None
    delete_after_run: bool | None = None
    declaration_key: str | None = None
    display_name: str | None = None
    description: str | None = None
    session_key: str | None = None


def _jobs(caller: Caller) -> QuerySet[Plan]:
    plans = Plan.objects.filter(schedule__isnull=False, state__in=SHOWN).select_related(
        "schedule__confirmation", "current"
    )
    return plans.filter(agent_id__in=caller.agent_ids) if caller.agent_ids is not None else plans


def _job(params: JobParams, caller: Caller) -> Plan:
    try:
        plan = find_plan(params.wanted, caller)
    except PlansError as error:
        if error.code != "PLAN_NOT_FOUND":
            raise
        raise _not_found(params.wanted) from error
    if plan.state not in SHOWN or not hasattr(plan, "schedule"):
        raise _not_found(params.wanted)
    return plan


def _not_found(job_id: str) -> PlansError:
    return PlansError(
        _("There is no cron job “%(id)s”.") % {"id": job_id[:80]},
        code="CRON_JOB_NOT_FOUND",
        details={"code": "CRON_JOB_NOT_FOUND", "jobId": job_id},
    )


@method("cron.list", params=ListParams, scope=READ)
def cron_list(params: ListParams, caller: Caller) -> dict[str, Any]:
    """Our schedules as the peer lists its jobs; paused, held and ended ones only with includeDisabled."""
    plans = _jobs(caller)
    shown = params.enabled or ("all" if params.include_disabled else "enabled")
    if shown != "all":
        plans = plans.filter(state=State.ACTIVE) if shown == "enabled" else plans.exclude(state=State.ACTIVE)
    if params.agent_id is not None:
        plans = plans.filter(agent_id=params.agent_id)
    if params.query:
        plans = plans.filter(Q(name__icontains=params.query) | Q(task_id__icontains=params.query))
    order = {"nextRunAtMs": "schedule__next_due_at", "updatedAtMs": "state_at", "name": "name"}[
        params.sort_by
    ]
    plans = plans.order_by(f"-{order}" if params.sort_dir == "desc" else order, "pk")
    total = plans.count()
    jobs = [job_shape(plan) for plan in plans[params.offset : params.offset + params.limit]]
    end = params.offset + len(jobs)
    revision = hashlib.sha256(repr([(job["id"], job["updatedAtMs"]) for job in jobs]).encode()).hexdigest()
    return {
        "jobs": jobs,
        "snapshotRevision": f"sha256:{revision}",
        "total": total,
        "offset": params.offset,
        "limit": params.limit,
        "hasMore": end < total,
        "nextOffset": end if end < total else None,
        "deliveryPreviews": {
            job["id"]: {"label": "not requested", "detail": "not requested"} for job in jobs
        },
    }


@method("cron.get", params=JobParams, scope=READ)
def cron_get(params: JobParams, caller: Caller) -> dict[str, Any]:
    """One schedule as the peer's job."""
    return job_shape(_job(params, caller))


@method("cron.status", params=NoParams, scope=READ)
def cron_status(params: NoParams, caller: Caller) -> dict[str, Any]:
    """How many schedules there are, and when the next one is due."""
    active = _jobs(caller).filter(state=State.ACTIVE)
    following = active.exclude(schedule__next_due_at=None).order_by("schedule__next_due_at").first()
    return {
        "enabled": True,
        "triggersEnabled": False,
        "storage": settings.DATABASES["default"]["ENGINE"].rpartition(".")[2],
        "jobs": active.count(),
        "nextWakeAtMs": job_shape(following)["nextRunAtMs"] if following else None,
    }


@method("cron.runs", params=RunsParams, scope=READ)
def cron_runs(params: RunsParams, caller: Caller) -> dict[str, Any]:
    """Ended runs in the peer's shape, of one job or of all."""
    runs = list_runs().filter(status=Run.Status.ENDED)
    if params.id is not None or params.job_id is not None:
        runs = runs.filter(
            plan=_job(JobParams.model_validate({"id": params.id, "jobId": params.job_id}), caller)
        )
    if caller.agent_ids is not None:
        runs = runs.filter(plan__agent_id__in=caller.agent_ids)
    if params.statuses:
        skipped = [Run.Outcome.SKIPPED, Run.Outcome.MISSED, Run.Outcome.HELD, Run.Outcome.STOPPED]
        wanted = Q()
        for status in params.statuses:
            wanted |= {
                "ok": Q(outcome=Run.Outcome.OK),
                "skipped": Q(outcome__in=skipped),
                "error": ~Q(outcome__in=[*skipped, Run.Outcome.OK]),
            }[status]
        runs = runs.filter(wanted)
    total = runs.count()
    entries = [entry_shape(run) for run in runs[params.offset : params.offset + params.limit]]
    end = params.offset + len(entries)
    return {
        "entries": entries,
        "total": total,
        "offset": params.offset,
        "limit": params.limit,
        "hasMore": end < total,
        "nextOffset": end if end < total else None,
    }


@method("cron.run", params=RunParams, scope=ADMIN)
def cron_run(params: RunParams, caller: Caller) -> dict[str, Any]:
    """Runs a schedule's confirmed text now (force, or if-enabled, or only where it is due)."""
    plan = _job(params, caller)
    reason = ""
    if params.mode != "force" and plan.state != State.ACTIVE:
        reason = "disabled"
    elif params.mode == "due" and not (
        plan.schedule.next_due_at and plan.schedule.next_due_at <= timezone.now()
    ):
        reason = "not-due"
    elif plan.runs.open().exists():
        reason = "already-running"
    if reason:
        return {"ok": True, "ran": False, "reason": reason, "processInstanceId": own_name()}
    run = lifecycle.run_now(plan, caller=caller)
    enqueue_runs([run.pk])
    return {"ok": True, "enqueued": True, "runId": str(run.uid), "processInstanceId": own_name()}


@method("cron.update", params=UpdateParams, scope=ADMIN)
def cron_update(params: UpdateParams, caller: Caller) -> dict[str, Any]:
    """Only `enabled`: false pauses, true resumes. Time and message stand in PLAN.md and are changed there."""
    plan = _job(params, caller)
    if params.patch.enabled is False and plan.state == State.ACTIVE:
        lifecycle.pause_plan(plan, caller=caller)
    elif params.patch.enabled is True and plan.state != State.ACTIVE:
        lifecycle.resume_plan(plan, caller=caller)
    return job_shape(_job(params, caller))


@method("cron.remove", params=JobParams, scope=ADMIN)
def cron_remove(params: JobParams, caller: Caller) -> dict[str, Any]:
    """Retires the plan; a second call finds no job."""
    lifecycle.retire_plan(_job(params, caller), caller=caller)
    return {"ok": True, "removed": True}


@method("cron.add", params=AddParams, scope=ADMIN)
def cron_add(params: AddParams, caller: Caller) -> dict[str, Any]:
    """Always refused: a schedule comes from a plan that a person has confirmed (plans.draft, then the page)."""
    raise PlansError(
        _(
            "Nothing is scheduled here without a confirmed plan: draft one with plans.draft; a person confirms it."
        ),
        code="CONFIRMATION_REQUIRED",
        details={"code": "CONFIRMATION_REQUIRED", "draftWith": "plans.draft"},
    )
