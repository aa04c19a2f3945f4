"""The seed's three acceptance rules with a real cluster, its own schedules, and shortened intervals.

The `openclaw` program here is a small one of ours that stands for the sessions: what it takes in lies in a file
a session, as a history would.
"""

import json
import sqlite3
import sys
import time

import pytest

from .live import make_dashboard

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

PROGRAM = """#!{python}
import json, pathlib, sys
params = json.loads(sys.argv[sys.argv.index("--params") + 1])
if params["key"] == "agent:main:gone":
    print(json.dumps({{"ok": False, "error": {{"message": "no such session"}}}}))
    sys.exit(1)
with open(pathlib.Path({folder!r}) / params["key"].replace(":", "_"), "a", encoding="utf-8") as history:
    history.write(json.dumps(params, ensure_ascii=False) + "\\n")
print(json.dumps({{"runId": params["idempotencyKey"], "status": "started"}}))
"""
SCRIPT = "python3 skills/long-run-mode/scripts/task_state.py"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("acceptance")
    sessions = folder / "sessions"
    sessions.mkdir()
    program = folder / "openclaw"
    program.write_text(PROGRAM.format(python=sys.executable, folder=str(sessions)))
    program.chmod(0o755)
    dashboard = make_dashboard(folder, OPENCLAW_BIN=str(program), DELIVERY_COOLDOWN_SECONDS="20")
    dashboard.serve()
    for task, session, extra in (
        ("看得见", "agent:main:seen", "--progress-every 15s --quiet-limit 1h"),
        ("发不出", "agent:main:gone", "--progress-every 15s --quiet-limit 1h"),
        ("失联", "agent:main:lost", "--progress-every 1h --quiet-limit 20s"),
    ):
        command = f"{SCRIPT} set --task {task} --state executing --origin-session-key {session} --goal 整理 --note 下一份 {extra}"
        made = dashboard.run(command)
        assert made.returncode == 0, made.stderr
    dashboard.start(sys.executable, "manage.py", "cluster")
    yield dashboard
    dashboard.stop()


def history(dashboard, session):
    path = dashboard.folder / "sessions" / session.replace(":", "_")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def wait_for(condition, seconds=200):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(3)
    raise AssertionError("it did not come about in time")


def row(dashboard, name):
    with sqlite3.connect(dashboard.folder / "db.sqlite3", timeout=20) as database:
        database.row_factory = sqlite3.Row
        return database.execute("SELECT * FROM longrun_longtask WHERE name = ?", [name]).fetchone()


def hurry(dashboard):
    """Makes the schedules due at once instead of once a minute: their interval, shortened."""
    with sqlite3.connect(dashboard.folder / "db.sqlite3", timeout=20) as database:
        database.execute("UPDATE django_q_schedule SET next_run = datetime('now', '-1 second')")


def test_visibility_at_least_two_short_progresses_by_itself(world):
    def two_are_there():
        hurry(world)
        return len(history(world, "agent:main:seen")) >= 2

    wait_for(two_are_there)
    first, second = history(world, "agent:main:seen")[:2]
    assert first["message"] == "【看得见】\n正在看：整理\n刚确认：还没有新的确认\n下一步：下一份"
    assert first["idempotencyKey"] != second["idempotencyKey"]
    wait_for(lambda: row(world, "看得见")["last_progress_at"] is not None, 10)
    assert row(world, "看得见")["undelivered"] == 0


def test_honesty_a_failed_sending_shows_its_time_and_reason(world):
    wait_for(lambda: row(world, "发不出")["last_progress_attempt_at"] is not None)
    task = row(world, "发不出")
    assert task["last_progress_error"] == "no such session"
    assert (task["last_progress_at"], task["last_progress_sent_at"]) == (None, None)
    shown = world.run(f"{SCRIPT} get --task 发不出")
    assert json.loads(shown.stdout)["last_progress_error"] == "no such session"


def test_recovery_a_lost_task_really_gets_its_message_in_its_session(world):
    wait_for(lambda: history(world, "agent:main:lost"))
    [message] = history(world, "agent:main:lost")
    assert message["message"].startswith("【失联】已失联 ")
    wait_for(lambda: row(world, "失联")["finding"] == "lost", 10)
    with sqlite3.connect(world.folder / "db.sqlite3", timeout=20) as database:
        found = database.execute(
            "SELECT outcome, attempt_count FROM gateway_delivery WHERE purpose = 'recovery'"
        ).fetchall()
    assert found == [("delivered", 1)]
