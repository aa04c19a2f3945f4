"""Methods that draft: a wish, answers, ORA, PLAN.md, a new text. None of them can schedule anything."""

from __future__ import annotations

from typing import Any

from gateway.callers import Caller
from gateway.registry import WRITE, Params, method
from plans.rpc.finding import find_intake, find_plan
from plans.services import decisions, intakes
from plans.shapes import intake_shape, plan_shape, revision_shape


class DraftParams(Params):
    wish: str
    agent_id: str
    zone: str = ""
    idempotency_key: str | None = None


class AnswerParams(Params):
    id: str
    chosen: dict[str, str] | None = None
    other: str | None = None
    overrides: dict[str, str | list[str]] | None = None


class IntakeParams(Params):
    id: str


class ReviseParams(Params):
    id: str
    text: str
    seen: str


class ScheduleParams(Params):
    id: str
    kind: str
    value: str
    zone: str
    seen: str


@method("plans.draft", params=DraftParams, scope=WRITE, idempotent=True)
def plans_draft(params: DraftParams, caller: Caller) -> dict[str, Any]:
    """Answers a wish with a baseline, two or three options and room for other words."""
    intake = intakes.start_intake(params.wish, agent_id=params.agent_id, caller=caller, zone=params.zone)
    return {"draft": intake_shape(intake, intakes.answer_of(intake))}


@method("plans.answer", params=AnswerParams, scope=WRITE)
def plans_answer(params: AnswerParams, caller: Caller) -> dict[str, Any]:
    """Chooses options, adds other words, or writes texts over the baseline of a draft."""
    intake = intakes.answer_intake(
        find_intake(params.id, caller),
        caller=caller,
        chosen=params.chosen,
        other=params.other,
        overrides=dict(params.overrides) if params.overrides is not None else None,
    )
    return {"draft": intake_shape(intake, intakes.answer_of(intake))}


@method("plans.agree", params=IntakeParams, scope=WRITE)
def plans_agree(params: IntakeParams, caller: Caller) -> dict[str, Any]:
    """Objective, Result and Action were shown and agreed; needed before plans.write."""
    intake = intakes.agree_ora(find_intake(params.id, caller), caller=caller)
    return {"draft": intake_shape(intake, intakes.answer_of(intake))}


@method("plans.write", params=IntakeParams, scope=WRITE)
def plans_write(params: IntakeParams, caller: Caller) -> dict[str, Any]:
    """Writes the agreed draft into PLAN.md; the plan then awaits a person's confirmation."""
    return {"plan": plan_shape(intakes.write_plan(find_intake(params.id, caller), caller=caller))}


@method("plans.revise", params=ReviseParams, scope=WRITE)
def plans_revise(params: ReviseParams, caller: Caller) -> dict[str, Any]:
    """Replaces a plan's entry in PLAN.md; `seen` is the SHA-256 of the file the writer saw."""
    plan = find_plan(params.id, caller)
    revision = decisions.edit_plan(plan, text=params.text, seen=params.seen, caller=caller)
    return {"revision": revision_shape(revision)}


@method("plans.setSchedule", params=ScheduleParams, scope=WRITE)
def plans_set_schedule(params: ScheduleParams, caller: Caller) -> dict[str, Any]:
    """Changes the line Schedule in PLAN.md (kind at, every or cron); the plan then awaits confirmation."""
    plan = find_plan(params.id, caller)
    revision = decisions.set_schedule(
        plan, kind=params.kind, value=params.value, zone=params.zone, seen=params.seen, caller=caller
    )
    return {"revision": revision_shape(revision)}
