"""The seam of runners and the one for any command line, with real programs."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from gateway import runners
from gateway.runners import RUN_MARK, CommandRunner, Reply, RunnerError, Turn, choose_runner, end_leftovers


@pytest.fixture
def turn(tmp_path) -> Turn:
    return Turn(
        "main",
        "agent:main:cron:1:run:2",
        'say {session} "hi" $HOME;\n第二行',
        30,
        tmp_path,
        f"mark-{tmp_path.name}",
    )


@pytest.fixture
def program(tmp_path, settings):
    """Sets the runner to a Python program with this body; `argv`, `os`, `sys`, `time`, `json` are there."""

    def write(body: str, template: str = "{session} {message}") -> Path:
        path = tmp_path / "program.py"
        path.write_text(f"import json, os, subprocess, sys, time\nargv = sys.argv[1:]\n{body}\n")
        settings.RUNNER_COMMAND = f"{sys.executable} {path} {template}"
        return path

    return write


def run(turn: Turn, *, go_on=lambda: True, started=None) -> Reply:
    return CommandRunner().run(turn, on_start=(started or (lambda pid: None)), go_on=go_on)


def failure(turn: Turn, **options) -> RunnerError:
    with pytest.raises(RunnerError) as error:
        run(turn, **options)
    return error.value


def test_message_and_session_reach_the_program_as_they_are_and_no_shell_sees_them(turn, program):
    program("print(json.dumps(argv))", "--to={session} {message} {agent} {workspace} {timeout}")
    argv = json.loads(run(turn).text)
    assert argv == [
        "--to=agent:main:cron:1:run:2",
        'say {session} "hi" $HOME;\n第二行',
        "main",
        str(turn.workspace),
        "30",
    ]


def test_the_program_runs_in_the_workspace_and_gets_no_secret_of_ours(turn, program, monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "Q_BROKER_URL"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("MODEL_KEY", "for the agent")
    program("print(json.dumps([os.getcwd(), dict(os.environ)]))")
    where, environment = json.loads(run(turn).text)
    assert where == str(turn.workspace)
    assert "secret" not in environment.values()
    assert environment["MODEL_KEY"] == "for the agent"
    assert environment["OPENCLAW_SESSION_KEY"] == turn.session_key and environment[RUN_MARK] == turn.mark


def test_the_default_is_openclaw_agent_and_openclaw_bin_is_respected(turn, settings, tmp_path):
    program = tmp_path / "my-openclaw"
    program.write_text('#!/bin/sh\nfor part in "$@"; do printf "%s|" "$part"; done\n')
    program.chmod(0o755)
    settings.OPENCLAW_BIN = str(program)
    parts = run(turn).text.split("|")
    assert parts[:5] == ["agent", "--agent", "main", "--session-key", turn.session_key]
    assert parts[5:7] == ["--message", turn.message] and parts[7:10] == ["--timeout", "30", "--json"]


def test_the_answer_of_openclaw_agent_gives_text_and_usage(turn, program):
    answer = {
        "runId": "r",
        "status": "ok",
        "result": {
            "payloads": [{"text": "Done.", "mediaUrl": None}, {"text": "ARCHIVE_STATUS: OK"}],
            "meta": {
                "agentMeta": {
                    "model": "mock-1",
                    "usage": {"input": 100, "output": 10, "total": 110, "cost": {}},
                }
            },
        },
    }
    program(f"print(json.dumps({answer!r}))")
    reply = run(turn)
    assert reply.text == "Done.\n\nARCHIVE_STATUS: OK"
    assert reply.usage == {"input": 100, "output": 10, "total": 110, "model": "mock-1"}


@pytest.mark.parametrize("out", ["[1]", "{}", '{"result": {"payloads": 1}}', '{"text": "x"', "plain words"])
def test_any_other_output_is_the_final_text(turn, program, out):
    program(f"print({out!r})")
    assert run(turn) == Reply(out)


def test_bytes_that_are_no_text_become_text(turn, program):
    program(r"sys.stdout.buffer.write(b'ok \xff\x00 end')")
    assert run(turn).text == "ok \ufffd\ufffd end"


@pytest.mark.parametrize(
    ("body", "code", "started", "sentence"),
    [
        ("sys.exit(3)", "AGENT_FAILED", True, "The program ended with status 3."),
        ("sys.exit('no key')", "AGENT_FAILED", True, "The program ended with status 1. no key"),
        ("os.kill(os.getpid(), 9)", "AGENT_FAILED", True, "The program ended with signal 9."),
        ("sys.exit(75)", "NOT_STARTED", False, "The agent did not start: the program said so (status 75)"),
    ],
)
def test_a_failure_says_whether_the_agent_started(turn, program, body, code, started, sentence):
    program(body)
    error = failure(turn)
    assert (error.code, error.started, error.message) == (code, started, sentence)


def test_a_program_that_cannot_be_started_did_not_start(turn, settings):
    settings.RUNNER_COMMAND = "/nowhere/agent {message}"
    error = failure(turn)
    assert (error.code, error.started) == ("NOT_STARTED", False)
    assert error.message == "The program “/nowhere/agent” could not be started: No such file or directory."


def test_a_message_longer_than_a_command_line_did_not_start(turn, program, tmp_path):
    program("print('never')")
    long = Turn("main", "s:x", "x" * 130_000, 30, tmp_path, "m")
    assert failure(long).code == "NOT_STARTED"


def test_at_the_time_limit_the_program_and_all_it_started_end(turn, program, tmp_path, monkeypatch):
    monkeypatch.setattr(runners, "GRACE_SECONDS", 0.2)
    pids = tmp_path / "pids"
    program(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep 60'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('so far', flush=True)\ntime.sleep(60)"
    )
    error = failure(Turn(turn.agent_id, turn.session_key, "x", 1, tmp_path, turn.mark))
    assert (error.code, error.started, error.text) == ("TIMEOUT", True, "so far\n")
    for pid in pids.read_text().split():
        assert not _runs(int(pid))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_it_stops_when_it_is_told_to(turn, program):
    program("time.sleep(60)")
    began = time.monotonic()
    assert failure(turn, go_on=lambda: False).code == "STOPPED"
    assert time.monotonic() - began < 10


def test_what_a_dead_worker_left_behind_is_found_by_its_mark(turn, program):
    program("subprocess.Popen(['sleep', '60'], start_new_session=True)")
    run(turn)
    assert end_leftovers(turn.mark) == 1
    assert end_leftovers("another mark") == 0


class TestChoosing:
    def test_a_runner_that_is_named_and_unknown_is_told(self, settings):
        settings.RUNNER = "telepathy"
        with pytest.raises(RunnerError) as error:
            choose_runner()
        assert error.value.code == "NO_RUNNER" and error.value.started is False
        assert "RUNNER names “telepathy”, which is none of:" in error.value.message

    @pytest.mark.parametrize(
        ("command", "lacking"),
        [
            ("{openclaw} agent", "RUNNER_COMMAND has no {message}: the agent would not be told what to do."),
            ("sh -c 'unclosed {message}", "RUNNER_COMMAND cannot be read: No closing quotation."),
            (
                "/nowhere/x {message}",
                "The program “/nowhere/x” was not found: set OPENCLAW_BIN or RUNNER_COMMAND.",
            ),
        ],
    )
    def test_what_is_lacking_is_said_exactly(self, settings, command, lacking):
        settings.RUNNER, settings.RUNNER_COMMAND = "command", command
        with pytest.raises(RunnerError) as error:
            choose_runner()
        assert error.value.message == f"No runner is configured, so no agent was started. command: {lacking}"

    def test_the_first_that_is_ready_is_taken_and_one_can_be_put_before_it(
        self, settings, program, monkeypatch
    ):
        program("")
        monkeypatch.setattr(runners, "RUNNERS", [CommandRunner()])
        assert choose_runner().name == "command"

        class Other(CommandRunner):
            name = "other"

            def missing(self):
                return ""

        runners.register_runner(Other())
        assert choose_runner().name == "other"
        settings.RUNNER = "command"
        assert choose_runner().name == "command"
        assert os.environ.get("RUNNER") is None
