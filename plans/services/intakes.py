"""From a wish to a written plan: intake, ORA agreed, PLAN.md written, awaiting confirmation. No schedule anywhere.

Source: `seeds/schedule-plan.txt` (需求理解规则, ORA 拆解, 执行顺序), `spec/plans.md` §1.
"""

from __future__ import annotations

import re
import uuid

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from archives.identity import Identity, identity_of_session
from archives.queries import default_zone
from gateway import audit, events
from gateway.callers import WRITE, Caller
from plans.drafts import Intake as IntakeAnswer
from plans.drafts import draft_intake, to_draft, with_changes
from plans.errors import PlansError
from plans.models import Intake, Plan, Revision
from plans.planfile import read_plan_file
from plans.planfile_write import put_entry, render_entry
from plans.schedule_text import read_schedule, require_future, write_schedule
from plans.services.revisions import add_revision, workspace_root
from plans.soul import read_soul
from plans.store import read_plan_bytes, write_plan_bytes
from plans.wishes import Wish, understand_wish

OVERRIDES = ("name", "objective", "result", "actions", "schedule")


def start_intake(
    wish: str, *, agent_id: str, caller: Caller, zone: str = "", session_key: str = ""
) -> Intake:
    """Keep a wish and draft its answer by the rules.

    The plan will live in the session the wish came from: an agent's own session by its token, else a new dashboard
    session. Raises PlansError `EMPTY_WISH`, `WISH_TOO_LONG`, `NO_WORKSPACE`.
    """
    caller.require_scope(WRITE)
    caller.require_agent(agent_id)
    workspace_root(agent_id)
    zone = zone or default_zone(agent_id)
    # Signs alone are no wish; asked here, so that one kept by an earlier version still opens.
    understood = understand_wish(wish if re.search(r"\w", wish) else "", now=timezone.now(), zone=zone)
    intake = Intake.objects.create(
        agent_id=agent_id,
        session_key=session_key or caller.session_key or f"agent:{agent_id}:dashboard:{uuid.uuid4()}",
        wish=understood.text,
        zone=zone,
        language=understood.language,
        person=caller.user,
        made_by=caller.label[:200],
    )
    events.publish("intake.started", agent_id=agent_id, subject=str(intake.uid), caller=caller)
    return intake


def answer_of(intake: Intake) -> IntakeAnswer:
    """The baseline, the options and `other`, with the answers given so far and the texts written over it."""
    # Read as of the moment it was said: “in 20 minutes” does not move while the person thinks.
    wish = _wish_of(intake)
    soul = read_soul(workspace_root(intake.agent_id))
    answer = draft_intake(
        wish, zone=intake.zone, soul_line=soul.line, chosen=dict(intake.chosen), other=intake.other
    )
    changes = {key: value for key, value in intake.overrides.items() if key in OVERRIDES}
    if "actions" in changes:
        changes["actions"] = tuple(changes["actions"])
    baseline = with_changes(answer.baseline, **changes)
    return IntakeAnswer(
        answer.language, baseline, answer.options, answer.other, answer.notes, intake.drafted_by
    )


def _wish_of(intake: Intake) -> Wish:
    wish = understand_wish(intake.wish, now=intake.created_at, zone=intake.zone)
    return Wish(intake.wish, intake.language, wish.matter, wish.timing, wish.notes)


def answer_intake(
    intake: Intake,
    *,
    caller: Caller,
    chosen: dict[str, str] | None = None,
    other: str | None = None,
    overrides: dict[str, object] | None = None,
) -> Intake:
    """Choose options, add own words, write texts over the baseline; what was agreed before is open again.

    `overrides`: name, objective, result, actions (list of str), schedule (a line as in PLAN.md).
    Raises PlansError `INTAKE_CLOSED`, TimingError.
    """
    caller.require_scope(WRITE)
    caller.require_agent(intake.agent_id)
    _require_unwritten(intake)
    if chosen is not None:
        known = {
            option.key: {choice.key for choice in option.choices} for option in answer_of(intake).options
        }
        kept = {key: value for key, value in chosen.items() if value in known.get(key, set())}
        intake.chosen = {**intake.chosen, **kept}
    if other is not None:
        intake.other = other.strip()[:4000]
    if overrides is not None:
        intake.overrides = _checked_overrides(intake, overrides)
        if caller.is_agent:
            intake.drafted_by = caller.label[:200]
    intake.state, intake.agreed_at = Intake.State.OPEN, None
    intake.save()
    return intake


