"""Starts and talks to `worker.py`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where the first freshly migrated data folder of this pytest process was kept, to be copied by the next.
_migrated: list[Path] = []
WORKER = Path(__file__).with_name("worker.py")


class Worker:
    def __init__(self, env, fault=""):
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**env, "OPENCLAW_WEB_FAULT": fault},
            cwd=ROOT,
            text=True,
        )

    def wait_ready(self):
        assert json.loads(self.process.stdout.readline()) == {"ready": True}
        return self

    def send(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, **request):
        self.send(**request)
        return self.receive()

    def rpc(self, method, **params):
        return self.ask(method=f"skills.{method}", params={"agentId": "main", **params})

    def must(self, method, **params):
        answer = self.rpc(method, **params)
        assert answer["ok"], answer
        return answer["payload"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def environment(folder: Path, database_url: str = "") -> dict[str, str]:
    """A world of its own: state folder with two agents, data folder, migrated database."""
    state = folder / "openclaw"
    state.mkdir(parents=True)
    entries = {name: {"workspace": str(state / f"workspace-{name}")} for name in ("main", "ops")}
    (state / "openclaw.json").write_text(json.dumps({"agents": {"entries": entries}}))
    env = {
        **os.environ,
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_WEB_DATA_DIR": str(folder / "data"),
        "OPENCLAW_BIN": "",
    }
    env.pop("DATABASE_URL", None)
    if database_url:
        env["DATABASE_URL"] = database_url
    if not database_url and _migrated:
        shutil.copytree(_migrated[0], folder / "data")
        return env
    for command in (["migrate", "-v0"], ["createcachetable"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=env, check=True)
    if not database_url:
        _migrated.append(folder / "empty-data")
        shutil.copytree(folder / "data", _migrated[0])
    return env
