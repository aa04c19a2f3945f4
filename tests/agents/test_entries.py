import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.config import parse_json5
from agents.entries import Agent, Oddity, list_agents, normal_id
from agents.variables import Variables

RECORDED = Path(__file__).parent / "recorded"
STATE = Path("/state")


def listing(data, **environment):
    return list_agents(data, Variables(STATE, {"HOME": "/home/ann", **environment}))


def recorded(name):
    whole = json.loads((RECORDED / f"config-variant-{name}.json").read_text())
    config = whole["request"]["openclaw.json"]
    data = parse_json5(config, Path("x")) if isinstance(config, str) else config
    return data, whole["response"]["agents.list"]


@pytest.mark.parametrize(
    "name",
    [
        "json5-file",
        "legacy-agents-list",
        "one-entry-not-main",
        "single-no-entries",
        "two-explicit",
        "two-no-ownership",
    ],
)
def test_the_roster_is_what_a_real_gateway_answered(name):
    data, answer = recorded(name)
    found = listing(data)
    assert {
        "defaultId": found.default_id,
        "ownership": found.ownership,
        "selectionRequired": found.selection_required,
        "mainKey": "main",
        "scope": found.session_scope,
        "agents": [
            {
                "id": agent.id,
                "name": agent.name if agent.name != agent.id else None,
                "workspace": str(agent.workspace)
                .replace("/state/<other-dir>", "<other-dir>")
                .replace("/state", "<state-dir>"),
            }
            for agent in found.agents
        ],
    } == answer


def test_two_agents_with_names_and_folders_of_their_own():
    found = listing(
        {
            "agents": {
                "defaults": {"model": {"primary": "mock/mock-1"}},
                "entries": {
                    "main": {"workspace": "~/ws", "model": "other/model", "description": " First "},
                    "ops": {"name": "运维", "agentDir": "/dirs/ops"},
                },
            }
        }
    )
    assert found.agents == (
        Agent(
            "main",
            "main",
            Path("/home/ann/ws"),
            Path("/state/agents/main/agent"),
            description="First",
            model="other/model",
        ),
        Agent("ops", "运维", Path("/state/workspace-ops"), Path("/dirs/ops"), model="mock/mock-1"),
    )


def test_without_entries_there_is_openclaws_own_main():
    (agent,) = listing({"gateway": {}}).agents
    assert (agent.id, agent.workspace, agent.source) == ("main", Path("/state/workspace"), "implicit")


def test_entries_go_before_the_retired_list():
    found = listing({"agents": {"entries": {"a": {}}, "list": [{"id": "b"}, {"id": "c"}]}})
    assert [agent.id for agent in found.agents] == ["a"]


def test_empty_entries_are_nobody():
    found = listing({"agents": {"entries": {}}})
    assert (found.agents, found.default_id, found.selection_required) == ((), "", False)


def test_a_shared_default_workspace_has_a_folder_per_agent_unless_one_owns_it():
    shared = {"defaults": {"workspace": "/shared"}}
    alone = listing({"agents": {**shared, "entries": {"solo": {}}}})
    several = listing({"agents": {**shared, "entries": {"a": {}, "b": {}}}})
    marked = listing({"agents": {**shared, "entries": {"a": {"default": True}, "b": {}}}})
    assert [str(agent.workspace) for agent in alone.agents] == ["/shared"]
    assert [str(agent.workspace) for agent in several.agents] == ["/shared/a", "/shared/b"]
    assert [str(agent.workspace) for agent in marked.agents] == ["/shared", "/shared/b"]


def test_openclaw_workspace_dir_is_the_sole_agents():
    assert listing({}, OPENCLAW_WORKSPACE_DIR="/w").agents[0].workspace == Path("/w")


def test_odd_entries_are_told_and_the_rest_stands():
    found = listing(
        {
            "agents": {
                "entries": {
                    "My Agent": {},
                    "ok": {},
                    "运维": {},
                    "my-agent": {},
                    "bad": [],
                    "UPPER": {"name": 5},
                }
            }
        }
    )
    assert [(agent.id, agent.name) for agent in found.agents] == [
        ("my-agent", "my-agent"),
        ("ok", "ok"),
        ("upper", "upper"),
    ]
    assert found.oddities == (
        Oddity("renamed", "My Agent"),
        Oddity("bad_id", "运维"),
        Oddity("duplicate", "my-agent"),
        Oddity("not_an_object", "bad"),
        Oddity("renamed", "UPPER"),
    )


def test_a_path_with_an_unset_variable_is_told():
    (agent,) = listing(
        {"agents": {"entries": {"a": {"workspace": "$NOWHERE/ws", "agentDir": "${ALSO}"}}}}
    ).agents
    assert agent.unset == ("NOWHERE", "ALSO")


@pytest.mark.parametrize(
    ("given_id", "normal"),
    [
        ("main", "main"),
        (" Ops ", "ops"),
        ("My Agent", "my-agent"),
        ("_x_", "x".join("__")),
        ("a" * 70, "a" * 64),
    ],
)
def test_ids_become_normal(given_id, normal):
    assert normal_id(given_id) == normal


@given(st.text(max_size=80))
def test_a_normal_id_stays_as_it_is(text):
    first = normal_id(text)
    if first is not None:
        assert normal_id(first) == first
        assert len(first) <= 64


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["agents", "entries", "list", "defaults", "id", "default", "workspace", "model", "env"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=15,
    )
)
def test_any_data_gives_a_roster(data):
    found = listing(data if isinstance(data, dict) else {})
    assert len({agent.id for agent in found.agents}) == len(found.agents)
    assert all(agent.workspace.is_absolute() and agent.agent_dir.is_absolute() for agent in found.agents)


def test_the_agents_share_the_zone_of_the_defaults():
    found = listing(
        {"agents": {"defaults": {"userTimezone": " Asia/Shanghai "}, "entries": {"a": {}, "b": {}}}}
    )
    assert [agent.zone for agent in found.agents] == ["Asia/Shanghai", "Asia/Shanghai"]
    assert found.oddities == ()
    assert [agent.zone for agent in listing({"agents": {"entries": {"a": {}}}}).agents] == [""]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "a\0b", "Asia"])
def test_what_is_no_zone_counts_as_not_set_and_is_told(zone):
    found = listing({"agents": {"defaults": {"userTimezone": zone}, "entries": {"a": {}}}})
    assert found.agents[0].zone == ""
    assert found.oddities == (Oddity("bad_zone", zone),)
