"""The parameters of `skills.*` (contract §2.0): closed, lengths in UTF-16 units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from gateway.registry import Params
from workshop.names import utf16_length

DEFAULT_LIMIT = 100
_HASH = re.compile(r"[0-9a-fA-F]{64}\Z")


@dataclass(frozen=True)
class Text:
    """A string measured in UTF-16 units. Not pydantic's own: that refuses lone surrogates, which the contract
    takes."""

    low: int = 0
    high: int | None = None
    pattern: re.Pattern[str] | None = None

    def __call__(self, value: Any) -> str:
        if not isinstance(value, str):
            raise PydanticCustomError("string_type", "must be a string")
        size = utf16_length(value)
        if size < self.low:
            raise PydanticCustomError("too_short", "is shorter than {low} character(s)", {"low": self.low})
        if self.high is not None and size > self.high:
            raise PydanticCustomError("too_long", "is longer than {high} characters", {"high": self.high})
        if self.pattern is not None and not self.pattern.match(value):
            raise PydanticCustomError("pattern", "does not match its pattern")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        lengths = {"minLength": self.low or None, "maxLength": self.high}
        return {"type": "string", **{key: value for key, value in lengths.items() if value is not None}}


Name = Annotated[Any, Text(1)]
Free = Annotated[Any, Text()]
Content = Annotated[Any, Text(1, 1_048_576)]
FileContent = Annotated[Any, Text(0, 262_144)]
Correlation = Annotated[Any, Text(1, 256)]
Instructions = Annotated[Any, Text(1, 32_768)]
RevisionHash = Annotated[Any, Text(64, 64, _HASH)]


class AgentParams(Params):
    # Skills and what is said of them may hold such texts; what becomes of them is the contract's.
    any_text = frozenset(
        {"name", "skillName", "description", "content", "goal", "evidence", "supportFiles", "instructions", "reason"}
    )  # fmt: skip
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
