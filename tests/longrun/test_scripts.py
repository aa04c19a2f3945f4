"""The seed's command lines, typed as they stand there, as processes in an installed workspace."""

import http.server
import json
import os
import sqlite3
import subprocess
import threading

import pytest

from .live import make_dashboard

pytestmark = pytest.mark.slow

S = "python3 skills/long-run-mode/scripts"
KEY = "agent:main:main"


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory):
    made = make_dashboard(tmp_path_factory.mktemp("dashboard"))
    made.serve()
    yield made
    made.stop()


def answer_of(dashboard, command, status=0, **env):
    done = dashboard.run(command, **env)
    assert done.returncode == status, (command, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def register(dashboard, task, state="executing", **more):
    extra = " ".join(f'--{name.replace("_", "-")} "{value}"' for name, value in more.items())
    return answer_of(
        dashboard,
        f"""{S}/task_state.py set \\
  --task "{task}" \\
  --session "主会话" \\
  --origin-session-key "{KEY}" \\
  --state "{state}" \\
  --goal "整理三季度供应商合同" \\
  --done-when "每份合同都有到期日" \\
  --blocked-when "缺登录" \\
  --boundary "主会话" \\
  --next-check "10m" \\
  --note "核对第 214 份" \\
  --progress-every "3m" {extra}""",
    )


MOMENTS = (
    "created_at", "started_at", "updated_at", "last_advance_at", "last_visible_reply_at", "last_tool_result_at",
    "last_progress_at", "activity_at", "idle_since", "progress_due_at", "watch_at",
)  # fmt: skip


def back_date(dashboard, task, seconds):
    """Moves a task's past away, as if the time had gone by."""
    moved = ", ".join(
        f"{name} = strftime('%Y-%m-%d %H:%M:%f', {name}, '-{seconds} seconds')" for name in MOMENTS
    )
    with sqlite3.connect(dashboard.folder / "db.sqlite3", timeout=20) as database:
        database.execute(f"UPDATE longrun_longtask SET {moved} WHERE name = ?", [task])


def test_a_task_is_set_validated_shown_and_listed(dashboard):
    made = register(dashboard, "合同一", state="analyzing")
    assert (made["ok"], made["state"], made["origin_session_key"], made["bound"]) == (
        True,
        "analyzing",
        KEY,
        False,
    )
    valid = answer_of(
        dashboard, f'{S}/validate_task_start.py \\\n  --task "合同一" \\\n  --expect-session-key "{KEY}"'
    )
    assert (valid["ok"], valid["reasons"]) == (True, [])
    assert answer_of(dashboard, f'{S}/task_state.py get --task "合同一"')["bound"] is True
    assert "合同一" in [task["task"] for task in answer_of(dashboard, f"{S}/task_state.py list")["tasks"]]


def test_a_start_without_a_real_key_is_refused_and_stores_nothing(dashboard):
    done = dashboard.run(f'{S}/task_state.py set --task "没有会话" --state executing --goal x')
    assert done.returncode == 1
    refused = json.loads(done.stdout)
    assert (refused["ok"], refused["error"]["details"]["code"]) == (False, "SESSION_KEY_MISSING")
    assert len(done.stderr.strip().splitlines()) == 1
    done = dashboard.run(f'{S}/task_state.py get --task "没有会话"')
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (1, False)


def test_a_wrong_session_key_is_not_bound(dashboard):
    register(dashboard, "合同错")
    done = dashboard.run(
        f'{S}/validate_task_start.py --task "合同错" --expect-session-key "agent:main:other"'
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
    assert "agent:main:other" in done.stderr


def test_the_sessions_index_of_the_host_is_asked(dashboard, tmp_path):
    register(dashboard, "索引")
    index = tmp_path / "sessions.json"
    index.write_text("{}")
    command = f'{S}/validate_task_start.py --task "索引" --expect-session-key "{KEY}"'
    assert answer_of(dashboard, command, 1, OPENCLAW_SESSIONS_FILE=str(index))["session_in_index"] is False
    index.write_text(json.dumps({KEY: {}}))
    assert answer_of(dashboard, command, OPENCLAW_SESSIONS_FILE=str(index))["session_in_index"] is True
    done = dashboard.run(command, OPENCLAW_SESSIONS_FILE=str(tmp_path / "none.json"))
    assert (done.returncode, done.stdout) == (3, "")


def test_the_work_loop_says_must_send_now_until_it_was_received(dashboard):
    register(dashboard, "循环", progress_every="5s")
    quiet = answer_of(dashboard, f'{S}/work_cycle_tick.py --task "循环" --step "读了第 213 份"')
    assert quiet["must_send_now"] is False
    back_date(dashboard, "循环", 6)
    due = answer_of(dashboard, f'{S}/work_cycle_tick.py --task "循环" --step "读了第 214 份"')
    assert due["must_send_now"] is True
    assert "刚确认：读了第 214 份" in due["message"]
    assert answer_of(dashboard, f'{S}/foreground_tick.py --task "循环"')["must_send_now"] is True
    received = answer_of(dashboard, f'{S}/task_state.py touch-progress --task "循环"')
    assert received["last_progress_at"] and received["last_message"]["outcome"] == "delivered"
    assert answer_of(dashboard, f'{S}/foreground_tick.py --task "循环"')["must_send_now"] is False


def test_a_progress_in_two_steps_and_its_failure(dashboard):
    register(dashboard, "两步")
    assert answer_of(dashboard, f'{S}/check_foreground_progress.py --task "两步"')["due"] is False
    built = answer_of(dashboard, f'{S}/build_progress_update.py --task "两步"')
    assert built["sessionKey"] == KEY
    failed = answer_of(
        dashboard,
        f'{S}/task_state.py mark-progress-attempt \\\n  --task "两步" \\\n  --error "channel closed"',
    )
    assert failed["last_progress_at"] is None
    assert failed["last_progress_error"] == "channel closed"
    assert failed["last_progress_attempt_at"]


def test_a_timeout_is_unknown_and_a_late_word_makes_it_delivered(dashboard):
    register(dashboard, "超时")
    built = answer_of(dashboard, f'{S}/build_progress_update.py --task "超时"')
    unknown = answer_of(dashboard, f'{S}/task_state.py mark-progress-attempt --task "超时" --error "timeout"')
    assert (unknown["last_message"]["outcome"], unknown["last_progress_at"]) == ("unknown", None)
    cooling = answer_of(dashboard, f'{S}/foreground_tick.py --task "超时"')
    assert cooling["must_send_now"] is False and cooling["cooldown_until"]
    late = answer_of(
        dashboard, f'{S}/task_state.py touch-progress --task "超时" --delivery {built["deliveryId"]}'
    )
    assert late["last_message"]["outcome"] == "delivered"


def test_touch_progress_out_of_the_blue_is_refused(dashboard):
    register(dashboard, "凭空")
    refused = answer_of(dashboard, f'{S}/task_state.py touch-progress --task "凭空"', 1)
    assert refused["error"]["message"].startswith("No progress of this task is on its way")
    assert answer_of(dashboard, f'{S}/task_state.py get --task "凭空"')["last_progress_at"] is None


def test_due_progresses_are_events_and_a_plan_and_nothing_is_sent(dashboard):
    register(dashboard, "到点", progress_every="5s")
    back_date(dashboard, "到点", 6)
    events = answer_of(dashboard, f"{S}/emit_foreground_due.py")
    [event] = [event for event in events["events"] if event["task"] == "到点"]
    assert (event["delivery"], event["sessionKey"], event["session_label"]) == ("session", KEY, "主会话")
    assert "touch-progress" in event["onSuccess"]
    assert "mark-progress-attempt" in event["onError"]
    plan = answer_of(dashboard, f"{S}/dispatch_foreground_due.py", OPENCLAW_BIN="/opt/oc")
    [step] = [step for step in plan["plan"] if step["task"] == "到点"]
    assert step["command"][:4] == ["/opt/oc", "gateway", "call", "sessions.send"]
    assert plan["sent"] == 0
    assert answer_of(dashboard, event["onSuccess"])["last_progress_at"]


def test_silence_makes_a_resume_and_the_switch_alone_carries_it_out(dashboard):
    register(dashboard, "沉默")
    assert (
        answer_of(dashboard, f'{S}/keepalive_tick.py --task "沉默" --idle-seconds 60')["should_resume"]
        is False
    )
    back_date(dashboard, "沉默", 61)
    assert (
        answer_of(dashboard, f'{S}/keepalive_tick.py --task "沉默" --idle-seconds 60')["should_resume"]
        is True
    )
    event = answer_of(dashboard, f'{S}/emit_keepalive_resume.py --task "沉默" --idle-seconds 60')
    assert (event["delivery"], event["sessionKey"]) == ("session", KEY)
    assert event["onSuccess"].startswith("python3 skills/long-run-mode/scripts/task_state.py mark-resume")

    def mine(answer):
        return next(step for step in answer["plan"] if step["task"] == "沉默")

    plan = answer_of(dashboard, f"{S}/run_keepalive_once.py --idle-seconds 60")
    assert (plan["auto_resume"], plan["sent"]) == (False, 0)
    assert "outcome" not in mine(plan)
    carried = answer_of(
        dashboard, f"{S}/run_keepalive_once.py --idle-seconds 60", LONG_RUN_MODE_AUTO_RESUME="1"
    )
    # The agent holds a token, so the session's inbox is the way; it has not fetched it yet.
    assert mine(carried)["outcome"] == "unknown"
    inbox = answer_of(dashboard, f'{S}/session_inbox.py fetch --session-key "{KEY}"')
    [message] = [row for row in inbox["messages"] if row["id"] == mine(carried)["deliveryId"]]
    assert (message["receivedAt"], message["attempts"]) == (None, 1)
    answer_of(dashboard, f"{S}/run_keepalive_once.py --idle-seconds 60", LONG_RUN_MODE_AUTO_RESUME="1")
    acked = answer_of(dashboard, f"{S}/session_inbox.py ack {message['id']}")
    assert (acked["deliveries"][0]["outcome"], acked["deliveries"][0]["attempts"]) == ("delivered", 1)
    assert answer_of(dashboard, event["onSuccess"])["last_resume_at"]


def test_the_watchdog_finds_suggests_builds_and_pays_out(dashboard):
    register(dashboard, "失联")
    back_date(dashboard, "失联", 700)

    def mine(rows):
        return next(row for row in rows if row["task"] == "失联")

    assert mine(answer_of(dashboard, f"{S}/watchdog.py check")["findings"])["finding"] == "lost"
    line = dashboard.run(f"{S}/watchdog.py check --json").stdout
    assert len(line.strip().splitlines()) == 1
    assert mine(json.loads(line)["findings"])["evidence"]["says"] == "executing"
    assert (
        mine(answer_of(dashboard, f"{S}/recover_due_tasks.py --json")["recoveries"])["action"]
        == "send_recovery"
    )
    ran = answer_of(dashboard, f"{S}/run_watchdog_once.py")
    assert mine(ran["findings"])["finding"] == "lost"
    assert "sending" not in ran
    assert mine(answer_of(dashboard, f"{S}/emit_recovery_message.py")["messages"])["outcome"] is None
    built = answer_of(dashboard, f"{S}/build_sessions_send_payloads.py --json")
    assert (mine(built["payloads"])["tool"], built["sent"]) == ("sessions_send", 0)
    assert mine(built["payloads"])["command"][0] == "openclaw"
    assert answer_of(dashboard, f'{S}/task_state.py get --task "失联"')["state"] == "blocked"


def test_signs_of_life_and_tool_failures(dashboard):
    register(dashboard, "工具")
    assert answer_of(dashboard, f'{S}/task_state.py touch-reply --task "工具"')["last_visible_reply_at"]
    assert answer_of(dashboard, f'{S}/task_state.py touch-tool --task "工具"')["last_tool_result_at"]
    assert answer_of(dashboard, f'{S}/task_state.py touch-tool --task "工具" --running 14m')["quiet_until"]
    for count in (1, 2, 3):
        task = answer_of(dashboard, f'{S}/task_state.py touch-tool --task "工具" --failed --error "500"')
        assert task["state"] == ("blocked" if count == 3 else "executing")
    assert task["missing"] == "连续 3 次工具失败：500"


def test_cleanup_shows_and_clear_removes(dashboard):
    register(dashboard, "test-leftover")
    answer_of(dashboard, f'{S}/task_state.py set --task "test-leftover" --state done')
    shown = answer_of(dashboard, f"{S}/cleanup_state.py")
    assert [row["reason"] for row in shown["found"] if row["task"] == "test-leftover"] == ["test_leftover"]
    assert shown["removed"] == 0
    cleared = answer_of(dashboard, f'{S}/task_state.py clear --task "test-leftover"')
    assert cleared["removed"]["task"] == "test-leftover"


def test_the_loop_runs_passes_and_logs_them(dashboard, tmp_path):
    log = tmp_path / "watchdog.log"
    done = dashboard.run("skills/long-run-mode/scripts/watchdog_loop.sh 0 2", LOG_FILE=str(log))
    assert done.returncode == 0, done.stderr
    passes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["ok"] for one in passes] == [True, True]
    assert log.read_text() == done.stdout


def test_the_cron_line_is_shown_and_installed_only_when_told(dashboard, tmp_path):
    fake = tmp_path / "bin"
    fake.mkdir()
    table = tmp_path / "table"
    (fake / "crontab").write_text(f'#!/bin/sh\nif [ "$1" = -l ]; then cat {table}; else cat > {table}; fi\n')
    (fake / "crontab").chmod(0o755)
    table.write_text("0 1 * * * backup\n")
    env = {"PATH": f"{fake}:{os.environ['PATH']}", "LOG_FILE": str(tmp_path / "logs" / "watchdog.log")}
    script = "skills/long-run-mode/scripts/install_watchdog_cron.sh"
    shown = answer_of(dashboard, script, **env)
    assert shown["installed"] is False
    assert shown["line"].startswith("* * * * * ")
    assert table.read_text() == "0 1 * * * backup\n"
    for _ in range(2):
        assert answer_of(dashboard, f"{script} --apply", **env)["installed"] is True
    lines = table.read_text().splitlines()
    assert (len(lines), lines[0]) == (2, "0 1 * * * backup")
    command = lines[1].split("* * * * * ", 1)[1]
    done = subprocess.run(command, shell=True, env={**os.environ, "HOME": str(dashboard.folder)}, cwd="/")
    assert done.returncode == 0
    assert json.loads((tmp_path / "logs" / "watchdog.log").read_text())["ok"] is True


@pytest.mark.parametrize(
    ("says", "status", "left"),
    [("no crontab for ann", 0, 1), ("crontab: cannot open: Permission denied", 3, 0)],
)
def test_a_crontab_that_cannot_be_read_is_not_replaced(dashboard, tmp_path, says, status, left):
    fake = tmp_path / "crontab"
    table = tmp_path / "table"
    table.touch()
    fake.write_text(f'#!/bin/sh\nif [ "$1" = -l ]; then echo "{says}" >&2; exit 1; else cat > {table}; fi\n')
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOG_FILE": str(tmp_path / "watchdog.log")}
    done = dashboard.run("skills/long-run-mode/scripts/install_watchdog_cron.sh --apply", **env)
    assert done.returncode == status, done.stderr
    assert len(table.read_text().splitlines()) == left
    assert (says in done.stderr) == (status == 3)
    assert bool(done.stdout) == (status == 0)


def test_running_the_scripts_leaves_no_cache_state_or_log_behind(dashboard):
    dashboard.run(f"{S}/task_state.py list")
    left = [
        path.name
        for path in (dashboard.workspace / "skills").rglob("*")
        if path.is_dir() or path.suffix == ".pyc"
    ]
    assert "__pycache__" not in left
    again = dashboard.manage("skills", "install", "--agent", "main", "--url", dashboard.url)
    assert "Everything is up to date." in again.stdout


ALL = [
    f'{S}/task_state.py set --task t --state executing --origin-session-key "{KEY}"',
    f"{S}/task_state.py get --task t",
    f"{S}/task_state.py list",
    f"{S}/task_state.py touch-progress --task t",
    f"{S}/task_state.py mark-progress-attempt --task t --error e",
    f"{S}/task_state.py mark-resume --task t",
    f"{S}/task_state.py touch-reply --task t",
    f"{S}/task_state.py touch-tool --task t",
    f"{S}/task_state.py clear --task t",
    f"{S}/validate_task_start.py --task t --expect-session-key k",
    f"{S}/check_foreground_progress.py --task t",
    f"{S}/build_progress_update.py --task t",
    f"{S}/foreground_tick.py --task t",
    f"{S}/work_cycle_tick.py --task t --step s",
    f"{S}/emit_foreground_due.py",
    f"{S}/dispatch_foreground_due.py",
    f"{S}/keepalive_tick.py --task t --idle-seconds 60",
    f"{S}/emit_keepalive_resume.py --task t --idle-seconds 60",
    f"{S}/run_keepalive_once.py --idle-seconds 60",
    f"{S}/watchdog.py check",
    f"{S}/run_watchdog_once.py",
    f"{S}/recover_due_tasks.py --json",
    f"{S}/emit_recovery_message.py",
    f"{S}/build_sessions_send_payloads.py --json",
    f"{S}/cleanup_state.py",
    f'{S}/session_inbox.py fetch --session-key "{KEY}"',
    "skills/long-run-mode/scripts/watchdog_loop.sh 0 1",
]


@pytest.mark.parametrize("command", ALL)
def test_without_a_server_there_is_one_sentence_and_nothing_pretended(dashboard, command):
    done = dashboard.run(command, OPENCLAW_WEB_URL="http://127.0.0.1:9", OPENCLAW_WEB_TOKEN="x")
    assert (done.returncode, done.stdout) == (3, "")
    [sentence] = done.stderr.strip().splitlines()
    assert "the dashboard at http://127.0.0.1:9 cannot be reached" in sentence


def test_a_wrong_token_is_one_sentence(dashboard):
    done = dashboard.run(
        f"{S}/task_state.py list", OPENCLAW_WEB_URL=dashboard.url, OPENCLAW_WEB_TOKEN="ocw_wrong"
    )
    assert (done.returncode, done.stdout) == (3, "")
    [sentence] = done.stderr.strip().splitlines()
    assert "refused the token" in sentence


def test_a_server_that_dies_in_the_middle_is_one_sentence(dashboard):
    class Dying(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.connection.close()

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Dying)
    server.handle_error = lambda *args: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        done = dashboard.run(f"{S}/task_state.py list", OPENCLAW_WEB_URL=url, OPENCLAW_WEB_TOKEN="x")
    finally:
        server.shutdown()
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.strip().splitlines()) == 1


