"""`skills.*` in the contract's shapes (§2): parameters, scopes, order of checks, answers."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.registry import ADMIN, READ, method
from workshop import records, sentences
from workshop.desks import open_desk
from workshop.models import Proposal
from workshop.queries import wire
from workshop.rpc_params import (
    AgentParams,
    CreateParams,
    DecideParams,
    EvaluateParams,
    EventsParams,
    HistoryScanParams,
    NoParams,
    ProposalParams,
    QuarantineParams,
    ReadParams,
    RequestRevisionParams,
    ReviseParams,
    SkillParams,
    UpdateParams,
    UsageParams,
)
from workshop.services import decisions, evaluations, proposals, requests, revisions, usage

LIVE_INVENTORY = "skill-curator-live-inventory"


@method("skills.proposals.list", params=AgentParams, scope=READ)
def list_proposals(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """The proposals and live Workshop skills of an agent."""
    return wire.manifest(open_desk(params.agent_id, caller))


@method("skills.proposals.inspect", params=ProposalParams, scope=READ)
def inspect(params: ProposalParams, caller: Caller) -> dict[str, Any]:
    """One proposal with its draft and support files."""
    return wire.inspect(open_desk(params.agent_id, caller), params.proposal_id)


@method("skills.workshop.read", params=ReadParams, scope=READ)
def read_skill(params: ReadParams, caller: Caller) -> dict[str, Any]:
    """A live Workshop skill's whole text."""
    return wire.read_skill(open_desk(params.agent_id, caller), params.name)


@method("skills.proposals.create", params=CreateParams, scope=ADMIN)
def create(params: CreateParams, caller: Caller) -> dict[str, Any]:
    """Propose a new skill."""
    made = proposals.create_proposal(
        params.agent_id,
        name=params.name,
        description=params.description,
        content=params.content,
        support_files=params.files or (),
        goal=params.goal,
        evidence=params.evidence,
        caller=caller,
    )
    return with_content(made, caller)


@method("skills.proposals.update", params=UpdateParams, scope=ADMIN)
def update(params: UpdateParams, caller: Caller) -> dict[str, Any]:
    """Propose a change of a live skill."""
    made = proposals.propose_update(
        params.agent_id,
        skill_name=params.skill_name,
        content=params.content,
        description=params.description,
        support_files=params.files or (),
        goal=params.goal,
        evidence=params.evidence,
        caller=caller,
    )
    return with_content(made, caller)


@method("skills.proposals.revise", params=ReviseParams, scope=ADMIN)
def revise(params: ReviseParams, caller: Caller) -> dict[str, Any]:
    """Publish a new revision of a pending proposal."""
    made = revisions.revise_proposal(
        params.agent_id,
        params.proposal_id,
        content=params.content,
        support_files=params.files,
        description=params.description,
        goal=params.goal,
        evidence=params.evidence,
        expected_revision_hash=params.expected_revision_hash,
        correlation_id=params.correlation_id,
        caller=caller,
    )
    return with_content(made, caller)


@method("skills.proposals.evaluate", params=EvaluateParams, scope=ADMIN)
def evaluate(params: EvaluateParams, caller: Caller) -> dict[str, Any]:
    """Run the evaluators on a pending proposal."""
    proposal, evaluation = evaluations.evaluate_proposal(
        params.agent_id,
        params.proposal_id,
        expected_revision_hash=params.expected_revision_hash,
        correlation_id=params.correlation_id,
        caller=caller,
    )
    return {"record": shown(proposal, caller), "evaluation": evaluation}


@method("skills.proposals.apply", params=DecideParams, scope=ADMIN)
def apply(params: DecideParams, caller: Caller) -> dict[str, Any]:
    """Write a proposed skill live."""
    proposal = decisions.apply_proposal(
        params.agent_id,
        params.proposal_id,
        expected_revision_hash=params.expected_revision_hash,
        correlation_id=params.correlation_id,
        reason=params.reason,
        # The contract's method knows no second question; the page asks it.
        acknowledged=True,
        caller=caller,
    )
    record = shown(proposal, caller)
    return {"record": record, "targetSkillFile": record["target"]["skillFile"]}


