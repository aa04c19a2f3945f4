"""What a cut-off apply or roll back left behind: finished or undone by whoever looks next (contract §2.6).

A rollback record in state `open` says: an apply was about to write these files. Each of them is now as it was
before, as it should become, or something else. All as they should become: the apply is finished. Only the first
two: it is undone. Anything else: nothing is touched, and a person decides.
"""

from __future__ import annotations

from typing import Literal

from django.db import transaction
from django.utils.translation import gettext as _

from gateway.callers import WRITE, Caller, system_caller
from openclaw_web.prepared import Prepared
from workshop import locks, sentences, targets
from workshop.desks import Desk, load_proposal, open_desk, target_lock
from workshop.errors import FileProblem
from workshop.ledger import GATEWAY, Author, append_event, audit_made, commit, save_record
from workshop.models import Event, Proposal, Rollback
from workshop.models.rollbacks import RollbackFile
from workshop.records import now, with_status
from workshop.services import bound, livefiles

Outcome = Literal["nothing", "finished", "undone", "reverted", "stuck", "busy"]
_UNFINISHED = Prepared(lambda pk: Rollback.objects.unfinished().filter(pk=pk), 1)
SYSTEM = Author(system_caller("workshop recovery"))


def is_unfinished(proposal: Proposal) -> bool:
    """Whether an apply or roll back of it was begun and not settled since."""
    return _UNFINISHED.first_row(proposal.pk) is not None


def settle(desk: Desk, proposal: Proposal) -> Outcome:
    """Settle one proposal's unfinished apply or roll back, if nobody is at it right now.

    Takes the target's lock without waiting; `busy` means that its holder is still working.
    """
    if not is_unfinished(proposal):
        return "nothing"
    try:
        with locks.hold(desk.state, locks.lock_name(desk.id, proposal.target_dir), wait=0):
            return settle_quietly(desk, proposal)
    except locks.LockBusy:
        return "busy"


def settle_quietly(desk: Desk, proposal: Proposal) -> Outcome:
    """The same under the caller's lock; `proposal` is brought up to date. Raises nothing for `stuck`."""
    rollback = _UNFINISHED.first(proposal.pk)
    if rollback is None:
        return "nothing"
    files = list(rollback.files.all())
    state = livefiles.compare(desk, proposal, files)
    if state == livefiles.FOREIGN:
        return "stuck"
    if rollback.state == Rollback.State.REVERTING:
        livefiles.restore(desk, proposal, rollback, files)
        finish_revert(proposal, rollback, SYSTEM)
        return "reverted"
    proposal.refresh_from_db()
    if not proposal.is_pending:
        Rollback.objects.filter(pk=proposal.pk).update(state=Rollback.State.APPLIED)
        return "nothing"
    if state == livefiles.WRITTEN:
        _finish(desk, proposal, rollback, [file.path for file in files])
        return "finished"
    livefiles.restore(desk, proposal, rollback, files)
    rollback.delete()
    return "undone"


def _finish(desk: Desk, proposal: Proposal, rollback: Rollback, paths: list[str]) -> None:
    livefiles.sweep_temporaries(desk, proposal, paths)
    at = now()
    with transaction.atomic():
        save_record(proposal, with_status(proposal.record, "applied", at, None))
        Rollback.objects.filter(pk=rollback.pk).update(state=Rollback.State.APPLIED)
        append_event(proposal, Event.Type.APPLIED, SYSTEM, at, payload={"recovered": True})
        audit_made(proposal, Event.Type.APPLIED, SYSTEM, "recovered")


def finish_revert(proposal: Proposal, rollback: Rollback, author: Author, reason: str | None = None) -> None:
    """Commit that the earlier skill stands again."""
    at = now()
    with transaction.atomic():
        changed = Rollback.objects.filter(pk=rollback.pk, state=Rollback.State.REVERTING).update(
            state=Rollback.State.REVERTED, reverted_at=at
        )
        if changed:
            payload = {"targetSkillFile": rollback.target_skill_file, "kind": rollback.action}
            append_event(proposal, Event.Type.ROLLED_BACK, author, at, payload=payload, reason=reason)
            audit_made(proposal, Event.Type.ROLLED_BACK, author, reason)


