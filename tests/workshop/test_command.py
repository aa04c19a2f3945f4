"""`manage.py workshop`, with the drafts and the outcomes of the recorded `openclaw skills workshop` calls."""

import json
import os
from io import StringIO

import pytest
from django.core.management import call_command

from tests.workshop import recorded_cases as recorded
from tests.workshop.replay import Replay
from workshop.models import Event

pytestmark = pytest.mark.django_db

DRAFTS = {
    "ok": {"PROPOSAL.md": "# cli\n\nbody\n", "assets/x/y.txt": "y", "scripts/a.sh": "#!/bin/sh\n"},
    "d8": {"PROPOSAL.md": "# cli\n\nbody\n", "assets/1/2/3/4/5/6/f": "x"},
    "d9": {"PROPOSAL.md": "b\n", "assets/1/2/3/4/5/6/7/f": "x"},
    "empty": {"PROPOSAL.md": ""},
    "exec": {"PROPOSAL.md": "b\n", "scripts/a.sh": "x"},
    "gexec": {"PROPOSAL.md": "b\n", "scripts/a.sh": "x"},
    "hidden": {"PROPOSAL.md": "b\n", "assets/.h": "x"},
    "nop": {"assets/a": "x"},
    "latin1": {"PROPOSAL.md": "b\n", "assets/a": b"\xe9"},
    "nul": {"PROPOSAL.md": "b\n", "assets/a": "a\0b"},
    "outside": {"PROPOSAL.md": "b\n", "other/a": "x"},
    "plat": {"PROPOSAL.md": b"\xe9"},
    "readme": {"PROPOSAL.md": "b\n", "README.md": "x"},
    "symlink": {"PROPOSAL.md": "b\n"},
}
MODES = {"exec": 0o755, "gexec": 0o654}


@pytest.fixture
def draft_dir(tmp_path):
    root = tmp_path / "drafts"
    for name, files in DRAFTS.items():
        for path, data in files.items():
            file = root / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data if isinstance(data, bytes) else data.encode())
            file.chmod(MODES.get(name, 0o644) if path != "PROPOSAL.md" else 0o644)
    (root / "symlink/assets").mkdir()
    (root / "symlink/assets/a").symlink_to("/etc/hostname")
    return root


@pytest.fixture
def run(two_agents, draft_dir):
    """Runs the command; returns its exit status and the JSON it printed."""

    def call(*argv):
        out, err = StringIO(), StringIO()
        try:
            call_command("workshop", *argv, stdout=out, stderr=err)
        except SystemExit as stop:
            assert err.getvalue().strip(), "no sentence on the error output"
            return stop.code, json.loads(out.getvalue())
        return 0, json.loads(out.getvalue())

    return call


def recorded_argv(case, draft_dir):
    argv = case["request"]["argv"]
    assert argv[:3] == ["openclaw", "skills", "workshop"]
    return [part.replace("<draft-dir>", str(draft_dir)) for part in argv[3:]]


@pytest.mark.parametrize(
    "name",
    recorded.names(
        "cli-dir-*", "cli-both-options", "cli-no-draft", "cli-unknown-agent", "cli-inspect-unknown"
    ),
)
def test_a_recorded_call_that_stands_for_itself(name, run, draft_dir, state_dir, rpc):
    case = recorded.load(name)
    status, answer = run(*recorded_argv(case, draft_dir))
    wanted = case["response"]
    assert status == wanted["exit_code"]
    replay = Replay(rpc, state_dir)
    replay.exact = False
    replay.compare(answer, wanted["stdout_json"], name)


def test_the_recorded_life_on_the_command_line(run, draft_dir, state_dir, rpc):
    replay = Replay(rpc, state_dir)
    replay.exact = False

    def play(name):
        case = recorded.load(name)
        argv = [replay.ours(part) for part in recorded_argv(case, draft_dir)]
        status, answer = run(*argv)
        assert status == case["response"]["exit_code"], answer
        if "stdout_json" in case["response"]:
            replay.compare(answer, case["response"]["stdout_json"], name)
        return answer

    play("cli-propose-create-dir")
    listed = play("cli-list")
    assert set(listed) == set(recorded.load("cli-list")["response"]["top_level_keys"])
    for name in (
        "cli-inspect",
        "cli-revise",
        "cli-evaluate",
        "cli-apply",
        "cli-apply-again",
        "cli-propose-update",
    ):
        play(name)
    for name in ("cli-propose-create-file", "cli-quarantine", "cli-propose-create-file2", "cli-reject"):
        play(name)
    actors = {(event.type, json.dumps(event.actor, sort_keys=True)) for event in Event.objects.all()}
    assert ("created", '{"id": "cli", "type": "system"}') in actors
    assert ("applied", '{"type": "gateway"}') in actors


def test_inside_a_workspace_the_agent_need_not_be_named(run, state_dir, monkeypatch):
    inside = state_dir / "workspace-ops/notes"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    status, answer = run("list", "--json")
    assert (status, set(answer)) == (0, set(recorded.load("cli-no-agent")["response"]["stdout_json"]))


def test_outside_a_workspace_several_agents_have_to_be_told_apart(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, answer = run("list", "--json")
    assert (status, answer["error"]["type"]) == (1, "cli_error")


def test_rolling_back_from_the_shell(run, draft_dir, state_dir):
    _, made = run(
        "propose-create",
        "--name",
        "a",
        "--description",
        "d",
        "--proposal",
        str(draft_dir / "ok/PROPOSAL.md"),
        "--agent",
        "main",
        "--json",
    )
    run("apply", made["record"]["id"], "--agent", "main", "--json")
    status, record = run("rollback", made["record"]["id"], "--reason", "no", "--agent", "main", "--json")
    assert (status, record["status"]) == (0, "applied")
    assert not (state_dir / "agents/main/agent/workshop-skills/a").exists()


@pytest.mark.parametrize(("entries", "status"), [(255, 1), (254, 1), (62, 0)])
def test_a_draft_folder_has_limits(entries, status, run, draft_dir):
    folder = draft_dir / "many"
    (folder / "assets").mkdir(parents=True)
    (folder / "PROPOSAL.md").write_text("b\n")
    for number in range(entries):
        (folder / f"assets/{number}").write_text("x")
    got, answer = run(
        "propose-create",
        "--name",
        "m",
        "--description",
        "d",
        "--proposal-dir",
        str(folder),
        "--agent",
        "main",
        "--json",
    )
    assert got == status
    if entries == 255:
        assert "256 entries" in answer["error"]["message"]


def test_an_order_for_a_person_is_plain_text(two_agents, draft_dir):
    out = StringIO()
    call_command(
        "workshop",
        "propose-create",
        "--name",
        "a b",
        "--description",
        "d",
        "--proposal",
        str(draft_dir / "ok/PROPOSAL.md"),
        "--agent",
        "main",
        stdout=out,
    )
    assert out.getvalue().startswith("pending a-b-")
    out = StringIO()
    call_command("workshop", "list", "--agent", "main", stdout=out)
    assert "'Create a b'" in out.getvalue()
    assert os.linesep not in out.getvalue().strip()