@method("skills.proposals.reject", params=DecideParams, scope=ADMIN)
def reject(params: DecideParams, caller: Caller) -> dict[str, Any]:
    """End a pending proposal."""
    proposal = decisions.reject_proposal(
        params.agent_id,
        params.proposal_id,
        expected_revision_hash=params.expected_revision_hash,
        correlation_id=params.correlation_id,
        reason=params.reason,
        caller=caller,
    )
    return shown(proposal, caller)


@method("skills.proposals.quarantine", params=QuarantineParams, scope=ADMIN)
def quarantine(params: QuarantineParams, caller: Caller) -> dict[str, Any]:
    """Lock a pending proposal away."""
    proposal = decisions.quarantine_proposal(
        params.agent_id,
        params.proposal_id,
        expected_revision_hash=params.expected_revision_hash,
        correlation_id=params.correlation_id,
        reason=params.reason,
        caller=caller,
    )
    return shown(proposal, caller)


@method("skills.proposals.requestRevision", params=RequestRevisionParams, scope=ADMIN)
def request_revision(params: RequestRevisionParams, caller: Caller) -> dict[str, Any]:
    """Send a wish for a revision to the owning agent's session."""
    sent = requests.request_revision(
        params.agent_id,
        params.proposal_id,
        expected_revision_hash=params.expected_revision_hash,
        instructions=params.instructions,
        session_key=params.session_key,
        idempotency_key=params.idempotency_key,
        target_agent_id=params.target_agent_id,
        caller=caller,
    )
    return {"runId": params.idempotency_key, "status": sent.status}


@method("skills.proposals.events.list", params=EventsParams, scope=READ)
def list_events(params: EventsParams, caller: Caller) -> dict[str, Any]:
    """The ledger of an agent's proposals."""
    return wire.event_page(
        open_desk(params.agent_id, caller),
        proposal_id=params.proposal_id,
        after=params.after_sequence,
        limit=params.limit,
    )


@method("skills.curator.status", params=NoParams, scope=READ)
def curator_status(params: NoParams, caller: Caller) -> dict[str, Any]:
    """Use and age of live skills, over all agents."""
    return wire.curator_status(caller, live_inventory=LIVE_INVENTORY in caller.caps)


@method("skills.used.record", params=UsageParams, scope=ADMIN)
def record_used(params: UsageParams, caller: Caller) -> dict[str, Any]:
    """Count one use of a live skill; for our own runner."""
    row = usage.record_use(
        params.agent_id, skill_file=params.skill_file, used_at_ms=params.used_at_ms, caller=caller
    )
    return {"skillFile": row.skill_file, "useCount": row.use_count, "lastUsedAtMs": row.last_used_at_ms}


def _retired(what: str) -> Any:
    return sentences.refuse("retired", what)


@method("skills.proposals.historyStatus", params=AgentParams, scope=READ)
def history_status(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """Retired: always an error."""
    raise _retired(_("Scanning the history in bulk is retired. Learn from past conversations instead."))


@method("skills.proposals.historyScan", params=HistoryScanParams, scope=ADMIN)
def history_scan(params: HistoryScanParams, caller: Caller) -> dict[str, Any]:
    """Retired: always an error."""
    raise _retired(_("Scanning the history in bulk is retired. Learn from past conversations instead."))


def _curator_retired(params: SkillParams, caller: Caller) -> dict[str, Any]:
    """Retired: always an error."""
    raise _retired(_("Pinning and restoring are retired: the weekly review looks after the collection."))


for _name in ("pin", "unpin", "restore"):
    method(f"skills.curator.{_name}", params=SkillParams, scope=ADMIN)(_curator_retired)


def shown(proposal: Proposal, caller: Caller) -> dict[str, Any]:
    """The record as the wire has it."""
    return records.shown(proposal, proposal.live_root or open_desk(proposal.agent_id, caller).root)


def with_content(proposal: Proposal, caller: Caller) -> dict[str, Any]:
    """What create, update and revise answer: the record and the draft, without the support files' texts."""
    return {
        "record": shown(proposal, caller),
        "revisionHash": proposal.revision_hash,
        "content": proposal.draft_text,
    }
