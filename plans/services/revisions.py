"""Texts of plans: every text seen becomes one immutable revision, and the plan's state follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from archives.models import Workspace
from archives.queries import default_zone
from gateway import events
from gateway.callers import Caller
from plans.errors import PlansError
from plans.models import ChangeRequest, Confirmation, Plan, Revision, Schedule
from plans.planfile import Entry, PlanFile, read_plan_file
from plans.planfile_check import Problem, find_problems, holds, seal_entry
from plans.planfile_write import put_entry
from plans.sentences import kept
from plans.store import read_plan_bytes, write_plan_bytes

State = Plan.State
CONFIRMED_STATES = (State.ACTIVE, State.PAUSED, State.ENDED)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What stands on the disk for one plan now. `error` says why there is no `file`."""

    file: PlanFile | None
    error: str = ""
    code: str = ""

    def entry(self, task_id: str) -> Entry | None:
        found = self.file.find(task_id) if self.file else []
        return found[0] if len(found) == 1 else None

    def text(self, task_id: str) -> str | None:
        """The entry's text, None where the file or the entry is not there."""
        entry = self.entry(task_id)
        return self.file.text_of(entry) if self.file and entry else None


def workspace_root(agent_id: str) -> Path:
    """The agent's workspace folder. Raises PlansError `NO_WORKSPACE`."""
    workspace = Workspace.objects.filter(agent_id=agent_id).first()
    if workspace is None:
        message = _("No workspace is known for agent “%(agent)s”.") % {"agent": agent_id}
        raise PlansError(message, code="NO_WORKSPACE")
    return workspace.path


def look_at_disk(plan: Plan) -> OnDisk:
    """Read the plan's file now; never raises for what is wrong with it."""
    try:
        # The sentence may be stored: it is made in English and told in the reader's language (`plans.sentences`).
        with override("en"):
            raw = read_plan_bytes(workspace_root(plan.agent_id), plan.archive_id)
    except PlansError as error:
        return OnDisk(None, str(error), error.code)
    if raw is None:
        return OnDisk(None, kept("%(path)s is gone.", path=plan.path), "PLAN_GONE")
    return OnDisk(read_plan_file(raw))


def problems_of(plan: Plan, file: PlanFile, *, now: datetime | None = None) -> list[Problem]:
    """What stands against confirming this plan in that file."""
    return find_problems(
        file,
        plan.task_id,
        archive_id=plan.archive_id,
        now=now or timezone.now(),
        zone=default_zone(plan.agent_id),
    )


def add_revision(
    plan: Plan, file: PlanFile, *, origin: str, caller: Caller, at: datetime | None = None
) -> Revision:
    """Keep the present text as the plan's next revision (of the moment `at`) and make it current.

    Call inside a transaction that holds the plan's row. The plan's new state is the caller's to set before, because an
    active plan may not have an unconfirmed current text.
    """
    found = file.find(plan.task_id)
    entry = found[0] if found else None
    seal = seal_entry(file, entry) if entry else None
    number = plan.revisions.aggregate(top=Max("number"))["top"] or 0
    revision = Revision.objects.create(
        plan=plan,
        number=number + 1,
        content=file.raw,
        text=file.text_of(entry).replace("\x00", "\ufffd") if entry else "",
        first_line=entry.line if entry else 1,
        file_digest=file.digest,
        entry_digest=seal.entry if seal else "",
        body_digest=seal.body if seal else "",
        preamble_digest=seal.preamble if seal else "",
        is_last=seal.last if seal else True,
        origin=origin,
        made_by=caller.label[:200],
        request_id=caller.request_id,
        created_at=at or timezone.now(),
    )
    plan.current = revision
    plan.name = (entry.name if entry else plan.name)[:200].replace("\x00", "")
    plan.save(update_fields=["current", "name", "state", "state_reason", "state_at"])
    ChangeRequest.objects.filter(plan=plan, answered_by=None).update(answered_by=revision)
    events.publish(
        "plan.revised",
        agent_id=plan.agent_id,
        subject=str(plan.uid),
        data={"number": revision.number, "origin": origin, "digest": file.digest, "state": plan.state},
        caller=caller,
    )
    return revision


