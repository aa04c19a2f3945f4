"""`agents.*`: the roster and the workspace files, in the peer's shapes (recorded `agents-list`; contract §5).

What only a running Gateway knows (`agentRuntime`, `thinkingLevels`, …) is left out rather than made up; what is
ours (`source`, `error`, `readAtMs`, `status`) is added.
"""

from typing import Any

from django.utils.translation import gettext as _
from pydantic import Field

from agents.entries import Agent, normal_id
from agents.errors import AgentsError
from agents.queries import fault_of, is_git, refusal_sentence
from agents.roster import get_agent, load_roster
from agents.store import FILE_NAMES, WorkspaceFile, list_files, read_file
from gateway.callers import Caller
from gateway.registry import READ, Params, method


class NoParams(Params):
    pass


class AgentParams(Params):
    agent_id: str = Field(min_length=1, max_length=200)


class FileParams(AgentParams):
    name: str = Field(min_length=1, max_length=200)


@method("agents.list", params=NoParams, scope=READ)
def list_all(params: NoParams, caller: Caller) -> dict[str, Any]:
    """The agents the caller may see, and whether openclaw.json could be read just now."""
    roster = load_roster()
    payload: dict[str, Any] = {
        "defaultId": roster.default_id if caller.allows_agent(roster.default_id) else "",
        "ownership": roster.ownership,
        "selectionRequired": roster.selection_required,
        "mainKey": "main",
        "scope": roster.session_scope,
        "agents": [_agent(agent) for agent in roster.agents if caller.allows_agent(agent.id)],
    }
    fault = fault_of(roster)
    if fault is not None:
        payload["error"] = {
            "code": fault.problem.code,
            "message": fault.problem.sentence,
            "file": fault.place,
            "line": fault.problem.line,
            "column": fault.problem.column,
        }
    if roster.read_at is not None:
        payload["readAtMs"] = int(roster.read_at.timestamp() * 1000)
    return payload


@method("agents.files.list", params=AgentParams, scope=READ)
def list_workspace_files(params: AgentParams, caller: Caller) -> dict[str, Any]:
    """The workspace files of one agent: there, missing or refused; none is opened."""
    agent = _allowed(params.agent_id, caller)
    return {
        "agentId": agent.id,
        "workspace": str(agent.workspace),
        "files": [_file(file) for file in list_files(agent.workspace)],
    }


@method("agents.files.get", params=FileParams, scope=READ)
def get_workspace_file(params: FileParams, caller: Caller) -> dict[str, Any]:
    """One workspace file with its text and SHA-256; an error where it is there and cannot be read."""
    agent = _allowed(params.agent_id, caller)
    name = params.name.strip()
    if name not in FILE_NAMES:
        raise AgentsError(
            _("“%(name)s” is no workspace file. Allowed are: %(names)s.")
            % {"name": name, "names": ", ".join(FILE_NAMES)},
            code="unknown_file",
        )
    file = read_file(agent.workspace, name)
    if file.status in ("refused", "failed"):
        raise AgentsError(
            _("%(name)s was not read. %(why)s") % {"name": name, "why": refusal_sentence(file.reason)},
            code="file_refused",
            details={"name": name, "reason": file.reason},
        )
    return {"agentId": agent.id, "workspace": str(agent.workspace), "file": _file(file)}


def _allowed(agent_id: str, caller: Caller) -> Agent:
    wanted = normal_id(agent_id) or agent_id
    caller.require_agent(wanted)
    return get_agent(wanted)


def _agent(agent: Agent) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": agent.id,
        "workspace": str(agent.workspace),
        "workspaceGit": is_git(agent.workspace),
        "agentDir": str(agent.agent_dir),
        "source": agent.source,
    }
    if agent.name != agent.id:
        row["name"] = agent.name
    if agent.identity:
        row["identity"] = dict(agent.identity)
    if agent.model:
        row["model"] = {"primary": agent.model}
        if agent.fallbacks:
            row["model"]["fallbacks"] = list(agent.fallbacks)
    return row


def _file(file: WorkspaceFile) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": file.name,
        "path": str(file.path),
        "missing": file.status == "missing",
        "status": file.status,
        "readAtMs": int(file.looked_at.timestamp() * 1000),
    }
    if file.size is not None and file.status in ("found", "read"):
        row["size"] = file.size
    if file.changed_at is not None:
        row["updatedAtMs"] = int(file.changed_at.timestamp() * 1000)
    if file.reason:
        row["reason"] = file.reason
    if file.status == "read":
        row |= {"hash": file.sha256, "content": file.text, "encoding": file.encoding}
    return row
