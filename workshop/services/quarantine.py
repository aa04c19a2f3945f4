"""The way out of quarantine: a person ends the proposal (spec §5). Methods keep to the contract, where only a
pending proposal moves; so this has no method, and an agent cannot do it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from gateway.callers import WRITE, Caller
from gateway.errors import FORBIDDEN
from workshop import drafts, sentences
from workshop.desks import load_proposal, open_desk, target_lock
from workshop.errors import WorkshopError
from workshop.ledger import GATEWAY, Author, commit
from workshop.models import Event, Proposal
from workshop.names import blank_to_none
from workshop.records import now, with_status
from workshop.services import bound


def reject_quarantined(
    agent_id: str | None,
    proposal_id: str,
    *,
    expected_revision_hash: str,
    reason: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """End a proposal that is locked away, so that it no longer counts against `maxPending`.

    Raises WorkshopError `person-only`, `not-quarantined`, `SKILL_PROPOSAL_REVISION_CHANGED`.
    """
    caller.require_scope(WRITE)
    if caller.is_agent:
        raise WorkshopError(
            _("Only a person takes a proposal out of quarantine."), code="person-only", rpc_code=FORBIDDEN
        )
    desk, author = open_desk(agent_id, caller), Author(caller, door)
    drafts.check_words(reason=reason)
    proposal = load_proposal(desk, proposal_id)
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        if proposal.status != Proposal.Status.QUARANTINED:
            raise sentences.refuse(
                "not-quarantined",
                _("This proposal is not in quarantine; it is %(status)s.")
                % {"status": proposal.get_status_display()},
            )
        bound.require_revision(proposal, expected_revision_hash)
        at, why = now(), blank_to_none(reason)
        # The reason of the quarantine stays in its event; the record's reason is that of the last decision.
        record = {key: value for key, value in proposal.record.items() if key != "statusReason"}
        commit(
            proposal, with_status(record, "rejected", at, why), Event.Type.REJECTED, author, at, reason=why
        )
        return proposal
