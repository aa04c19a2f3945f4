"""A token of agent A reads and changes nothing of agent B: every method is tried with B's ids."""

import json
from dataclasses import replace

import pytest
from django.apps import apps

from agents.roster import sync_workspaces
from archives.indexer import scan_workspace
from archives.models import Workspace
from gateway import registry
from gateway.callers import SCOPES, Caller, command_caller
from gateway.deliveries import queue_message
from gateway.events import publish
from gateway.registry import RpcError, call

pytestmark = pytest.mark.django_db
MARK = "only-theirs-7c1f"
CAPS = frozenset({"skill-curator-live-inventory"})
ARCHIVE, SKILL, TASK = f"{MARK}-archive", f"{MARK}-skill", f"{MARK}-task"
SESSION = "agent:ops:cron:7c1f"
# Whose rows are the caller's own doing, not B's: the trail of refusals, answers kept for repeats.
_OWN = {"AuditEntry", "IdempotencyRecord", "Session", "LogEntry"}


@pytest.fixture
def theirs(state_dir) -> dict:
    """Agent ops with one of everything, each carrying MARK; returns params by name that lead to it."""
    (state_dir / "openclaw.json").write_text("{agents: {entries: {main: {}, ops: {}}}}")
    workspace = state_dir / "workspace-ops"
    bucket = workspace / "archives" / ARCHIVE / "2026-11-30-09-00-00"
    bucket.mkdir(parents=True)
    (bucket / f"{MARK}.md").write_text(f"# {MARK}\n")
    (workspace / "SOUL.md").write_text(f"# {MARK}\n")
    skill = state_dir / "agents/ops/agent/workshop-skills" / SKILL
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {SKILL}\ndescription: {MARK}\n---\n\n{MARK}\n")
    sync_workspaces()
    scan_workspace(Workspace.objects.get(agent_id="ops"))
    shell = command_caller()
    made = call(
        "skills.proposals.create",
        {"agentId": "ops", "name": f"{MARK} proposal", "description": MARK, "content": f"# {MARK}\n"},
        shell,
    )
    plan = call("plans.draft", {"agentId": "ops", "wish": f"every day at 9 write {MARK}"}, shell)
    plan_id = _find(plan, "id")
    call("plans.answer", {"id": plan_id, "overrides": {"name": f"Daily {MARK}"}}, shell)
    call("plans.agree", {"id": plan_id}, shell)
    written = call("plans.write", {"id": plan_id}, shell)
    call(
        "longrun.set",
        {"agentId": "ops", "task": TASK, "state": "executing", "originSessionKey": SESSION, "goal": MARK},
        shell,
    )
    delivery = queue_message(
        agent_id="ops", session_key=SESSION, text=MARK, purpose="test", dedupe_key=MARK, caller=shell
    )
    publish("test.happened", agent_id="ops", subject=MARK)
    return {
        "agentId": "ops",
        "proposalId": made["record"]["id"],
        "expectedRevisionHash": made["revisionHash"],
        "id": _find(written, "id"),
        "jobId": _find(written, "id"),
        "ids": [delivery.pk],
        "task": TASK,
        "path": f"archives/{ARCHIVE}/2026-11-30-09-00-00/{MARK}.md",
        "sessionKey": SESSION,
        "originSessionKey": SESSION,
        "expectSessionKey": SESSION,
        "skillName": SKILL,
        "skill": SKILL,
        "skillFile": str(skill / "SKILL.md"),
    }


def _find(payload, key: str):
    """The first `key` anywhere in an answer."""
    if isinstance(payload, dict):
        if key in payload:
            return payload[key]
        payload = list(payload.values())
    for part in payload if isinstance(payload, list) else []:
        if (found := _find(part, key)) is not None:
            return found
    return None


def attempts(method: registry.Method, theirs: dict) -> list[dict]:
    """Params for one method: as few as it needs, and with every id of B it can carry."""
    schema = method.params.model_json_schema(by_alias=True)
    required = set(schema.get("required", []))
    few, many = {}, {}
    for name, shape in schema.get("properties", {}).items():
        if method.name.startswith("agents.files") and name == "name":
            value = "SOUL.md"
        elif method.name == "skills.workshop.read" and name == "name":
            value = SKILL
        elif method.name.startswith("deliveries.") and name == "id":
            value = theirs["ids"][0]
        else:
            value = theirs.get(name, _dummy(name, shape))
        if name in required:
            few[name] = value
        if name in required or name in theirs:
            many[name] = value
    return (
        [few, many, {**many, "agentId": "main"}] if "agentId" in schema.get("properties", {}) else [few, many]
    )


def _dummy(name: str, shape: dict):
    kinds = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    if "enum" in shape:
        return shape["enum"][0]
    if "anyOf" in shape:
        return _dummy(name, shape["anyOf"][0])
    return kinds.get(shape.get("type", ""), {})


def answers(caller: Caller, theirs: dict, wanted=lambda method: True) -> dict[str, str]:
    """method → everything it answered to all attempts, as text."""
    said: dict[str, str] = {}
    for method in registry.methods():
        if not wanted(method):
            continue
        for params in attempts(method, theirs):
            try:
                answer = call(method.name, params, caller)
            except RpcError as error:
                answer = error.as_dict()
            text = json.dumps(answer, ensure_ascii=False, default=str)
            for value in params.values():
                if isinstance(value, str) and MARK in value and value != MARK:
                    text = text.replace(value, "…")  # what the caller itself sent may come back
            said[method.name] = said.get(method.name, "") + text
    return said


def rows_of_ops() -> dict[str, list]:
    """Every row of every table that names ops, as it stands."""
    found = {}
    for model in apps.get_models():
        if model.__name__ in _OWN or "agent_id" not in {field.attname for field in model._meta.fields}:
            continue
        found[model._meta.label] = sorted(map(str, model.objects.filter(agent_id="ops").values()))
    return found


def files_of_ops(state_dir) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for folder in ("workspace-ops", "agents/ops", "skill-workshop")
        for path in (state_dir / folder).rglob("*")
        if path.is_file()
    }


def test_the_walk_would_see_what_is_read(theirs):
    seen = answers(replace(command_caller(), caps=CAPS), theirs, lambda method: method.scope == registry.READ)
    leaking = {name for name, text in seen.items() if MARK in text}
    assert {
        "agents.files.get",
        "archives.list",
        "archives.read",
        "plans.get",
        "plans.list",
        "skills.proposals.list",
        "skills.proposals.inspect",
        "skills.workshop.read",
        "skills.curator.status",
        "longrun.get",
        "longrun.list",
        "deliveries.list",
        "events.list",
    } <= leaking


@pytest.mark.parametrize("is_agent", [True, False])
def test_a_token_of_main_sees_and_changes_nothing_of_ops(theirs, state_dir, is_agent):
    before, files = rows_of_ops(), files_of_ops(state_dir)
    assert sum(map(len, before.values())) >= 6
    mine = Caller(
        kind="token",
        label="token of main",
        scopes=frozenset(SCOPES),
        agent_ids=frozenset({"main"}),
        is_agent=is_agent,
        session_key="agent:main:main",
        caps=CAPS,
    )
    said = answers(mine, theirs)
    assert {name: text for name, text in said.items() if MARK in text} == {}
    assert rows_of_ops() == before
    now = files_of_ops(state_dir)
    assert {path: now.get(path) for path in files} == files
    assert not [path for path in now if path not in files and MARK in path]
