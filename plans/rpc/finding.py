"""Objects by the ids of the wire, only where the caller may see their agent."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext as _

from gateway.callers import Caller
from plans.errors import PlansError
from plans.models import Intake, Plan, Run


def find_plan(plan_id: str, caller: Caller) -> Plan:
    """Raises PlansError `PLAN_NOT_FOUND`; GatewayError for another agent's plan."""
    plan = Plan.objects.select_related("current", "schedule").filter(uid=_uuid(plan_id)).first()
    if plan is None:
        raise PlansError(
            _("There is no plan “%(id)s”.") % {"id": plan_id[:80]},
            code="PLAN_NOT_FOUND",
            details={"code": "PLAN_NOT_FOUND", "planId": plan_id},
        )
    caller.require_agent(plan.agent_id)
    return plan


def find_run(run_id: str, caller: Caller) -> Run:
    """Raises PlansError `RUN_NOT_FOUND`."""
    run = Run.objects.select_related("plan", "confirmation").filter(uid=_uuid(run_id)).first()
    if run is None:
        raise PlansError(
            _("There is no run “%(id)s”.") % {"id": run_id[:80]},
            code="RUN_NOT_FOUND",
            details={"code": "RUN_NOT_FOUND", "runId": run_id},
        )
    caller.require_agent(run.plan.agent_id)
    return run


def find_intake(intake_id: str, caller: Caller) -> Intake:
    """Raises PlansError `INTAKE_NOT_FOUND`."""
    intake = Intake.objects.select_related("plan").filter(uid=_uuid(intake_id)).first()
    if intake is None:
        raise PlansError(
            _("There is no draft “%(id)s”.") % {"id": intake_id[:80]},
            code="INTAKE_NOT_FOUND",
            details={"code": "INTAKE_NOT_FOUND", "intakeId": intake_id},
        )
    caller.require_agent(intake.agent_id)
    return intake


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)