def test_something_else_that_answers_is_one_sentence(dashboard, tmp_path):
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *args: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        done = dashboard.run(f"{S}/task_state.py list", OPENCLAW_WEB_URL=url, OPENCLAW_WEB_TOKEN="x")
    finally:
        server.shutdown()
    assert (done.returncode, done.stdout) == (3, "")
    assert "is not the dashboard" in done.stderr


def test_a_configuration_that_others_can_read_is_refused(dashboard):
    config = dashboard.workspace / ".openclaw-web/client.json"
    config.chmod(0o644)
    try:
        done = dashboard.run(f"{S}/task_state.py list")
    finally:
        config.chmod(0o600)
    assert (done.returncode, done.stdout) == (3, "")
    assert "can be read by others" in done.stderr


def test_without_a_configuration_it_says_how_to_get_one(dashboard, tmp_path):
    away = dashboard.workspace / ".openclaw-web"
    away.rename(tmp_path / "kept")
    try:
        done = dashboard.run(f"{S}/task_state.py list")
    finally:
        (tmp_path / "kept").rename(away)
    assert (done.returncode, done.stdout) == (3, "")
    assert "manage.py skills install" in done.stderr


def test_a_redirect_never_carries_the_token_away(dashboard):
    seen = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.path)
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/stolen")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        done = dashboard.run(f"{S}/task_state.py list", OPENCLAW_WEB_URL=url, OPENCLAW_WEB_TOKEN="secret")
    finally:
        server.shutdown()
    assert (done.returncode, seen) == (3, ["/api/rpc/longrun.list"])


