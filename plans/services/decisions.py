"""What people decide about a plan: confirm, ask for changes, edit, choose another schedule.

Source: `spec/plans.md` §1 (confirmed), `seeds/schedule-plan.txt` 【先确认 PLAN，再创建定时任务】.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from archives.queries import default_zone
from gateway import audit, events
from gateway.callers import WRITE, Caller
from gateway.deliveries import DeliveryError, attempt_delivery, queue_message
from gateway.errors import FORBIDDEN
from gateway.models import User
from plans.errors import PlansError
from plans.models import ChangeRequest, Confirmation, Plan, Revision, Schedule
from plans.planfile import PlanFile
from plans.planfile_check import entry_timing, holds
from plans.planfile_write import set_field, task_message
from plans.schedule_text import make_timing, require_future, write_schedule
from plans.sentences import tell
from plans.services.alarm import wake_clock
from plans.services.revisions import (
    State,
    follow_file,
    lock_plan,
    look_at_disk,
    move_plan,
    problems_of,
    write_entry,
)


def confirm_plan(plan: Plan, *, digest: str, caller: Caller, now: datetime | None = None) -> Confirmation:
    """A person's yes to the text whose file had this SHA-256; only then does the schedule exist.

    Raises PlansError: `PEOPLE_ONLY`, `MISSING_SCOPE`, `NOT_AWAITING`, `PLAN_CHANGED` (details carry both digests),
    `SAME_REQUEST`, `HAS_PROBLEMS` (details.problems with lines), `PLAN_GONE`/`PLAN_UNREADABLE`. Every refusal is in
    the audit trail.
    """
    try:
        require_person(caller, plan)
        seen = look_at_disk(plan)
        if seen.file is None:
            raise PlansError(tell(seen.error), code=seen.code)
        follow_file(plan, caller=caller, seen=seen)
        confirmation = _confirm(plan, digest, seen.file, caller, now or timezone.now())
    except PlansError as error:
        audit.record(
            caller,
            "plan.confirm",
            subject=str(plan.uid),
            outcome="refused",
            agent_id=plan.agent_id,
            digest=digest[:64],
            reason=f"{error.code}: {error.message}",
        )
        raise
    wake_clock(confirmation.schedule.next_due_at)
    audit.record(
        caller,
        "plan.confirm",
        subject=str(plan.uid),
        agent_id=plan.agent_id,
        digest=digest,
        detail={
            "revision": confirmation.revision.number,
            "schedule": write_schedule(confirmation.schedule.timing),
        },
    )
    return confirmation


def require_person(caller: Caller, plan: Plan) -> None:
    """Deciding is for signed-in people with the right; an agent's token never has it, whatever its scopes."""
    if not caller.is_person or caller.user is None or caller.is_agent or not caller.user.is_active:
        message = _("Only a signed-in person can confirm a plan.")
        raise PlansError(message, code="PEOPLE_ONLY", rpc_code=FORBIDDEN, details={"code": "PEOPLE_ONLY"})
    if not caller.may(WRITE):
        message = _("Confirming needs the role reviewer.")
        raise PlansError(message, code="MISSING_SCOPE", rpc_code=FORBIDDEN, details={"code": "MISSING_SCOPE"})
    caller.require_agent(plan.agent_id)


def _confirm(plan: Plan, digest: str, file: PlanFile, caller: Caller, now: datetime) -> Confirmation:
    with transaction.atomic():
        plan = lock_plan(plan)
        revision = plan.current
        _require_open(plan, revision)
        if revision is None or digest != revision.file_digest or not holds(revision.seal, file, plan.task_id):
            present = revision.file_digest if revision else ""
            raise PlansError(
                _("The plan changed since this page was opened. Look at the difference, then confirm again."),
                code="PLAN_CHANGED",
                details={"seen": digest, "present": present},
            )
        if (revision.request_id and revision.request_id == caller.request_id) or revision.created_at >= now:
            message = _("A text cannot be confirmed by the same request that wrote it.")
            raise PlansError(message, code="SAME_REQUEST")
        if problems := problems_of(plan, file, now=now):
            raise PlansError(
                _("Line %(line)d: %(text)s") % {"line": problems[0].line, "text": problems[0].text},
                code="HAS_PROBLEMS",
                details={"problems": [problem.as_dict() for problem in problems]},
            )
        confirmation = Confirmation.objects.create(
            plan=plan,
            revision=revision,
            digest=revision.file_digest,
            person=_person(caller),
            address=caller.address,
            request_id=caller.request_id,
            confirmed_at=now,
        )
        _create_schedule(plan, confirmation, file, now)
        move_plan(plan, State.ACTIVE)
        plan.failures = 0
        plan.save(update_fields=["state", "state_reason", "state_at", "failures"])
        events.publish(
            "plan.confirmed",
            agent_id=plan.agent_id,
            subject=str(plan.uid),
            data={"number": revision.number, "digest": revision.file_digest},
            caller=caller,
        )
    return confirmation


def _person(caller: Caller) -> User:
    if caller.user is None:
        raise PlansError(_("Only a signed-in person can confirm a plan."), code="PEOPLE_ONLY")
    return caller.user


def _require_open(plan: Plan, revision: Revision | None) -> None:
    if plan.state == State.RETIRED:
        raise PlansError(_("This plan is retired."), code="NOT_AWAITING")
    if revision is not None and Confirmation.objects.filter(revision=revision).exists():
        raise PlansError(_("This text is already confirmed."), code="ALREADY_CONFIRMED")


