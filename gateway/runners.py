"""Who runs a turn: one seam, and the runner for any agent command line.

A runner takes (agent, session, message, time limit) and gives text, usage and files, or a RunnerError that says
whether the agent started: only where it certainly did not may a turn be tried again. Source: spec/plans.md §4.
Runners of other apps register themselves when Django starts, the way transports do.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.utils.translation import gettext as _

from gateway.errors import AppError
from gateway.tied import tie_to_parent

RUN_MARK = "OPENCLAW_WEB_RUN"
# A program says with this status (EX_TEMPFAIL) that the agent's turn did not begin.
NOT_STARTED_STATUS = 75
LONGEST_TEXT = 1_000_000
LONGEST_ARGUMENT = 120_000
GRACE_SECONDS = 5.0
# Ours alone: an agent's program gets the rest of the environment.
KEPT_BACK = ("SECRET_KEY", "DATABASE_URL", "Q_BROKER_URL", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True, slots=True)
class Turn:
    """One isolated turn. `time_limit` in seconds; `mark` names the run in the program's environment."""

    agent_id: str
    session_key: str
    message: str
    time_limit: int
    workspace: Path
    mark: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a turn: the agent's final text, `usage` (`input`, `output`, `total` tokens, `model`) where known,
    `files` as paths relative to the workspace where the runner knows them."""

    text: str
    usage: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()


class RunnerError(AppError):
    """A turn that gave no reply. `started`: False only where the agent certainly did not begin, None for unknown.

    Codes: `NO_RUNNER`, `NOT_STARTED`, `AGENT_FAILED`, `TIMEOUT`, `STOPPED`. `text` is what had come until then.
    """

    def __init__(self, message: str, *, code: str, started: bool | None, text: str = "") -> None:
        super().__init__(message, code=code, details={"agentStarted": started})
        self.started = started
        self.text = text


class Runner(Protocol):
    name: str

    def missing(self) -> str:
        """Empty when it can run; else one sentence saying exactly what to configure."""

    def run(self, turn: Turn, *, on_start: Callable[[int], None], go_on: Callable[[], bool]) -> Reply:
        """Runs to the end, calling `on_start(pid or 0)` once and `go_on` at least every second; where that answers
        False the turn is stopped. Raises RunnerError."""


class CommandRunner:
    """Any agent command line, by the argv template RUNNER_COMMAND. No shell ever sees the message."""

    name = "command"

    def missing(self) -> str:
        try:
            argv = self._template()
        except ValueError as error:
            return _("RUNNER_COMMAND cannot be read: %(why)s.") % {"why": error}
        if not any("{message}" in part for part in argv):
            return _("RUNNER_COMMAND has no {message}: the agent would not be told what to do.")
        if shutil.which(argv[0]) is None:
            return _("The program “%(program)s” was not found: set OPENCLAW_BIN or RUNNER_COMMAND.") % {
                "program": argv[0]
            }
        return ""

    def run(self, turn: Turn, *, on_start: Callable[[int], None], go_on: Callable[[], bool]) -> Reply:
        argv = self._argv(turn)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                child = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=turn.workspace,
                    env=_environment(turn),
                    start_new_session=True,
                    preexec_fn=tie_to_parent,
                )
            except OSError as error:
                message = _("The program “%(program)s” could not be started: %(why)s.")
                raise RunnerError(
                    message % {"program": argv[0], "why": error.strerror or error},
                    code="NOT_STARTED",
                    started=False,
                ) from error
            try:
                on_start(child.pid)
                _wait(child, turn, go_on, lambda: _head(out))
            finally:
                _end_group(child)
            return _reply(child.returncode, _head(out), _tail(err))

    @staticmethod
    def _template() -> list[str]:
        return [
            settings.OPENCLAW_BIN if part == "{openclaw}" else part
            for part in shlex.split(settings.RUNNER_COMMAND)
        ] or ["openclaw"]

    def _argv(self, turn: Turn) -> list[str]:
        if len(turn.message.encode()) > LONGEST_ARGUMENT:
            message = _("The message is too long for a command line (over %(limit)d bytes).")
            raise RunnerError(message % {"limit": LONGEST_ARGUMENT}, code="NOT_STARTED", started=False)
        values = {
            "{message}": turn.message,
            "{session}": turn.session_key,
            "{agent}": turn.agent_id,
            "{workspace}": str(turn.workspace),
            "{timeout}": str(turn.time_limit),
        }
        return [_filled(part, values) for part in self._template()]


def _filled(part: str, values: dict[str, str]) -> str:
    """The marks of the template only: braces inside the message are text, so each part is cut before it is filled."""
    for mark, value in values.items():
        if mark in part:
            return value.join(_filled(piece, values) for piece in part.split(mark))
    return part


def _environment(turn: Turn) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in KEPT_BACK}
    return {
        **kept,
        RUN_MARK: turn.mark,
        "OPENCLAW_SESSION_KEY": turn.session_key,
        "OPENCLAW_AGENT_ID": turn.agent_id,
        "OPENCLAW_STATE_DIR": str(settings.OPENCLAW_STATE_DIR),
    }


def _wait(
    child: subprocess.Popen[bytes], turn: Turn, go_on: Callable[[], bool], so_far: Callable[[], str]
) -> None:
    end = time.monotonic() + turn.time_limit
    pause = 0.02
    while child.poll() is None:
        if time.monotonic() >= end:
            _end_group(child)
            message = _(
                "The time limit of %(seconds)d s was reached. What the agent had begun may still go on."
            )
            raise RunnerError(
                message % {"seconds": turn.time_limit}, code="TIMEOUT", started=True, text=so_far()
            )
        if not go_on():
            _end_group(child)
            raise RunnerError(_("The run was stopped."), code="STOPPED", started=True, text=so_far())
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Ask the program and all it started to end, then make them."""
    for wanted in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, wanted)
        except (ProcessLookupError, PermissionError):
            break
        if child.poll() is not None and wanted == signal.SIGTERM:
            continue
        try:
            child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


