"""As a new user would: the server by its command, an agent, a wish, a yes, a run by a real program, its card.

Nothing of the product is touched but through the browser and the two environment variables of the README.
"""

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
from playwright.sync_api import expect

from tests.browser import faults, shoot

pytestmark = [pytest.mark.browser, pytest.mark.cluster, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
SECRET = "a long pass phrase 42"


@pytest.fixture
def server(tmp_path):
    """The whole product as `script/server` runs it, with our small agent behind the `command` runner."""
    state, workspace = tmp_path / "state", tmp_path / "workspace"
    state.mkdir()
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Soul\n\n少说，多做。\n")
    (workspace / "IDENTITY.md").write_text("- **Name:** Mira\n")
    agents = {"agents": {"list": [{"id": "main", "name": "Mira", "workspace": str(workspace)}]}}
    (state / "openclaw.json").write_text(json.dumps(agents))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_WEB_DATA_DIR": str(tmp_path / "data"),
        "RUNNER": "command",
        "RUNNER_COMMAND": f"{sys.executable} {ROOT}/tests/plans/agent_program.py --session {{session}} --message {{message}}",
    }
    log = tmp_path / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "openclaw_web.serve", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield port, _code(log, process), workspace
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _code(log: Path, process: subprocess.Popen) -> str:
    """The one-time code that the server prints, once it answers."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        found = re.search(r"One-time setup code: (\S+)", log.read_text())
        if found:
            return found[1]
        assert process.poll() is None, log.read_text()
        time.sleep(0.3)
    raise AssertionError(log.read_text())


def _open(page, address: str) -> None:
    """The server may still be starting."""
    for _attempt in range(60):
        try:
            page.goto(address)
            return
        except Exception as error:
            if "ERR_CONNECTION_REFUSED" not in str(error):
                raise
            time.sleep(0.5)
    raise AssertionError("the server does not answer")


def test_a_wish_becomes_a_card(chromium, server):
    port, code, workspace = server
    context = chromium.new_context(
        base_url=f"http://127.0.0.1:{port}", viewport={"width": 1280, "height": 900}
    )
    page = context.new_page()
    page.set_default_timeout(20_000)
    thrown = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    _open(page, "/")
    _sign_in(page, code)

    page.goto("/plans/new/")
    page.fill("#wish", "每天早上9点给我一份新闻摘要")
    page.get_by_role("button", name="Draft a plan").click()
    expect(page.get_by_text("其他：[由用户补充]")).to_be_visible()
    shoot(page, "e2e-1-options")
    page.get_by_role("button", name="Show me the ORA").click()
    expect(page.get_by_text("少说，多做。").first).to_be_visible()
    shoot(page, "e2e-2-ora")
    page.get_by_role("button", name="Agree and write PLAN.md").click()
    (plan_file,) = _wait(lambda: list(workspace.glob("archives/*/PLAN.md")))
    assert not list(workspace.rglob("report.md"))

    _confirm(page)
    shoot(page, "e2e-3-confirmed")
    page.locator("summary", has_text="Run now").click()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("Done.").first).to_be_visible(timeout=60_000)
    shoot(page, "e2e-4-run")
    card = page.get_by_text("report.md").first
    expect(card).to_be_visible()
    assert faults(page) == []
    card.click()
    expect(page.get_by_text("is done.").first).to_be_visible()
    shoot(page, "e2e-5-card")

    (report,) = workspace.rglob("report.md")
    assert report.parent.parent == plan_file.parent
    assert thrown == []
    context.close()


def _sign_in(page, code: str) -> None:
    page.locator("input[name=code]").fill(code)
    page.locator("input[name=username]").fill("lin")
    page.locator("input[name=password]").fill(SECRET)
    page.locator("input[name=password_again]").fill(SECRET)
    page.get_by_role("button", name=re.compile("Make the account")).click()
    page.wait_for_url(lambda url: "setup" not in url)


def _confirm(page) -> None:
    page.wait_for_url(re.compile(r"/plans/[0-9a-f-]{36}/"))
    if "/review/" not in page.url:
        page.get_by_role("link", name=re.compile("Review|Read")).first.click()
    page.get_by_role("link", name=re.compile("Confirm")).or_(
        page.get_by_role("button", name=re.compile("Confirm"))
    ).first.click()
    page.get_by_role("button", name=re.compile("Yes, confirm revision 1")).click()
    page.wait_for_timeout(500)


def _wait(look, seconds: float = 30):
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return found
