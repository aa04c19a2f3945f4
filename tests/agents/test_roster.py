from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine

from agents.errors import AgentsError
from agents.models import GoodRoster, MadeAgent
from agents.roster import forget_roster, get_agent, load_roster, sync_workspaces
from archives.models import Workspace

pytestmark = pytest.mark.django_db
TWO = '{agents: {entries: {main: {workspace: "~/ws"}, ops: {name: "运维"},}}} // two'


def ids(roster):
    return [agent.id for agent in roster.agents]


def roots():
    return dict(Workspace.objects.values_list("agent_id", "root"))


def test_the_roster_of_openclaw_json(write_config, state_dir, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.delenv("OPENCLAW_HOME", raising=False)
    write_config(TWO)
    roster = load_roster()
    assert ids(roster) == ["main", "ops"]
    assert (roster.default_id, roster.selection_required, roster.ownership) == ("main", True, "explicit")
    assert (roster.error, roster.source) == (None, state_dir / "openclaw.json")
    assert get_agent("ops").workspace == state_dir / "workspace-ops"
    assert get_agent("main").workspace == Path("/home/ann/ws")


def test_the_archives_learn_where_agents_work(write_config, state_dir):
    write_config(TWO.replace("~/ws", "/srv/main"))
    load_roster()
    assert roots() == {"main": "/srv/main", "ops": str(state_dir / "workspace-ops")}
    write_config('{agents: {entries: {main: {name: "Chief"}}}}')
    load_roster()
    assert roots() == {"main": str(state_dir / "workspace")}
    assert Workspace.objects.get().label == "Chief"


def test_a_workspace_row_that_stays_is_not_made_anew(write_config):
    write_config(TWO)
    load_roster()
    before = Workspace.objects.get(agent_id="ops").pk
    write_config(TWO.replace("运维", "Ops"))
    load_roster()
    row = Workspace.objects.get(agent_id="ops")
    assert (row.pk, row.label) == (before, "Ops")


def test_a_change_of_the_file_is_seen_at_once(write_config):
    write_config(TWO)
    assert ids(load_roster()) == ["main", "ops"]
    write_config("{agents: {entries: {solo: {}}}}")
    assert ids(load_roster()) == ["solo"]


def test_a_change_of_an_include_is_seen_at_once(write_config):
    write_config("{a: {}}", "names.json")
    write_config('{agents: {entries: {$include: "names.json"}}}')
    assert ids(load_roster()) == ["a"]
    write_config("{b: {}}", "names.json")
    assert ids(load_roster()) == ["b"]


def test_a_change_of_a_variable_is_seen_at_once(write_config, monkeypatch):
    monkeypatch.setenv("TEAM_DIR", "/one")
    write_config('{agents: {entries: {a: {workspace: "$TEAM_DIR/ws"}}}}')
    assert str(get_agent("a").workspace) == "/one/ws"
    monkeypatch.setenv("TEAM_DIR", "/two")
    assert str(get_agent("a").workspace) == "/two/ws"
    monkeypatch.delenv("TEAM_DIR")
    assert get_agent("a").unset == ("TEAM_DIR",)
    assert roots() == {}


def test_asking_again_reads_no_file_and_asks_one_query(write_config, django_assert_num_queries, monkeypatch):
    write_config(TWO)
    load_roster()
    monkeypatch.setattr("agents.config.os.open", None)
    with django_assert_num_queries(1):
        assert ids(load_roster()) == ["main", "ops"]


def test_a_broken_file_leaves_the_last_good_roster_and_says_where(write_config):
    with time_machine.travel(datetime(2026, 11, 30, 8, 0, tzinfo=UTC), tick=False):
        write_config(TWO)
        load_roster()
    write_config("{\n  agents: {entries: {main: {} ops: {}}}\n}")
    roster = load_roster()
    assert ids(roster) == ["main", "ops"]
    assert (roster.error.code, roster.error.line, roster.error.column) == ("syntax_comma", 2, 31)
    assert roster.read_at == datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
    assert set(roots()) == {"main", "ops"}


def test_the_last_good_roster_outlives_the_process(write_config):
    write_config(
        '{agents: {defaults: {model: "a/b"}, entries: {x: {workspace: "/x", description: "d"}, y: {}}}}'
    )
    before = load_roster()
    forget_roster()
    write_config("{")
    after = load_roster()
    assert after.agents == before.agents
    assert (after.default_id, after.selection_required, after.ownership) == ("x", True, "explicit")


def test_a_file_mended_is_the_roster_again(write_config):
    write_config("{")
    assert (ids(load_roster()), load_roster().read_at) == ([], None)
    write_config(TWO)
    assert (ids(load_roster()), load_roster().error) == (["main", "ops"], None)


def test_a_file_taken_away_is_a_fault_once_it_was_there(write_config, state_dir):
    write_config(TWO)
    load_roster()
    (state_dir / "openclaw.json").unlink()
    roster = load_roster()
    assert (roster.error.code, ids(roster)) == ("missing", ["main", "ops"])


def test_an_empty_state_dir_has_nobody_and_no_fault(state_dir):
    roster = load_roster()
    assert (ids(roster), roster.error, roster.default_id) == ([], None, "")


def test_openclaws_traces_without_a_file_are_its_own_main(state_dir):
    (state_dir / "workspace").mkdir()
    roster = load_roster()
    assert (ids(roster), roster.error) == (["main"], None)
    assert roster.agents[0].source == "implicit"


def test_agents_made_here_come_after_those_of_the_file(write_config, state_dir):
    write_config("{agents: {entries: {main: {}}}}")
    MadeAgent.objects.create(agent_id="helper", name="Helper 助手", workspace="/srv/helper", made_by="ann")
    MadeAgent.objects.create(agent_id="main", name="Other", workspace="/srv/other", made_by="ann")
    roster = load_roster()
    assert [(agent.id, agent.source) for agent in roster.agents] == [
        ("main", "config"),
        ("helper", "dashboard"),
    ]
    assert (roster.hidden, roster.selection_required, roster.default_id) == (("main",), True, "main")
    assert get_agent("helper").agent_dir == state_dir / "agents/helper/agent"


def test_an_agent_made_here_stands_alone_without_a_file(state_dir):
    MadeAgent.objects.create(agent_id="solo", name="Solo", workspace="/srv/solo", made_by="ann")
    roster = load_roster()
    assert (ids(roster), roster.default_id, roster.selection_required) == (["solo"], "solo", False)
    assert sync_workspaces() == 1
    assert roots() == {"solo": "/srv/solo"}


def test_an_agent_made_here_goes_before_the_implicit_main(state_dir):
    (state_dir / "workspace").mkdir()
    MadeAgent.objects.create(agent_id="main", name="Mine", workspace="/srv/mine", made_by="ann")
    assert [(agent.id, agent.name) for agent in load_roster().agents] == [("main", "Mine")]


def test_an_agent_that_is_not_there_is_an_error_with_a_sentence(state_dir):
    with pytest.raises(AgentsError) as caught:
        get_agent("nobody")
    assert (caught.value.code, caught.value.message) == ("unknown_agent", "There is no agent “nobody”.")


def test_only_a_roster_that_differs_is_written_again(write_config, django_assert_num_queries):
    write_config(TWO)
    load_roster()
    first = GoodRoster.objects.get()
    forget_roster()
    load_roster()
    assert GoodRoster.objects.get().pk == first.pk
    assert GoodRoster.objects.count() == 1


def test_the_archives_learn_in_which_zone_agents_work(write_config):
    write_config(TWO.replace("agents: {", 'agents: {defaults: {userTimezone: "Asia/Shanghai"}, '))
    MadeAgent.objects.create(agent_id="own", name="Own", workspace="/srv/own", made_by="ann")
    load_roster()
    assert set(Workspace.objects.values_list("agent_id", "zone")) == {
        (agent_id, "Asia/Shanghai") for agent_id in ("main", "ops", "own")
    }
    write_config(TWO)
    load_roster()
    assert set(Workspace.objects.values_list("zone", flat=True)) == {""}


def test_the_configuration_may_lie_elsewhere_and_paths_stay_in_the_state_dir(
    state_dir, tmp_path, settings, write_config
):
    write_config("{agents: {entries: {inside: {}}}}")
    elsewhere = tmp_path / "etc" / "claw.json5"
    elsewhere.parent.mkdir()
    (elsewhere.parent / "more.json5").write_text("{ops: {}}")
    elsewhere.write_text('{agents: {entries: {$include: "more.json5", main: {workspace: "$TEAM"}}}}')
    (state_dir / ".env").write_text("TEAM=/srv/team\n")
    settings.OPENCLAW_CONFIG_PATH = str(elsewhere)
    roster = load_roster()
    assert (ids(roster), roster.source) == (["ops", "main"], elsewhere)
    assert get_agent("main").workspace == Path("/srv/team")
    assert get_agent("ops").workspace == state_dir / "workspace-ops"
    (state_dir / ".env").write_text("TEAM=/srv/team-2\n")
    assert get_agent("main").workspace == Path("/srv/team-2")
