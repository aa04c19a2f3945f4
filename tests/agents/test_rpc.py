import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.callers import Caller
from gateway.registry import RpcError, call

pytestmark = pytest.mark.django_db
RECORDED = json.loads((Path(__file__).parent / "recorded/agents-list.json").read_text())["response"][
    "payload"
]


@pytest.fixture
def two(write_config, state_dir):
    write_config(
        '{agents: {ownership: "explicit", defaults: {model: {primary: "mock/mock-1"}},'
        ' entries: {main: {workspace: "workspace"}, ops: {}}}}'
    )
    (state_dir / "workspace").mkdir()
    return state_dir


@pytest.fixture
def token_of_ops() -> Caller:
    return Caller(
        kind="token",
        label="ops",
        scopes=frozenset({"operator.admin"}),
        agent_ids=frozenset({"ops"}),
        is_agent=True,
    )


def refusal(*args):
    with pytest.raises(RpcError) as caught:
        call(*args)
    return caught.value


def test_the_list_is_the_recorded_one_for_what_a_file_can_tell(two, shell):
    answer = call("agents.list", {}, shell)
    known = {"id", "workspace", "workspaceGit", "model"}
    names = {str(two / "workspace"): "<workspace>", str(two / "workspace-ops"): "<workspace-ops>"}
    ours = [{key: value for key, value in row.items() if key in known} for row in answer["agents"]]
    for row in ours:
        row["workspace"] = names[row["workspace"]]
    theirs = [{key: row[key] for key in known} for row in RECORDED["agents"]]
    assert ours == theirs
    whole = ("defaultId", "ownership", "selectionRequired", "mainKey", "scope")
    assert {key: answer[key] for key in whole} == {key: RECORDED[key] for key in whole}


def test_identity_and_further_models_are_those_of_the_file_also_while_it_is_broken(shell, write_config):
    write_config(
        """{agents: {entries: {ops: {
            identity: {name: "小舟", emoji: "🦞", theme: "harbour", avatar: 5},
            model: {primary: "a/one", fallbacks: ["b/two", 3, "c/three"]},
        }}}}"""
    )
    told = []
    for text in (None, "{agents: }"):
        if text:
            write_config(text)
        (row,) = call("agents.list", {}, shell)["agents"]
        told.append((row["name"], row["identity"], row["model"]))
    assert told == 2 * [
        (
            "小舟",
            {"name": "小舟", "emoji": "🦞", "theme": "harbour"},
            {"primary": "a/one", "fallbacks": ["b/two", "c/three"]},
        )
    ]


def test_a_broken_file_is_in_the_answer(two, shell, write_config):
    call("agents.list", {}, shell)
    write_config("{agents: }")
    answer = call("agents.list", {}, shell)
    assert [agent["id"] for agent in answer["agents"]] == ["main", "ops"]
    assert answer["error"] == {
        "code": "syntax_value",
        "message": "A value is expected here, not “}”. Text needs quotes around it.",
        "file": "openclaw.json",
        "line": 1,
        "column": 10,
    }


def test_the_list_takes_no_params(two, shell):
    assert refusal("agents.list", {"agentId": "main"}, shell).code == "INVALID_REQUEST"


def test_a_workspace_inside_a_checkout_is_one_too(two, shell):
    def answered():
        return {row["id"]: row["workspaceGit"] for row in call("agents.list", {}, shell)["agents"]}

    assert answered() == {"main": False, "ops": False}
    (two / "workspace" / ".git").mkdir(parents=True)
    assert answered() == {"main": True, "ops": False}
    # Around both, and also around one that does not exist yet (a work tree's ".git" is a file).
    (two / ".git").write_text("gitdir: elsewhere")
    shutil.rmtree(two / "workspace-ops", ignore_errors=True)
    assert answered() == {"main": True, "ops": True}


def test_files_are_listed_without_being_read(two, shell):
    (two / "workspace" / "SOUL.md").write_text("calm")
    answer = call("agents.files.list", {"agentId": " Main "}, shell)
    assert (answer["agentId"], answer["workspace"]) == ("main", str(two / "workspace"))
    by_name = {file["name"]: file for file in answer["files"]}
    assert by_name["SOUL.md"]["size"] == 4
    assert by_name["SOUL.md"]["missing"] is False
    assert "content" not in by_name["SOUL.md"]
    assert by_name["USER.md"]["missing"] is True


def test_a_file_comes_with_its_hash(two, shell):
    (two / "workspace" / "SOUL.md").write_text("冷静")
    file = call("agents.files.get", {"agentId": "main", "name": "SOUL.md"}, shell)["file"]
    assert file["content"] == "冷静"
    assert file["hash"] == hashlib.sha256("冷静".encode()).hexdigest()
    assert (file["missing"], file["size"], file["path"]) == (False, 6, str(two / "workspace" / "SOUL.md"))


def test_a_missing_file_is_an_answer_and_a_refused_one_an_error(two, shell):
    (two / "workspace" / "USER.md").symlink_to("/etc/hostname")
    missing = call("agents.files.get", {"agentId": "main", "name": "SOUL.md"}, shell)["file"]
    assert (missing["missing"], "content" in missing, "hash" in missing) == (True, False, False)
    error = refusal("agents.files.get", {"agentId": "main", "name": "USER.md"}, shell)
    assert (error.code, error.details) == ("INVALID_REQUEST", {"name": "USER.md", "reason": "link"})


@pytest.mark.parametrize("name", [".env", "../workspace-ops/SOUL.md", "openclaw.json", "soul.md"])
def test_another_name_is_refused(two, shell, name):
    assert refusal("agents.files.get", {"agentId": "main", "name": name}, shell).code == "INVALID_REQUEST"


def test_an_unknown_agent_is_refused(two, shell):
    error = refusal("agents.files.list", {"agentId": "nobody"}, shell)
    assert (error.code, error.details) == ("INVALID_REQUEST", {"agentId": "nobody"})


def test_a_token_of_one_agent_reads_no_other(two, token_of_ops):
    answer = call("agents.list", {}, token_of_ops)
    assert [agent["id"] for agent in answer["agents"]] == ["ops"]
    assert answer["defaultId"] == ""
    for name, params in (
        ("agents.files.list", {"agentId": "main"}),
        ("agents.files.get", {"agentId": "MAIN", "name": "SOUL.md"}),
    ):
        error = refusal(name, params, token_of_ops)
        assert (error.code, error.details["code"]) == ("FORBIDDEN", "AGENT_NOT_ALLOWED")
    assert call("agents.files.list", {"agentId": "ops"}, token_of_ops)["agentId"] == "ops"


def test_without_the_right_to_read_there_is_nothing(two, shell):
    nobody = replace(shell, scopes=frozenset())
    assert refusal("agents.list", {}, nobody).code == "FORBIDDEN"
