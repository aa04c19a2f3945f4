import json
from collections import Counter

import pytest
from django.core.management import CommandError, call_command

from agents.models import GoodRoster
from agents.roster import load_roster
from agents.store import list_files
from archives.models import ArchiveFile, Workspace
from gateway.demo import MARKER, DemoError, begin_world, is_demo, open_world
from longrun.models import LongTask
from openclaw_web.demo import build_demo
from plans.models import Plan
from workshop.models import Proposal

pytestmark = pytest.mark.django_db


def tree(root):
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def build(capsys):
    call_command("demo")
    return capsys.readouterr().out


@pytest.fixture
def only_agents(monkeypatch):
    """A demo of the agents' part alone, where the test is about the demo and not about what is in it."""
    monkeypatch.setattr("openclaw_web.demo.ORDER", ("agents",))


@pytest.fixture
def world(state_dir, shell):
    from django.utils import timezone

    return begin_world(state_dir, caller=shell, now=timezone.now())


def test_an_empty_state_dir_becomes_a_world_of_two_agents(only_agents, state_dir, capsys):
    out = build(capsys)
    assert f"files in {state_dir}" in out
    roster = load_roster()
    assert [(agent.id, agent.name) for agent in roster.agents] == [("main", "Clara"), ("ops", "小舟")]
    assert roster.error is None
    for agent in roster.agents:
        states = {file.name: file.status for file in list_files(agent.workspace)}
        assert (states["SOUL.md"], states["IDENTITY.md"]) == ("found", "found")
    assert set(Workspace.objects.values_list("agent_id", flat=True)) == {"main", "ops"}


def test_every_room_is_filled_and_removing_leaves_nothing_behind(state_dir, settings, capsys):
    build(capsys)
    assert Counter(Proposal.objects.values_list("status", flat=True)) == {
        "applied": 2,
        "pending": 3,
        "quarantined": 1,
        "rejected": 1,
    }
    assert (state_dir / "agents/ops/agent/workshop-skills/disk-check/SKILL.md").is_file()
    assert Plan.objects.count() > 3
    assert LongTask.objects.count() > 3
    kinds = set(ArchiveFile.objects.values_list("kind", flat=True))
    assert {"markdown", "json", "table", "text", "image", "pdf", "audio", "web", "other"} <= kinds
    call_command("demo", "--remove")
    assert list(state_dir.iterdir()) == []
    for model in (Proposal, Plan, LongTask, GoodRoster, Workspace, ArchiveFile):
        assert not model.objects.exists()
    assert not list(settings.DATA_DIR.rglob("*.md"))
    assert load_roster().agents == ()


def test_a_state_dir_that_the_demo_made_goes_with_it(only_agents, state_dir, capsys):
    state_dir.rmdir()
    build(capsys)
    call_command("demo", "--remove")
    assert not state_dir.exists()


def test_what_somebody_changed_or_added_stays(only_agents, state_dir, capsys):
    build(capsys)
    (state_dir / "workspace-main" / "SOUL.md").write_text("mine now")
    (state_dir / "workspace-ops" / "NOTES.md").write_text("added")
    call_command("demo", "--remove")
    assert tree(state_dir) == {"workspace-main/SOUL.md": b"mine now", "workspace-ops/NOTES.md": b"added"}
    assert f"kept, because it was changed: {state_dir}/workspace-main/SOUL.md" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["openclaw.json", ".hidden", "workspace/SOUL.md"])
def test_a_state_dir_with_anything_in_it_is_left_alone(state_dir, name):
    (state_dir / name).parent.mkdir(exist_ok=True)
    (state_dir / name).write_text("theirs")
    for options in ([], ["--remove"]):
        with pytest.raises(CommandError):
            call_command("demo", *options)
    assert tree(state_dir) == {name: b"theirs"}


def test_a_second_demo_is_refused(only_agents, state_dir, capsys):
    build(capsys)
    before = tree(state_dir)
    with pytest.raises(CommandError, match="holds a demo already"):
        call_command("demo")
    assert tree(state_dir) == before


def test_the_page_says_that_it_is_a_demo(only_agents, viewer, state_dir, capsys):
    build(capsys)
    assert is_demo(state_dir)
    assert "This is the demo world." in viewer.get("/agents/").content.decode()


def test_a_build_that_fails_leaves_nothing(state_dir, monkeypatch):
    def fail():
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("agents.demo.sync_workspaces", fail)
    with pytest.raises(RuntimeError, match="the disk is full"):
        call_command("demo")
    assert list(state_dir.iterdir()) == []


def test_a_build_that_was_killed_can_be_removed(state_dir, world, shell):
    world.write("a/b/c.txt", "whole")
    # Noted, but the process died before the file was there.
    world._note_file("a/d.txt", b"never written")
    with (state_dir / MARKER).open("a") as marker:
        marker.write('{"file": "a/cut')
    assert open_world(state_dir, caller=shell).remove_files() == []
    assert list(state_dir.iterdir()) == []


def test_nothing_is_written_over(world, state_dir):
    world.write("a.txt", "one")
    with pytest.raises(DemoError):
        world.write("a.txt", "two")
    (state_dir / "link").symlink_to("/nowhere")
    with pytest.raises(DemoError):
        world.write("link", "x")


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/hostname", "out/file.txt", "a/../../outside.txt"])
def test_a_marker_that_names_a_file_elsewhere_removes_nothing(world, state_dir, shell, tmp_path, name):
    outside = tmp_path / "outside.txt"
    outside.write_text("theirs")
    (tmp_path / "elsewhere").mkdir()
    (state_dir / "out").symlink_to(tmp_path / "elsewhere")
    with (state_dir / MARKER).open("a") as marker:
        marker.write(json.dumps({"file": name, "sha256": "0" * 64}) + "\n")
    with pytest.raises(DemoError) as caught:
        open_world(state_dir, caller=shell)
    assert caught.value.code == "not_demo"
    assert outside.read_text() == "theirs"


def test_what_a_service_made_is_adopted_and_notes_are_found_again(world, state_dir, shell):
    (state_dir / "x" / "y").mkdir(parents=True)
    (state_dir / "x" / "y" / "z.txt").write_text("made by a service")
    (state_dir / "x" / "out").symlink_to("/etc/hosts")
    world.adopt(state_dir / "x")
    world.note("plans.plan", 7)
    again = open_world(state_dir, caller=shell)
    assert again.noted("plans.plan") == ["7"]
    assert again.remove_files() == []
    assert list(state_dir.iterdir()) == []


def test_a_configuration_elsewhere_is_told_before_a_demo_nobody_would_see(
    state_dir, tmp_path, settings, shell
):
    settings.OPENCLAW_CONFIG_PATH = str(tmp_path / "claw.json")
    with pytest.raises(DemoError, match="OPENCLAW_CONFIG_PATH"):
        build_demo(state_dir, caller=shell)
    assert list(state_dir.iterdir()) == []