def settle_for(agent_id: str | None, proposal_id: str, *, caller: Caller) -> Outcome:
    """`settle` for a person who asks for it. Raises WorkshopError when a person has to decide."""
    caller.require_scope(WRITE)
    desk = open_desk(agent_id, caller)
    proposal = load_proposal(desk, proposal_id)
    outcome = settle(desk, proposal)
    if outcome == "stuck":
        raise sentences.recovery_needed(desk.skill_path(proposal))
    return outcome


def settle_all(desk: Desk) -> dict[str, Outcome]:
    """Every unfinished apply or roll back of one agent; the outcome by proposal id."""
    open_ones = Proposal.objects.of_agent(desk.id).filter(
        rollback__state__in=(Rollback.State.OPEN, Rollback.State.REVERTING)
    )
    return {proposal.pk: settle(desk, proposal) for proposal in open_ones}


def reconcile(desk: Desk, proposal: Proposal) -> Proposal:
    """What list and inspect do to a pending proposal (contract §2.1, §2.6): recovery, then a pending create
    whose target appeared becomes stale. Raises FileProblem when the target leads outside."""
    if not proposal.is_pending:
        return proposal
    outcome = settle(desk, proposal)
    if outcome in ("stuck", "busy") or not proposal.is_pending or proposal.kind != Proposal.Kind.CREATE:
        return proposal
    if bound.target_state(desk, proposal) == bound.APPEARED:
        with target_lock(desk, proposal.target_dir):
            fresh = load_proposal(desk, proposal.pk)
            if fresh.is_pending and bound.target_state(desk, fresh) == bound.APPEARED:
                if settle_quietly(desk, fresh) == "nothing":
                    bound.become_stale(fresh, bound.APPEARED, SYSTEM)
        return fresh
    return proposal


def decide_recovery(
    agent_id: str | None,
    proposal_id: str,
    *,
    keep: Literal["live", "earlier"],
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """A person settles what recovery could not: `live` keeps the files as they stand (the proposal becomes
    stale), `earlier` puts the skill back as it was before the apply (the proposal stays pending)."""
    caller.require_scope(WRITE)
    desk, author = open_desk(agent_id, caller), Author(caller, door)
    proposal = load_proposal(desk, proposal_id)
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        rollback = Rollback.objects.unfinished().filter(pk=proposal.pk).first()
        if rollback is None:
            raise sentences.refuse("nothing-to-recover", _("Nothing is unfinished here any more."))
        if keep == "earlier":
            return _put_back(desk, proposal, rollback, author)
        if proposal.is_pending:
            at, reason = now(), _("An apply was cut off; a person kept the files as they stood.")
            with transaction.atomic():
                commit(
                    proposal,
                    with_status(proposal.record, "stale", at, reason),
                    Event.Type.STALE,
                    author,
                    at,
                    reason=reason,
                )
                rollback.delete()
        else:
            Rollback.objects.filter(pk=rollback.pk).update(state=Rollback.State.APPLIED)
        return proposal


def _put_back(desk: Desk, proposal: Proposal, rollback: Rollback, author: Author) -> Proposal:
    files: list[RollbackFile] = list(rollback.files.all())
    try:
        targets.require_inside(desk.root, targets.skill_file(proposal.target_dir))
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    livefiles.restore(desk, proposal, rollback, files)
    if rollback.state == Rollback.State.REVERTING:
        finish_revert(proposal, rollback, author)
        return proposal
    with transaction.atomic():
        rollback.delete()
        audit_made(proposal, "recovered", author, "earlier")
    return proposal