def _checked_overrides(intake: Intake, overrides: dict[str, object]) -> dict[str, object]:
    merged = dict(intake.overrides)
    for key, value in overrides.items():
        if key not in OVERRIDES:
            raise PlansError(_("A draft has no text “%(key)s”.") % {"key": key}, code="UNKNOWN_TEXT")
        if key == "actions":
            lines = value if isinstance(value, list | tuple) else str(value).split("\n")
            merged[key] = [line.strip() for line in map(str, lines) if line.strip()]
        else:
            merged[key] = str(value).strip()
    if merged.get("schedule"):
        now = timezone.now()
        timing = read_schedule(str(merged["schedule"]), now=now, zone=intake.zone)
        require_future(timing, now=now)
        merged["schedule"] = write_schedule(timing)
    return merged


def agree_ora(intake: Intake, *, caller: Caller) -> Intake:
    """Objective, Result and Action were shown and agreed; only now may the file be written.

    Raises PlansError `ORA_INCOMPLETE`, `INTAKE_CLOSED`, TimingError for a schedule that is past by now.
    """
    caller.require_scope(WRITE)
    caller.require_agent(intake.agent_id)
    _require_unwritten(intake)
    baseline = answer_of(intake).baseline
    if not (baseline.objective.strip() and baseline.result.strip() and baseline.actions):
        raise PlansError(_("Objective, Result and Action must each say something."), code="ORA_INCOMPLETE")
    now = timezone.now()
    require_future(read_schedule(baseline.schedule, now=now, zone=intake.zone), now=now)
    intake.state, intake.agreed_at = Intake.State.AGREED, now
    intake.save(update_fields=["state", "agreed_at"])
    audit.record(caller, "plan.agree_ora", subject=str(intake.uid), agent_id=intake.agent_id)
    return intake


def write_plan(intake: Intake, *, caller: Caller) -> Plan:
    """Write the agreed draft into PLAN.md; the plan then awaits confirmation. No schedule is made.

    The same intake writes once. Raises PlansError `ORA_NOT_AGREED`, `PLAN_CHANGED`, `PLAN_NOT_WRITTEN`,
    and archives' `Blocked` for a session that gives no ARCHIVE_ID.
    """
    caller.require_scope(WRITE)
    caller.require_agent(intake.agent_id)
    if intake.state == Intake.State.WRITTEN and intake.plan is not None:
        return intake.plan
    if intake.state != Intake.State.AGREED:
        message = _("Agree on Objective, Result and Action first; then the plan is written.")
        raise PlansError(message, code="ORA_NOT_AGREED")
    identity = identity_of_session(intake.session_key)
    root = workspace_root(intake.agent_id)
    # The intake's own id is the Task_ID: a second try after a crash finds its own entry.
    task_id = str(intake.uid)
    persona = read_soul(root).persona or intake.agent_id
    draft = to_draft(
        answer_of(intake).baseline, task_id=task_id, archive_id=identity.archive_id, persona=persona
    )
    raw = read_plan_bytes(root, identity.archive_id) or b""
    changed = put_entry(raw, task_id, render_entry(draft))
    seen = read_plan_file(raw).digest if raw else ""
    write_plan_bytes(root, intake.agent_id, identity.archive_id, changed, seen=seen)
    return _keep_plan(intake, identity, task_id, changed, caller)


def _keep_plan(intake: Intake, identity: Identity, task_id: str, raw: bytes, caller: Caller) -> Plan:
    origin = Revision.Origin.AGENT if caller.is_agent else Revision.Origin.INTAKE
    with transaction.atomic():
        plan, _created = Plan.objects.get_or_create(
            agent_id=intake.agent_id,
            archive_id=identity.archive_id,
            task_id=task_id,
            defaults={"session_key": intake.session_key},
        )
        plan = Plan.objects.select_for_update().get(pk=plan.pk)
        file = read_plan_file(raw)
        if plan.current is None or plan.current.file_digest != file.digest:
            add_revision(plan, file, origin=origin, caller=caller)
        intake.state, intake.plan = Intake.State.WRITTEN, plan
        intake.save(update_fields=["state", "plan"])
    audit.record(
        caller,
        "plan.write",
        subject=str(plan.uid),
        agent_id=plan.agent_id,
        digest=plan.current.file_digest if plan.current else "",
    )
    return plan


def drop_intake(intake: Intake, *, caller: Caller) -> Intake:
    """Put a wish away unwritten."""
    caller.require_scope(WRITE)
    caller.require_agent(intake.agent_id)
    _require_unwritten(intake)
    intake.state = Intake.State.DROPPED
    intake.save(update_fields=["state"])
    return intake


def _require_unwritten(intake: Intake) -> None:
    if intake.state in (Intake.State.WRITTEN, Intake.State.DROPPED):
        raise PlansError(_("This wish is already a plan, or was put away."), code="INTAKE_CLOSED")
