"""As a new user, by the README: `script/server`, the one-time code, a wish, a yes — and a turn that really runs."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser import shoot

pytestmark = [pytest.mark.browser, pytest.mark.cluster, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "tests" / "plans" / "agent_program.py"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def server(tmp_path):
    """`script/server` over a state dir with one agent, the `command` runner set to our small program: (address, code)."""
    state = tmp_path / "state"
    workspace = state / "workspace-ops"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n\nSay less, do more.\n")
    (workspace / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Mira\n")
    agents = {"list": [{"id": "ops", "name": "Ops", "workspace": str(workspace)}]}
    (state / "openclaw.json").write_text(json.dumps({"agents": agents}))
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OPENCLAW_WEB_DATA_DIR": str(tmp_path / "data"),
        "OPENCLAW_STATE_DIR": str(state),
        "RUNNER": "command",
        "RUNNER_COMMAND": f"{sys.executable} {AGENT} --session {{session}} --message {{message}}",
        "AGENT_COUNT_FILE": str(tmp_path / "executions"),
        "AGENT_SLEEP": "4",
    }
    output = tmp_path / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [str(ROOT / "script/server"), "--port", str(port)],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield f"http://127.0.0.1:{port}", _code(output, process), tmp_path / "executions"
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _code(output: Path, process: subprocess.Popen, seconds: float = 120) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"One-time setup code: (\S+)", output.read_text()):
            return found[1]
        time.sleep(0.3)
    raise AssertionError(f"no code came:\n{output.read_text()[-3000:]}")


def _open(page, address: str) -> None:
    for _try in range(60):
        try:
            page.goto(address)
            return
        except Exception:  # noqa: BLE001 (the server is still starting)
            time.sleep(0.5)
    page.goto(address)


def _sign_in(chromium, address: str, code: str):
    """The first person's page, signed in with the one-time code."""
    context = chromium.new_context(
        base_url=address, viewport={"width": 1280, "height": 900}, timezone_id="Europe/Berlin"
    )
    page = context.new_page()
    page.set_default_timeout(20_000)
    _open(page, "/setup/")
    page.fill("[name=code]", code)
    page.fill("[name=username]", "nina")
    for field in page.locator("input[type=password]").all():
        field.fill("a long way home")
    page.click("main form button.go")
    return page


def _confirm_wish(page, wish: str) -> str:
    """From the wish to the confirmed plan; its address."""
    page.goto("/plans/")
    page.fill("#wish", wish)
    page.click("text=Draft a plan")
    page.click("text=Show me the ORA")
    page.click("text=Agree and write PLAN.md")
    page.click("text=Confirm and schedule")
    page.click("text=Yes, confirm revision 1")
    page.wait_for_url(re.compile(r"/plans/[0-9a-f-]{36}/$"))
    return page.url


def test_the_page_of_a_run_follows_it_by_the_event_stream_alone(server, chromium):
    address, code, _executions = server
    page = _sign_in(chromium, address, code)
    _confirm_wish(page, "every day at 9 check the build")
    # Nothing is polled: what moves on this page does so because the server said something.
    page.add_init_script(
        "setInterval(() => document.querySelectorAll('[data-poll]').forEach(el => { el.dataset.poll = '9999'; }), 50)"
    )
    page.click("summary:has-text('Run now')")
    page.click(".says-form button:has-text('Run now')")
    page.hover("#run h1")  # a pointer that rests on what is read holds nothing back
    page.wait_for_selector("text=Done; step 4 found", timeout=60_000)
    assert page.locator("[data-stream]").count() == 0
    page.context.close()


def test_from_the_two_commands_to_the_card_of_a_scheduled_report(server, chromium):
    address, code, executions = server
    page = _sign_in(chromium, address, code)
    plan = _confirm_wish(page, "in 1 minute write a report about the weather")
    assert "No run yet; the first comes at the next due time." in page.locator("main").inner_text()

    end = time.monotonic() + 240
    while time.monotonic() < end and page.locator("table.runs tbody tr").count() == 0:
        time.sleep(2)
        page.goto(plan)
    page.locator("table.runs tbody a").first.click()
    page.wait_for_selector("text=Done; step 4 found", timeout=60_000)
    card = page.locator("details.file", has_text="report.md").first
    card.locator("summary").click()
    page.wait_for_selector("details.file .file-body a:has-text('Open')")
    shoot(page, "plans-real-run")
    assert "on schedule" in page.locator("main").inner_text()
    assert "outputs are archived" in page.locator("main").inner_text()
    page.goto(plan)
    assert "Confirmed, and over: no due time is left." in page.locator("main").inner_text()
    assert len(executions.read_text().splitlines()) == 1
    page.context.close()