def _head(stream: Any) -> str:
    stream.seek(0)
    return bytes(stream.read(LONGEST_TEXT)).decode("utf-8", "replace").replace("\x00", "\ufffd")


def _tail(stream: Any) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - 4000, 0))
    return bytes(stream.read()).decode("utf-8", "replace").replace("\x00", "\ufffd").strip()


def _reply(status: int, out: str, err: str) -> Reply:
    if status == NOT_STARTED_STATUS:
        reason = err or _("the program said so (status 75)")
        raise RunnerError(
            _("The agent did not start: %(why)s") % {"why": reason},
            code="NOT_STARTED",
            started=False,
            text=out,
        )
    if status != 0:
        what = _("signal %(n)d") % {"n": -status} if status < 0 else _("status %(n)d") % {"n": status}
        message = _("The program ended with %(what)s. %(why)s") % {"what": what, "why": err[-1000:]}
        raise RunnerError(message.strip(), code="AGENT_FAILED", started=True, text=out)
    return _read_json(out) or Reply(out.strip())


def _read_json(out: str) -> Reply | None:
    """The answer of `openclaw agent --json` (contract §4.3): `result.payloads[].text`, `result.meta.agentMeta`."""
    try:
        answer = json.loads(out)
    except ValueError:
        return None
    result = _object(answer, "result") or _object({"it": answer}, "it")
    payloads = result.get("payloads")
    if not isinstance(payloads, list):
        return None
    texts = [str(item["text"]) for item in payloads if isinstance(item, dict) and item.get("text")]
    agent = _object(_object(result, "meta"), "agentMeta")
    usage = _object(agent, "usage")
    known: dict[str, Any] = {
        key: usage[key] for key in ("input", "output", "cacheRead", "cacheWrite", "total") if key in usage
    }
    if agent.get("model"):
        known["model"] = str(agent["model"])
    return Reply("\n\n".join(texts), known)


def _object(holder: Any, key: str) -> dict[str, Any]:
    """The JSON object under `key`, or an empty one where there is none or something else."""
    found = holder.get(key) if isinstance(holder, dict) else None
    return found if isinstance(found, dict) else {}


RUNNERS: list[Runner] = [CommandRunner()]


def register_runner(runner: Runner) -> None:
    """Puts `runner` before the others, in place of one of the same name."""
    RUNNERS[:] = [runner, *(other for other in RUNNERS if other.name != runner.name)]


def choose_runner() -> Runner:
    """The runner named by RUNNER, else the first that is ready. Raises RunnerError `NO_RUNNER` saying what to set."""
    wanted = settings.RUNNER
    candidates = [runner for runner in RUNNERS if not wanted or runner.name == wanted]
    lacking = []
    for runner in candidates:
        missing = runner.missing()
        if not missing:
            return runner
        lacking.append(f"{runner.name}: {missing}")
    if not candidates:
        lacking.append(
            _("RUNNER names “%(name)s”, which is none of: %(known)s.")
            % {"name": wanted, "known": ", ".join(runner.name for runner in RUNNERS)}
        )
    message = _("No runner is configured, so no agent was started. %(lacking)s") % {
        "lacking": " ".join(lacking)
    }
    raise RunnerError(message, code="NO_RUNNER", started=False)


def end_leftovers(mark: str) -> int:
    """End the processes on this host that a dead worker's turn left behind; returns how many were told to."""
    wanted = f"{RUN_MARK}={mark}".encode()
    found = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
                found += 1
        except (OSError, ValueError):
            continue
    return found
