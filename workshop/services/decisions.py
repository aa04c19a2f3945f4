"""Apply, reject, quarantine (contract §2.6, §2.7)."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from gateway import faults
from gateway.callers import WRITE, Caller
from gateway.errors import FORBIDDEN
from workshop import bundle, drafts, review, sentences, targets
from workshop.config import PENDING
from workshop.desks import Desk, load_proposal, open_desk, target_lock
from workshop.errors import FileProblem, WorkshopError
from workshop.ledger import GATEWAY, Author, append_event, audit_made, commit, refusals_recorded, save_record
from workshop.models import Event, Generation, Proposal, Rollback
from workshop.names import blank_to_none, iso, trim
from workshop.records import now, with_status
from workshop.services import bound, evaluations, livefiles, publishing, recovery
from workshop.store import Bundle


def require_may_decide(desk: Desk, caller: Caller) -> None:
    """Agents decide only where the approval policy lets them (`approval-pending`)."""
    caller.require_scope(WRITE)
    if caller.is_agent and desk.rules.approval_policy == PENDING:
        raise WorkshopError(
            _("A person decides about this agent's proposals; it waits on the review page."),
            code="approval-pending",
            rpc_code=FORBIDDEN,
            details={"code": "APPROVAL_PENDING"},
        )


def _require_second_person(desk: Desk, proposal: Proposal, author: Author) -> None:
    if not desk.rules.two_person:
        return
    mine = Q(person=author.label)
    if author.caller.user is not None:
        mine |= Q(user=author.caller.user)
    if Generation.objects.filter(mine, proposal=proposal).exists():
        raise sentences.refuse(
            "second-person",
            _("You wrote or revised this proposal; for this agent somebody else has to apply it."),
        )


def apply_proposal(
    agent_id: str | None,
    proposal_id: str,
    *,
    expected_revision_hash: str,
    correlation_id: str | None = None,
    reason: str | None = None,
    acknowledged: bool = False,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """Write the proposed skill live.

    An evaluation is always stored first, even if the apply then fails. `acknowledged` is a person's second yes
    to what `review.risks` found (`needs-acknowledgement` without it). Raises WorkshopError; a critical finding
    quarantines, a changed target makes stale, everything else leaves the proposal pending.
    """
    with refusals_recorded(caller, Event.Type.APPLIED, proposal_id):
        return _checked_apply(
            agent_id,
            proposal_id,
            expected_revision_hash,
            correlation_id,
            reason,
            acknowledged,
            Author(caller, door),
        )


def _checked_apply(
    agent_id: str | None,
    proposal_id: str,
    expected_revision_hash: str,
    correlation_id: str | None,
    reason: str | None,
    acknowledged: bool,
    author: Author,
) -> Proposal:
    desk = open_desk(agent_id, author.caller)
    require_may_decide(desk, author.caller)
    drafts.check_words(reason=reason, correlation_id=correlation_id)
    proposal = load_proposal(desk, proposal_id)
    publishing.sweep(desk)
    if recovery.settle(desk, proposal) == "finished":
        return proposal
    bound.require_pending(proposal, _("Applying"))
    bound.require_revision(proposal, expected_revision_hash)
    bound.require_moved(proposal)
    stored = bound.load_bundle(desk, proposal)
    _require_second_person(desk, proposal, author)
    review.require_no_masks(desk, proposal, stored)
    if not acknowledged:
        review.require_no_risks(desk, proposal, stored)
    verdict = evaluations.judge(desk, proposal, stored)
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        if recovery.settle_quietly(desk, proposal) == "finished":
            return proposal
        bound.require_pending(proposal, _("Applying"))
        bound.require_revision(proposal, verdict.revision_hash)
        evaluation = evaluations.keep(proposal, verdict, evaluations.APPLY, author, correlation_id)
        evaluations.require_not_blocked(evaluation)
        if evaluations.has_drifted(desk, proposal, verdict):
            raise sentences.refuse(
                "evaluation-drifted", _("The live skill changed while it was evaluated. Apply again.")
            )
        return _apply(desk, proposal, author, trim(correlation_id or "") or None, blank_to_none(reason))


def _apply(
    desk: Desk, proposal: Proposal, author: Author, correlation_id: str | None, reason: str | None
) -> Proposal:
    stored = bound.load_bundle(desk, proposal)
    problem = bundle.draft_problem(stored.text)
    if problem:
        raise sentences.draft_problem(problem)
    scan = drafts.scan_of(stored.text, stored.support)
    if scan["critical"]:
        _quarantine_for_findings(proposal, scan, author, correlation_id)
        raise sentences.refuse(
            "critical-finding",
            _("The scan found something critical; the proposal is in quarantine now. See its checks."),
        )
    _require_target(desk, proposal, stored, author)
    files = livefiles.plan(desk, proposal, stored)
    faults.reached("apply.checked")
    try:
        review.require_no_merge(desk, [path for path, _data in files])
        rollback = livefiles.write_rollback(desk, proposal, files)
        faults.reached("apply.rollback-written")
        livefiles.write(desk, proposal, files)
    except FileProblem as error:
        _undo_failed(desk, proposal)
        raise sentences.file_problem(error, what="live") from error
    faults.reached("apply.before-commit")
    at = now()
    record = with_status(proposal.record | {"scan": scan}, "applied", at, reason)
    with transaction.atomic():
        save_record(proposal, record)
        Rollback.objects.filter(pk=rollback.pk).update(state=Rollback.State.APPLIED)
        append_event(
            proposal,
            Event.Type.APPLIED,
            author,
            at,
            correlation_id=correlation_id,
            payload={"targetSkillFile": rollback.target_skill_file},
            reason=reason,
        )
        audit_made(proposal, Event.Type.APPLIED, author, reason)
    faults.reached("apply.committed")
    return proposal


def _undo_failed(desk: Desk, proposal: Proposal) -> None:
    """A write failed half-way (a link, a full disk): put back what was written, stay pending."""
    rollback = Rollback.objects.unfinished().filter(pk=proposal.pk).first()
    if rollback is not None:
        try:
            livefiles.restore(desk, proposal, rollback, list(rollback.files.all()))
        except WorkshopError:
            return  # the record stays open, and recovery goes on from it
        rollback.delete()


def _require_target(desk: Desk, proposal: Proposal, stored: Bundle, author: Author) -> None:
    file = desk.skill_path(proposal)
    try:
        state = bound.target_state(desk, proposal)
        if recovery.is_unfinished(proposal):
            raise sentences.recovery_needed(file)
        if state == bound.APPEARED:
            raise sentences.target_exists(file)
        if state == bound.MISSING:
            raise sentences.target_missing(file)
        if state is not None:
            bound.become_stale(proposal, state, author)
            raise bound.stale_error(desk, proposal)
        for item in stored.support:
            rel = f"{proposal.target_dir}/{item.path}"
            targets.require_inside(desk.root, rel)
            if proposal.kind == Proposal.Kind.CREATE and targets.exists(desk.root, rel):
                raise sentences.target_exists(f"{desk.root}/{rel}")
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem


def _quarantine_for_findings(
    proposal: Proposal, scan: dict[str, Any], author: Author, correlation_id: str | None
) -> None:
    at, reason = now(), _("The scan at apply found something critical.")
    record = with_status(
        proposal.record | {"scan": scan | {"state": "quarantined"}}, "quarantined", at, reason
    )
    commit(proposal, record, Event.Type.QUARANTINED, author, at, correlation_id=correlation_id, reason=reason)


def reject_proposal(
    agent_id: str | None,
    proposal_id: str,
    *,
    expected_revision_hash: str,
    correlation_id: str | None = None,
    reason: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """End a pending proposal. Works without a readable draft; refuses while a cut-off apply is unsettled."""
    with refusals_recorded(caller, Event.Type.REJECTED, proposal_id):
        author, action = Author(caller, door), _("Rejecting")
        return _close(
            agent_id, proposal_id, "rejected", action, expected_revision_hash, correlation_id, reason, author
        )


def quarantine_proposal(
    agent_id: str | None,
    proposal_id: str,
    *,
    expected_revision_hash: str | None = None,
    correlation_id: str | None = None,
    reason: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """Lock a pending proposal away. It goes on counting against `maxPending`."""
    with refusals_recorded(caller, Event.Type.QUARANTINED, proposal_id):
        author, action = Author(caller, door), _("Quarantining")
        return _close(
            agent_id,
            proposal_id,
            "quarantined",
            action,
            expected_revision_hash,
            correlation_id,
            reason,
            author,
        )


def _close(
    agent_id: str | None,
    proposal_id: str,
    status: str,
    action: str,
    expected: str | None,
    correlation_id: str | None,
    reason: str | None,
    author: Author,
) -> Proposal:
    desk = open_desk(agent_id, author.caller)
    require_may_decide(desk, author.caller)
    drafts.check_words(reason=reason, correlation_id=correlation_id)
    proposal = load_proposal(desk, proposal_id)
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        bound.require_pending(proposal, action)
        bound.require_revision(proposal, expected)
        if recovery.settle_quietly(desk, proposal) == "stuck":
            raise sentences.recovery_needed(desk.skill_path(proposal))
        bound.require_pending(proposal, action)
        at, why = now(), blank_to_none(reason)
        record = proposal.record
        if status == "quarantined":
            record["scan"]["state"] = "quarantined"
        commit(
            proposal,
            with_status(record | {"updatedAt": iso(at)}, status, at, why),
            Event.Type(status),
            author,
            at,
            correlation_id=trim(correlation_id or "") or None,
            reason=why,
        )
        return proposal