def test_wrong_arguments_end_with_status_two(dashboard):
    for command in (
        f"{S}/task_state.py",
        f"{S}/task_state.py set",
        f"{S}/watchdog.py",
        f"{S}/keepalive_tick.py",
    ):
        assert dashboard.run(command).returncode == 2


# Every script, doing its work on a task with an open heartbeat. What says "received" comes after.
DRIVEN = [
    f'{S}/task_state.py set --task "真值" --origin-session-key "{KEY}" --state executing --note "下一份"',
    f'{S}/task_state.py get --task "真值"',
    f"{S}/task_state.py list",
    f'{S}/task_state.py mark-progress-attempt --task "真值" --error "channel closed"',
    f'{S}/task_state.py mark-progress-attempt --task "真值" --error "timeout"',
    f'{S}/task_state.py mark-resume --task "真值"',
    f'{S}/task_state.py touch-reply --task "真值"',
    f'{S}/task_state.py touch-tool --task "真值"',
    f'{S}/validate_task_start.py --task "真值" --expect-session-key "{KEY}"',
    f'{S}/check_foreground_progress.py --task "真值"',
    f'{S}/build_progress_update.py --task "真值"',
    f'{S}/foreground_tick.py --task "真值"',
    f'{S}/work_cycle_tick.py --task "真值" --step "读了第 215 份"',
    f"{S}/emit_foreground_due.py",
    f"{S}/dispatch_foreground_due.py",
    f'{S}/keepalive_tick.py --task "真值" --idle-seconds 1',
    f'{S}/emit_keepalive_resume.py --task "真值" --idle-seconds 1',
    f"{S}/run_keepalive_once.py --idle-seconds 1",
    f"{S}/watchdog.py check",
    f"{S}/watchdog.py check --json",
    f"{S}/run_watchdog_once.py",
    f"{S}/recover_due_tasks.py --json",
    f"{S}/emit_recovery_message.py",
    f"{S}/build_sessions_send_payloads.py --json",
    f'{S}/session_inbox.py fetch --session-key "{KEY}"',
    f"{S}/cleanup_state.py",
    "skills/long-run-mode/scripts/watchdog_loop.sh 0 1",
    "skills/long-run-mode/scripts/install_watchdog_cron.sh",
]


