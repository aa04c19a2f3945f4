"""A world of real processes: its own database, broker, data dir and workspace, none of it pytest's."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class World:
    def __init__(self, folder: Path, *, database: str = "", broker: str = "", **environment: str) -> None:
        self.folder = folder
        self.count = folder / "executions"
        self.count.write_text("")
        program = ROOT / "tests/plans/agent_program.py"
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
            "OPENCLAW_WEB_DATA_DIR": str(folder / "data"),
            "OPENCLAW_STATE_DIR": str(folder / "state"),
            "RUNNER": "command",
            "RUNNER_COMMAND": f"{sys.executable} {program} --session {{session}} --message {{message}}",
            "RUN_WORKERS": "2",
            "Q_WORKERS": "1",
            "AGENT_COUNT_FILE": str(self.count),
            "LOG_LEVEL": "ERROR",
            **environment,
        }
        if database:
            self.environment["DATABASE_URL"] = database
        if broker:
            self.environment["Q_BROKER_URL"] = broker
        self.processes: list[subprocess.Popen] = []

    def start(self, what: str, *, queue: str = "", **options: object) -> subprocess.Popen:
        environment = {**self.environment, **({"Q_CLUSTER_NAME": queue} if queue else {})}
        log = (self.folder / f"log-{len(self.processes)}").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.plans.process", what, json.dumps(options)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def do(self, what: str, **options: object):
        """Run one process to its end and give what it told; None when it was killed."""
        process = self.start(what, **options)
        out, _none = process.communicate(timeout=120)
        if process.returncode == -signal.SIGKILL:
            return None
        log = (self.folder / f"log-{self.processes.index(process)}").read_text()
        assert process.returncode == 0, log
        return json.loads(out.splitlines()[-1])

    def executions(self) -> list[str]:
        """The sessions of the programs that really ran, one for each execution."""
        return [line.split()[0] for line in self.count.read_text().splitlines()]

    def wait(self, what: str, done, *, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"waited {seconds} s for: {what}\n{self.logs()}"
            time.sleep(0.3)

    def wait_for_end(self, *, seconds: float = 60) -> list[dict]:
        """Until no run is queued or running; gives the rows."""
        rows: list[dict] = []

        def ended() -> bool:
            rows[:] = self.do("rows")
            return bool(rows) and all(row["status"] == "ended" for row in rows)

        self.wait("all runs to end", ended, seconds=seconds)
        return rows

    def logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("log-*")))

    def kill(self, process: subprocess.Popen) -> None:
        """Everything of that process, as by a power cut."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def close(self) -> None:
        for process in self.processes:
            self.kill(process)
            if process.stdout:
                process.stdout.close()
