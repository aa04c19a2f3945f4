"""The roster as a real Gateway answers it and as we read it, from the same openclaw.json."""

import json

import pytest

from agents.roster import forget_roster
from gateway.registry import call
from tests.interop.conftest import HOME

pytestmark = [pytest.mark.real_openclaw, pytest.mark.django_db]


def essence(answer, root):
    """What both sides can know: who there is, under which name, where, and who is meant when nobody is named."""
    whole = {key: answer[key] for key in ("defaultId", "ownership", "selectionRequired", "mainKey", "scope")}
    keys = ("id", "name", "workspace", "workspaceGit", "model")
    agents = [{key: row[key] for key in keys if row.get(key) is not None} for row in answer["agents"]]
    return json.loads(json.dumps(whole | {"agents": agents}).replace(str(root), "<state>"))


ROSTERS = {
    "entries": """{
      ownership: 'explicit', /* two of them */
      defaults: { model: { primary: "mock/mock-1" }, },
      entries: { main: { workspace: "${OPENCLAW_STATE_DIR}/ws of main" }, ops: { name: "运维", workspace: "${TEAM_DIR}/$${NOT}/x" }, third: {} },
    }""",
    "retired-list": """{
      list: [ { id: "main", default: true, name: "Chief" }, { id: "ops", workspace: "${TEAM_DIR}/ops" } ],
      defaults: { model: { primary: "mock/mock-1" } },
    }""",
    "shared-default": """{
      ownership: "explicit",
      defaults: { model: { primary: "mock/mock-1" }, workspace: "${TEAM_DIR}/shared" }, entries: { a: {}, b: { workspace: "~/b" } },
    }""",
}


@pytest.mark.parametrize("name", list(ROSTERS))
def test_a_real_gateway_and_we_read_the_same_roster(
    real_openclaw, state_dir, shell, monkeypatch, tmp_path, name
):
    monkeypatch.setenv("TEAM_DIR", str(tmp_path / "team"))
    port = int(real_openclaw.environment["OPENCLAW_REAL_PORT"])
    config = {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": "interop-token-for-localhost"},
        },
        "models": {
            "providers": {
                "mock": {
                    "baseUrl": f"http://127.0.0.1:{port + 1}/v1",
                    "apiKey": "none",
                    "api": "openai-completions",
                    "models": [{"id": "mock-1", "name": "mock", "contextWindow": 128000, "maxTokens": 4096}],
                }
            }
        },
        "agents": {"$include": "./agents.json5"},
    }
    (state_dir / "agents.json5").write_text(ROSTERS[name])
    (state_dir / "openclaw.json").write_text(f"// read by both\n{json.dumps(config)[:-1]},}}\n")
    real_openclaw.start(state_dir, TEAM_DIR=str(tmp_path / "team"))
    theirs = real_openclaw.call(state_dir, "agents.list")
    # The Gateway runs with a HOME of its own; "~" must mean the same to both.
    monkeypatch.setenv("HOME", str(HOME / "home"))
    forget_roster()
    ours = call("agents.list", {}, shell)
    assert essence(ours, state_dir) == essence(theirs, state_dir)