def _create_schedule(plan: Plan, confirmation: Confirmation, file: PlanFile, now: datetime) -> Schedule:
    """The schedule that the confirmed text itself spells: there is no other source for one."""
    entry = file.find(plan.task_id)[0]
    timing = entry_timing(entry, now=now, zone=default_zone(plan.agent_id)).anchored(now)
    schedule, _created = Schedule.objects.update_or_create(
        plan=plan,
        defaults={
            "confirmation": confirmation,
            "kind": timing.kind,
            "zone": timing.zone,
            "at": timing.at,
            "every": timing.every,
            "anchor": timing.anchor,
            "expr": timing.expr,
            "message": task_message(plan.archive_id, plan.task_id, entry.value("Message")),
            "next_due_at": require_future(timing, now=now),
        },
    )
    return schedule


def request_changes(
    plan: Plan, *, text: str, caller: Caller, comments: Sequence[dict[str, object]] = ()
) -> ChangeRequest:
    """A person's words about the current text, sent to the plan's session through the delivery ledger.

    `comments` are `{"line": int, "text": str}`, lines of the file. Without a session to send to, the words are kept
    and the request says why they were not sent. Raises PlansError `EMPTY_REQUEST`, `RETIRED`.
    """
    caller.require_scope(WRITE)
    caller.require_agent(plan.agent_id)
    text = text.strip()
    kept = [
        {"line": int(str(item["line"])), "text": str(item["text"]).strip()}
        for item in comments
        if str(item.get("text", "")).strip()
    ]
    if not text and not kept:
        raise PlansError(_("Say what should change."), code="EMPTY_REQUEST")
    with transaction.atomic():
        plan = lock_plan(plan)
        if plan.state == State.RETIRED or plan.current is None:
            raise PlansError(_("This plan is retired."), code="RETIRED")
        request = ChangeRequest.objects.create(
            plan=plan,
            revision=plan.current,
            text=text,
            comments=kept,
            person=caller.user,
            made_by=caller.label[:200],
        )
        if plan.state in (State.AWAITING, State.HELD, State.CHANGES):
            move_plan(plan, State.CHANGES)
            plan.save(update_fields=["state", "state_reason", "state_at"])
    _send(request, plan, caller)
    audit.record(
        caller,
        "plan.request_changes",
        subject=str(plan.uid),
        agent_id=plan.agent_id,
        digest=plan.current.file_digest,
        reason=text,
    )
    return request


def _send(request: ChangeRequest, plan: Plan, caller: Caller) -> None:
    try:
        delivery = queue_message(
            agent_id=plan.agent_id,
            session_key=plan.session_key,
            text=_request_text(request, plan),
            purpose="revision_request",
            dedupe_key=f"plan-request:{plan.uid}:{request.pk}",
            subject=f"plan:{plan.uid}",
            caller=caller,
        )
    except DeliveryError as error:
        request.delivery_error = error.message
        request.save(update_fields=["delivery_error"])
        return
    request.delivery = attempt_delivery(delivery, caller=caller)
    request.save(update_fields=["delivery"])


def _request_text(request: ChangeRequest, plan: Plan) -> str:
    """What the agent reads; it asks for a new text and forbids a schedule."""
    lines = [
        _(
            "Please revise the plan with Task_ID %(task)s in %(path)s (revision %(number)d). It is not confirmed."
        )
        % {"task": plan.task_id, "path": plan.path, "number": request.revision.number}
    ]
    if request.text:
        lines += ["", request.text]
    if request.comments:
        lines.append("")
        lines += [_("Line %(line)s: %(text)s") % item for item in request.comments]
    lines += [
        "",
        _("Change only this entry, follow the archive protocol, and do not create any scheduled task."),
    ]
    return "\n".join(lines)


def edit_plan(plan: Plan, *, text: str, seen: str, caller: Caller) -> Revision:
    """A person's (or an agent's) new text for the entry; it awaits confirmation and the old schedule pauses.

    `seen` is the SHA-256 of the file the writer saw. Raises PlansError `PLAN_CHANGED`, `NOT_ONE_ENTRY`, `SAME_TEXT`.
    """
    caller.require_scope(WRITE)
    entry = look_at_disk(plan).text(plan.task_id)
    if entry is not None and text.replace("\r\n", "\n").rstrip() == entry.replace("\r\n", "\n").rstrip():
        raise PlansError(_("The text is the same as before."), code="SAME_TEXT")
    origin = Revision.Origin.EDIT if caller.is_person else Revision.Origin.AGENT
    revision = write_entry(plan, text, origin=origin, caller=caller, seen=seen)
    audit.record(
        caller, "plan.edit", subject=str(plan.uid), agent_id=plan.agent_id, digest=revision.file_digest
    )
    return revision


def set_schedule(plan: Plan, *, kind: str, value: str, zone: str, seen: str, caller: Caller) -> Revision:
    """Another rhythm: PLAN.md's line Schedule is changed, nothing else, and the plan awaits confirmation.

    There is no call that changes a schedule and not the file. Raises TimingError, PlansError `PLAN_CHANGED`.
    """
    now = timezone.now()
    timing = make_timing(kind, value, zone=zone, now=now)
    require_future(timing, now=now)
    if plan.current is None or not plan.current.text:
        raise PlansError(_("The plan has no text to put a schedule into."), code="NO_TEXT")
    text = set_field(plan.current.text, "Schedule", write_schedule(timing))
    return edit_plan(plan, text=text, seen=seen, caller=caller)
