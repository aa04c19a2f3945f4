"""`skills.*` in the contract's shapes (§2): parameters, scopes, order of checks, answers."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gateway.callers import Caller
from gateway.registry import ADMIN, READ, Params, method
from workshop import records, sentences
from workshop.desks import open_desk
from workshop.models import Proposal
from workshop.names import utf16_length
from workshop.queries import wire
from workshop.services import decisions, evaluations, proposals, requests, revisions, usage

LIVE_INVENTORY = "skill-curator-live-inventory"
_HASH = re.compile(r"[0-9a-fA-F]{64}\Z")


def _text(low: int = 0, high: int | None = None, pattern: re.Pattern[str] | None = None) -> Any:
    """A string measured in UTF-16 units. Not pydantic's own: that refuses lone surrogates, which the contract
    takes."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise PydanticCustomError("string_type", "must be a string")
        if utf16_length(value) < low:
            raise PydanticCustomError("too_short", f"is shorter than {low} character(s)")
        if high is not None and utf16_length(value) > high:
            raise PydanticCustomError("too_long", f"is longer than {high} characters")
        if pattern is not None and not pattern.match(value):
            raise PydanticCustomError("pattern", "does not match its pattern")
        return value

    schema: dict[str, Any] = {"type": "string"}
    schema |= {"minLength": low} if low else {}
    schema |= {"maxLength": high} if high is not None else {}
    return Annotated[Any, PlainValidator(check), WithJsonSchema(schema)]


Name = _text(1)
Free = _text()
Content = _text(1, 1_048_576)
FileContent = _text(0, 262_144)
Correlation = _text(1, 256)
Instructions = _text(1, 32_768)
RevisionHash = _text(64, 64, _HASH)


class AgentParams(Params):
    agent_id: Name = None


class SupportFileParams(Params):
    path: Name
    content: FileContent


class DraftParams(AgentParams):
    support_files: Annotated[list[SupportFileParams], Field(max_length=64)] = None  # type: ignore[assignment]
    goal: Free = None
    evidence: Free = None

    @property
    def files(self) -> list[dict[str, str]] | None:
        return (
            None
            if self.support_files is None
            else [{"path": file.path, "content": file.content} for file in self.support_files]
        )


class CreateParams(DraftParams):
    name: Name
    description: Name
    content: Content


class UpdateParams(DraftParams):
    skill_name: Name
    content: Content
    description: Name = None


class ProposalParams(AgentParams):
    proposal_id: Name


class ReviseParams(DraftParams, ProposalParams):
    expected_revision_hash: RevisionHash = None
    correlation_id: Correlation = None
    content: Content = None
    description: Name = None


class EvaluateParams(ProposalParams):
    expected_revision_hash: RevisionHash = None
    correlation_id: Correlation = None


class QuarantineParams(EvaluateParams):
    reason: Free = None


class DecideParams(ProposalParams):
    expected_revision_hash: RevisionHash
    correlation_id: Correlation = None
    reason: Free = None


class RequestRevisionParams(ProposalParams):
    target_agent_id: Name = None
    expected_revision_hash: RevisionHash
    instructions: Instructions
    session_key: Name
    session_id: Name = None
    idempotency_key: Name


class EventsParams(AgentParams):
    proposal_id: Name = None
    after_sequence: int = Field(0, ge=0)
    limit: int = Field(wire.DEFAULT_LIMIT, ge=1, le=200)


class ReadParams(AgentParams):
    name: Name


class HistoryScanParams(AgentParams):
    direction: Literal["older", "newer"] = None  # type: ignore[assignment]


class NoParams(Params):
    pass


class SkillParams(Params):
    skill: Name


class UsageParams(AgentParams):
    skill_file: Name
    used_at_ms: int = Field(None, ge=0)  # type: ignore[assignment]


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
