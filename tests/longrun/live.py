"""A dashboard of our own for a test: a real web server, a real workspace, on a database of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Dashboard:
    """`folder` holds everything; `env` is what its processes run with."""

    folder: Path
    port: int
    env: dict[str, str]
    processes: list[subprocess.Popen] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def workspace(self) -> Path:
        return self.folder / "state" / "workspace"

    def manage(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            check=check,
        )

    def serve(self) -> None:
        """Starts the web server and waits until it answers."""
        command = [sys.executable, "-m", "uvicorn", "openclaw_web.asgi:application", "--port", str(self.port)]
        self.start(*command, "--lifespan", "off", "--log-level", "warning")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the web server did not start")

    def start(self, *command: str) -> subprocess.Popen:
        process = subprocess.Popen(command, cwd=ROOT, env=self.env, start_new_session=True)
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        self.processes.clear()

    def run(self, command: str, **env: str) -> subprocess.CompletedProcess:
        """A command line as an agent types it, in its workspace, with nothing of ours in its environment."""
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", **env}
        return subprocess.run(
            command, shell=True, cwd=self.workspace, env=plain, capture_output=True, text=True, timeout=60
        )

    def rpc(self, method: str, **params: object) -> dict:
        answer = self.manage("rpc", method, "--params", json.dumps(params), check=False)
        return json.loads(answer.stdout)


def make_dashboard(folder: Path, **settings: str) -> Dashboard:
    """Database, state dir with the workspace of `main`, and the skills installed in it; nothing runs yet."""
    (folder / "state" / "workspace").mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **{
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("OPENCLAW", "LONG_RUN", "PYTEST"))
        },
        "OPENCLAW_STATE_DIR": str(folder / "state"),
        "OPENCLAW_WEB_DATA_DIR": str(folder / "data"),
        "DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}",
        "OPENCLAW_BIN": "",
        "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
        **settings,
    }
    dashboard = Dashboard(folder, port, env)
    dashboard.manage("migrate", "-v0")
    dashboard.manage("createcachetable")
    dashboard.manage("skills", "install", "--agent", "main", "--url", dashboard.url)
    return dashboard
