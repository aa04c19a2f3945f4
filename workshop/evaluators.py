"""Evaluators: programs that judge a proposal (spec §2.5).

Two kinds: a Python entry point in the group `openclaw_web.workshop_evaluators` (a callable that takes the bundle
and returns the verdict), and a command from the setting `WORKSHOP_EVALUATORS` (reads the bundle as one JSON object
on standard input, prints the verdict as one JSON object). A verdict is
`{"decision": "pass"|"revise"|"block", "findings"?: [...], "metrics"?: {...}, "summary"?: str}`. Whatever goes
wrong in an evaluator becomes an outcome with its name on it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from django.conf import settings

GROUP = "openclaw_web.workshop_evaluators"
REQUEST_SCHEMA = "openclaw-web.evaluation-request.v1"
DECISIONS = ("pass", "revise", "block")
DEFAULT_TIMEOUT_SECONDS = 60
MAX_OUTPUT_BYTES = 1_048_576
_KEPT_ENV = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")


class EvaluatorFailed(Exception):
    """An evaluator that could not be run or did not answer in its form."""


@dataclass(frozen=True, slots=True)
class Evaluator:
    """`run` takes the request and returns the verdict; it may raise anything."""

    plugin_id: str
    evaluator_id: str
    run: Callable[[dict[str, Any]], Any]
    version: str = ""


def evaluators() -> list[Evaluator]:
    """All that are registered, entry points first."""
    return [*_from_entry_points(), *_from_settings()]


@cache
def _points() -> tuple[EntryPoint, ...]:
    """Looked up once a process: it reads the metadata of every installed package."""
    return tuple(sorted(entry_points(group=GROUP), key=lambda point: point.name))


def _from_entry_points() -> Iterator[Evaluator]:
    for point in _points():
        name = point.dist.name if point.dist else point.module
        version = point.dist.version if point.dist else ""

        def run(request: dict[str, Any], point: Any = point) -> Any:
            return point.load()(request)

        yield Evaluator(name, point.name, run, version)


def _from_settings() -> Iterator[Evaluator]:
    for row in settings.WORKSHOP_EVALUATORS:
        command = [str(part) for part in row["command"]]
        timeout = float(row.get("timeout", DEFAULT_TIMEOUT_SECONDS))

        def run(request: dict[str, Any], command: list[str] = command, timeout: float = timeout) -> Any:
            return run_command(command, request, timeout)

        yield Evaluator("command", str(row["id"]), run)


def run_command(command: list[str], request: dict[str, Any], timeout: float) -> Any:
    """Run a command evaluator. Raises EvaluatorFailed with a sentence of ours; the program's own error output
    is cut to its last line."""
    env = {key: os.environ[key] for key in _KEPT_ENV if key in os.environ}
    body = json.dumps(request).encode()
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                cwd=folder,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise EvaluatorFailed(f"cannot start {command[0]}: {error.strerror}") from error
        try:
            process.communicate(body, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise EvaluatorFailed(f"no verdict within {timeout:g} s") from error
        finally:
            # The whole group: a program that has answered may have left children behind.
            _kill_group(process.pid)
            process.wait()
        out.seek(0)
        err.seek(0)
        text, errors = out.read(MAX_OUTPUT_BYTES + 1), err.read(65_536).decode(errors="replace").strip()
    if process.returncode != 0:
        raise EvaluatorFailed(f"exit status {process.returncode}: {(errors.splitlines() or [''])[-1][:300]}")
    if len(text) > MAX_OUTPUT_BYTES:
        raise EvaluatorFailed(f"more than {MAX_OUTPUT_BYTES} bytes of output")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EvaluatorFailed("the output is not one JSON object") from error


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def checked(verdict: Any) -> dict[str, Any]:
    """A verdict in its form. Raises EvaluatorFailed."""
    if not isinstance(verdict, dict) or verdict.get("decision") not in DECISIONS:
        raise EvaluatorFailed(f"no decision, which must be one of {', '.join(DECISIONS)}")
    shapes = {"findings": list, "metrics": dict, "summary": str}
    for key, shape in shapes.items():
        if key in verdict and not isinstance(verdict[key], shape):
            raise EvaluatorFailed(f"{key} has the wrong form")
    return {key: verdict[key] for key in ("decision", *shapes) if key in verdict}


def evaluate(request: dict[str, Any], found: list[Evaluator]) -> list[dict[str, Any]]:
    """One outcome per evaluator (contract §2.7)."""
    outcomes = []
    for evaluator in found:
        outcome: dict[str, Any] = {"pluginId": evaluator.plugin_id}
        if evaluator.version:
            outcome["pluginVersion"] = evaluator.version
        outcome["evaluatorId"] = evaluator.evaluator_id
        try:
            outcome |= {"status": "completed", "result": checked(evaluator.run(request))}
        except Exception as error:  # noqa: BLE001 - a foreign program's fault is an attributed result
            outcome |= {"status": "error", "error": str(error)[:2000] or type(error).__name__}
        outcomes.append(outcome)
    return outcomes


def blockers(evaluation: dict[str, Any]) -> list[str]:
    """Ids of the evaluators whose completed verdict is `block`."""
    return [
        outcome["evaluatorId"]
        for outcome in evaluation.get("outcomes", [])
        if outcome.get("status") == "completed" and outcome.get("result", {}).get("decision") == "block"
    ]
