"""What the methods of long-run tasks take. Field names of a task are the seed's; camelCase on the wire."""

from typing import Annotated, Any

from pydantic import Field

from gateway.registry import Params
from longrun.services import cleanup, keepalive

Text = Annotated[str | None, Field(max_length=8000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
AgentId = Annotated[str, Field(max_length=128)]


class AgentParams(Params):
    agent_id: AgentId = ""


class TaskParams(AgentParams):
    task: Name


class SetParams(TaskParams):
    state: str
    session: Text = None
    origin_session_key: Text = None
    goal: Text = None
    done_when: Text = None
    blocked_when: Text = None
    boundary: Text = None
    next_check: Text = None
    note: Text = None
    focus: Text = None
    confirmed: Text = None
    progress_every: Text = None
    quiet_limit: Text = None
    waiting_kind: Text = None
    waiting_for: Text = None
    stuck_at: Text = None
    missing: Text = None
    suggestion: Text = None
    why: str = Field("", max_length=8000)
    zone: str = Field("", max_length=64)


class ListParams(AgentParams):
    state: str = ""
    limit: int = Field(100, ge=1, le=500)


class ValidateParams(TaskParams):
    expect_session_key: str = Field(max_length=512)
    session_seen: bool | None = None


class ProgressParams(TaskParams):
    delivery: int | None = None
    message: str = Field("", max_length=8000)


class AttemptParams(TaskParams):
    error: str = Field(max_length=2000)
    delivery: int | None = None
    unknown: bool = False


class AcknowledgeParams(AgentParams):
    ids: list[int] = Field(min_length=1, max_length=100)


class ResumeParams(TaskParams):
    delivery: int | None = None


class ToolParams(TaskParams):
    failed: bool = False
    error: str = Field("", max_length=2000)
    need: str = ""
    running: str = Field("", max_length=40)


class StepParams(TaskParams):
    step: str = Field("", max_length=4000)
    focus: str = Field("", max_length=4000)
    next: str = Field("", max_length=4000)


class IdleParams(TaskParams):
    idle_seconds: int = Field(keepalive.IDLE_SECONDS, ge=1, le=86_400)


class KeepaliveParams(AgentParams):
    idle_seconds: int = Field(keepalive.IDLE_SECONDS, ge=1, le=86_400)
    auto_resume: bool | None = None


class RunParams(AgentParams):
    send: bool = False


class CleanupParams(AgentParams):
    older_days: int = Field(cleanup.OLD_DAYS, ge=1, le=3650)
    apply: bool = False


class ImportParams(AgentParams):
    data: dict[str, Any] | list[Any]


class TriggerParams(AgentParams):
    message: str = Field(max_length=100_000)
    task: str = Field("", max_length=200)