def move_plan(plan: Plan, state: str, reason: str = "") -> None:
    """Set the state in memory, with its moment; `add_revision` or the caller saves it."""
    if plan.state != state or plan.state_reason != reason:
        plan.state, plan.state_reason, plan.state_at = state, reason, timezone.now()


def pause_schedule(plan: Plan) -> None:
    """No further due time until the plan is confirmed or resumed."""
    Schedule.objects.filter(plan=plan).update(next_due_at=None)


def lock_plan(plan: Plan) -> Plan:
    """The plan's row as it is now, locked (inside a transaction)."""
    return Plan.objects.select_for_update().get(pk=plan.pk)


def follow_file(plan: Plan, *, caller: Caller, seen: OnDisk | None = None) -> Plan:
    """Bring the plan in step with the disk: a text that differs becomes a revision, and what was confirmed is held.

    Returns the plan as it then stands. A file that is gone or cannot be read is no new text; it holds the plan.
    """
    seen = seen or look_at_disk(plan)
    with transaction.atomic():
        plan = lock_plan(plan)
        if plan.state == State.RETIRED:
            return plan
        if seen.file is None:
            if plan.state in CONFIRMED_STATES:
                hold_plan(plan, seen.error, code=seen.code, caller=caller)
            return plan
        current = plan.current
        if current is not None and (
            holds(current.seal, seen.file, plan.task_id) or current.file_digest == seen.file.digest
        ):
            return plan
        if plan.state in CONFIRMED_STATES or plan.state == State.HELD:
            _set_held(plan, kept("PLAN.md changed after it was confirmed."))
        else:
            move_plan(plan, State.AWAITING)
        add_revision(plan, seen.file, origin=Revision.Origin.DISK, caller=caller)
    return plan


def hold_plan(plan: Plan, reason: str, *, code: str, caller: Caller) -> None:
    """Stop a plan until a person has decided, and tell people. Inside a transaction that holds the row."""
    if plan.state == State.HELD and plan.state_reason == reason:
        return
    _set_held(plan, reason)
    plan.save(update_fields=["state", "state_reason", "state_at"])
    events.publish(
        "plan.held",
        agent_id=plan.agent_id,
        subject=str(plan.uid),
        data={"reason": reason, "code": code},
        caller=caller,
    )


def _set_held(plan: Plan, reason: str) -> None:
    # The due time stays: at it the tick records a run as held, and only then is the schedule quiet.
    move_plan(plan, State.HELD, reason)


def write_entry(plan: Plan, text: str, *, origin: str, caller: Caller, seen: str | None = None) -> Revision:
    """Write one entry's text into PLAN.md, then keep it as a revision awaiting confirmation; its schedule pauses.

    `seen` is the SHA-256 of the file that the writer saw: where it has changed since, PlansError `PLAN_CHANGED`
    and nothing is written. Other entries keep every byte.
    """
    caller.require_agent(plan.agent_id)
    if plan.state == State.RETIRED:
        raise PlansError(_("This plan is retired."), code="RETIRED")
    root = workspace_root(plan.agent_id)
    raw = read_plan_bytes(root, plan.archive_id) or b""
    present = read_plan_file(raw).digest if raw else ""
    # Where the file is gone there are no words of anybody's to lose: it is written anew.
    if seen is not None and raw and seen != present:
        message = _("PLAN.md has changed since this page was opened; your words are kept below.")
        raise PlansError(message, code="PLAN_CHANGED", details={"seen": seen, "present": present})
    changed = put_entry(raw, plan.task_id, text)
    # Between this write and the row below a due run may start: it compares the bytes first, and is held.
    write_plan_bytes(root, plan.agent_id, plan.archive_id, changed, seen=present)
    file = read_plan_file(changed)
    with transaction.atomic():
        plan = lock_plan(plan)
        move_plan(plan, State.AWAITING)
        pause_schedule(plan)
        known = plan.current is not None and plan.current.file_digest == file.digest
        # A confirmed text that was put back needs a yes of its own, and so a revision of its own.
        if known and not Confirmation.objects.filter(revision=plan.current_id).exists():
            plan.save(update_fields=["state", "state_reason", "state_at"])
            return plan.current  # type: ignore[return-value]
        return add_revision(plan, file, origin=origin, caller=caller)
