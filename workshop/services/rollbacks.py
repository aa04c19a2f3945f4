"""Take an applied proposal back, while the live files are still what its apply wrote."""

from __future__ import annotations

from django.utils.translation import gettext as _

from gateway import faults
from gateway.callers import Caller
from workshop import drafts, sentences
from workshop.desks import load_proposal, open_desk, target_lock
from workshop.ledger import GATEWAY, Author, refusals_recorded
from workshop.models import Event, Proposal, Rollback
from workshop.names import blank_to_none
from workshop.services import livefiles, recovery
from workshop.services.decisions import require_may_decide


def roll_back_proposal(
    agent_id: str | None,
    proposal_id: str,
    *,
    reason: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """Restore the skill as it was before the apply: byte for byte, modes included; a skill that the apply made
    is removed again, and so are the folders it made where nothing else is in them.

    The proposal stays `applied`; a `rolled_back` event says the rest. Raises WorkshopError `not-applied`,
    `no-rollback`, `rolled-back-already`, `live-changed`.
    """
    with refusals_recorded(caller, Event.Type.ROLLED_BACK, proposal_id):
        return _roll_back(agent_id, proposal_id, reason, Author(caller, door))


def _roll_back(agent_id: str | None, proposal_id: str, reason: str | None, author: Author) -> Proposal:
    desk = open_desk(agent_id, author.caller)
    drafts.check_words(reason=reason)
    require_may_decide(desk, author.caller)
    proposal = load_proposal(desk, proposal_id)
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        if recovery.settle_quietly(desk, proposal) == "reverted":
            return proposal
        rollback = _usable(proposal)
        files = list(rollback.files.all())
        if livefiles.compare(desk, proposal, files) != livefiles.WRITTEN:
            raise sentences.refuse(
                "live-changed",
                _(
                    "%(path)s or a file beside it is no longer what this proposal wrote. Propose an update instead."
                )
                % {"path": desk.skill_path(proposal)},
            )
        taken = Rollback.objects.filter(pk=rollback.pk, state=Rollback.State.APPLIED).update(
            state=Rollback.State.REVERTING
        )
        if not taken:
            raise sentences.overtaken(proposal)
        faults.reached("rollback.intended")
        livefiles.restore(desk, proposal, rollback, files)
        faults.reached("rollback.before-commit")
        recovery.finish_revert(proposal, rollback, author, blank_to_none(reason))
        faults.reached("rollback.committed")
        return proposal


def _usable(proposal: Proposal) -> Rollback:
    if proposal.status != Proposal.Status.APPLIED:
        raise sentences.refuse("not-applied", _("Only an applied proposal can be rolled back."))
    rollback = Rollback.objects.filter(pk=proposal.pk).first()
    if rollback is None:
        raise sentences.refuse("no-rollback", _("Nothing was kept to roll this proposal back with."))
    if rollback.state == Rollback.State.REVERTED:
        raise sentences.refuse("rolled-back-already", _("This proposal was rolled back already."))
    if rollback.state != Rollback.State.APPLIED:
        raise sentences.recovery_needed(rollback.target_skill_file)
    return rollback
