"""The parameters of `skills.*` (contract §2.0): closed, lengths in UTF-16 units."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gateway.registry import Params
from workshop.names import utf16_length

DEFAULT_LIMIT = 100
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
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=200)


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