def test_no_script_moves_the_two_moments_unless_a_message_was_received(dashboard):
    def watched():
        with sqlite3.connect(dashboard.folder / "db.sqlite3", timeout=20) as database:
            rows = database.execute(
                "SELECT last_progress_at, last_progress_sent_at FROM longrun_longtask WHERE name = '真值'"
            )
            return rows.fetchone()

    scripts = dashboard.workspace / "skills/long-run-mode/scripts"
    named = " ".join(DRIVEN)
    assert [path.name for path in scripts.iterdir() if path.is_file() and path.name not in named] == [
        "ocw_client.py"
    ]
    register(dashboard, "真值", progress_every="5s")
    back_date(dashboard, "真值", 30)
    assert answer_of(dashboard, f'{S}/foreground_tick.py --task "真值"')["must_send_now"] is True
    for command in DRIVEN:
        if command.endswith("watchdog.py check"):
            back_date(dashboard, "真值", 700)  # silent for so long that the watchdog has something to find
        before = watched()
        done = dashboard.run(command, LOG_FILE=str(dashboard.folder / "watchdog.log"))
        assert "Traceback" not in done.stderr, command
        assert watched() == before == (None, None), command
    answer_of(dashboard, f'{S}/task_state.py touch-progress --task "真值" --message "核对了第 215 份"')
    assert None not in watched()
