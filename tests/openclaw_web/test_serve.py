"""`script/server`, as a person starts and stops it."""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from openclaw_web import serve

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.cluster


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, seconds: float = 40):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := what():
                return found
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("it did not happen in time")


def children(pid: int) -> dict[int, str]:
    """Direct children of a process: pid → command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int(re.search(r"PPid:\s+(\d+)", (entry / "status").read_text())[1])
            if parent == pid:
                found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
        except (OSError, TypeError):
            continue
    return found


@pytest.fixture
def server(tmp_path):
    """A running server started from another directory: (process, port, its environment, its output file)."""
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OPENCLAW_WEB_DATA_DIR": str(tmp_path / "data dir"),
        "OPENCLAW_STATE_DIR": str(tmp_path / "state"),
    }
    output = tmp_path / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [str(ROOT / "script/server"), "--port", str(port)],
            cwd=tmp_path,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    yield process, port, environment, output
    if process.poll() is None:
        process.terminate()
        process.wait(40)


def alive(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as response:
        return json.load(response)["ok"]


def test_it_starts_says_where_is_supervised_and_stops_cleanly(server, tmp_path):
    process, port, environment, output = server
    wait_for(lambda: "Ctrl-C stops it." in output.read_text(), 90)
    assert alive(port)  # who follows the words at once finds a page
    text = output.read_text()
    assert f"http://127.0.0.1:{port}/" in text
    assert re.search(r"One-time setup code: [2-9A-Z]{4}-[2-9A-Z]{4}-[2-9A-Z]{4}\n", text)

    again = subprocess.run(
        [str(ROOT / "script/server"), "--port", str(port + 1)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert again.returncode == 1
    assert (
        f"already runs on this data dir ({tmp_path / 'data dir'}): http://127.0.0.1:{port}/" in again.stderr
    )

    def both():
        lines = children(process.pid)
        web = [pid for pid, line in lines.items() if "uvicorn" in line]
        cluster = [pid for pid, line in lines.items() if "manage.py cluster" in line]
        return (web[0], cluster[0]) if web and cluster else None

    web, cluster = wait_for(both)
    os.kill(web, signal.SIGKILL)
    os.kill(cluster, signal.SIGKILL)
    web2, cluster2 = wait_for(lambda: (pair := both()) and not {web, cluster} & set(pair) and pair)
    wait_for(lambda: alive(port))

    process.send_signal(signal.SIGINT)
    assert process.wait(45) == 0
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in (web2, cluster2)), 10)
    with pytest.raises(OSError):
        alive(port)


def test_a_killed_supervisor_leaves_nothing_running(server):
    process, port, _environment, _output = server
    wait_for(lambda: alive(port), 90)
    started = wait_for(lambda: (found := children(process.pid)) and len(found) >= 4 and found)
    everybody = {pid for parent in started for pid in (parent, *children(parent))}
    process.kill()
    process.wait(10)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in everybody), 60)


def test_a_port_in_use_is_said_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            [str(ROOT / "script/server"), "--port", str(taken.getsockname()[1])],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "OPENCLAW_WEB_DATA_DIR": str(tmp_path / "data"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 1
    assert re.search(
        r"^Port \d+ on 127\.0\.0\.1 cannot be used \(.+\): try script/server --port \d+$", done.stderr, re.M
    )


def test_a_demo_looks_at_no_configuration_of_the_persons_own(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENCLAW_WEB_DATA_DIR", str(tmp_path))
    for name in ("OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    for name in ("OPENCLAW_WEB_HOST", "OPENCLAW_WEB_PORT"):
        monkeypatch.setenv(name, os.environ.get(name, "8000" if "PORT" in name else "127.0.0.1"))
    monkeypatch.setattr("sys.argv", ["server", "--demo"])
    (tmp_path / "demo").mkdir()
    with (tmp_path / "demo" / "server.lock").open("w") as lock:
        # So that it ends before it starts anything.
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match="already runs"):
            serve.main()
    assert os.environ["OPENCLAW_STATE_DIR"] == str(tmp_path / "demo" / "openclaw")
    assert os.environ["OPENCLAW_CONFIG_PATH"] == ""
