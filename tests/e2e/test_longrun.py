"""The board and a task's page in a real browser."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gateway.callers import command_caller
from longrun.models import LongTask
from longrun.services.heartbeat import tick
from longrun.services.tasks import Report, set_task
from longrun.services.watchdog import run_watchdog
from tests.browser import faults, overflows

pytestmark = pytest.mark.browser
KEY = "agent:main:main"


@pytest.fixture
def made(transactional_db, settings):
    settings.OPENCLAW_BIN = ""
    shell = command_caller()
    said = {"origin_session_key": KEY, "goal": "318 份合同的到期表", "note": "核对第 214 份"}
    set_task("整理合同", state="executing", report=Report(**said), caller=shell)
    set_task("Move the tables", state="executing", report=Report(**said, quiet_limit="1m"), caller=shell)
    hour = timedelta(hours=1)
    LongTask.objects.filter(name="Move the tables").update(
        updated_at=timezone.now() - hour, started_at=timezone.now() - hour, watch_at=timezone.now() - hour
    )
    run_watchdog(caller=shell)
    return LongTask.objects.get(name="整理合同")


@pytest.mark.parametrize(("lang", "dark", "phone"), [("en", False, False), ("zh-hans", True, True)])
def test_axe_finds_nothing_and_nothing_overflows(desk, made, lang, dark, phone):
    lost = LongTask.objects.get(name="Move the tables")
    page = desk("reviewer", lang=lang, dark=dark, phone=phone)
    for path in ("/tasks/", f"/tasks/{made.pk}/", f"/tasks/{lost.pk}/"):
        page.goto(path)
        assert faults(page) == []
        assert not overflows(page)
    page.evaluate("document.querySelectorAll('details.action').forEach((one) => { one.open = true; })")
    assert faults(page) == []


def test_the_clock_counts_on_and_the_page_follows_what_happens(desk, made):
    page = desk("viewer")
    page.goto(f"/tasks/{made.pk}/")
    first = page.locator("[data-clock] .nums").first.inner_text()
    # No wait_for_function: it needs eval, which the CSP refuses.
    page.wait_for_timeout(2500)
    assert page.locator("[data-clock] .nums").first.inner_text() != first
    tick("整理合同", caller=command_caller(), step="第 214 份核对完了")
    # Back in sight it asks at once; that it hears by itself is in test_live.py, on a server that can tell it.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_selector("text=第 214 份核对完了")


def test_blocking_without_script_keeps_what_was_typed_and_then_works(desk, made):
    page = desk("reviewer", script=False)
    page.goto(f"/tasks/{made.pk}/")
    page.locator("summary", has_text="Block").click()
    form = page.locator("form", has=page.locator("#id_blocked-stuck_at"))
    form.locator("#id_blocked-stuck_at").fill("登录页")
    form.locator("#id_blocked-missing").fill("验证码")
    form.locator("#id_blocked-suggestion").fill("登录一次")
    form.locator("button").click()
    page.wait_for_selector("text=is now blocked")
    assert "登录一次" in page.inner_text("main")


@pytest.mark.parametrize("phone", [False, True])
def test_names_without_a_space_stay_inside_their_panels(desk, made, phone):
    long = "Move_the_tables_" + "x" * 150
    report = Report(origin_session_key="agent:main:main", goal="g" * 300, note="n" * 300)
    task = set_task(long, state="executing", report=report, caller=command_caller())
    page = desk("reviewer", phone=phone)
    for path in ("/tasks/", f"/tasks/{task.pk}/", "/activity/", "/"):
        page.goto(path)
        assert not overflows(page), path
