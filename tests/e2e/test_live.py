"""Live parts on a server that can hold lines open: what happens shows at once, and nothing moves under a pointer."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
import uvicorn
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.utils import timezone

from gateway.callers import command_caller
from gateway.clusters import beat, cluster_names
from longrun.models import LongTask
from longrun.services.heartbeat import tick
from longrun.services.tasks import Report, set_task
from openclaw_web.handler import PooledHandler
from tests.browser import faults, overflows

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
COMES_BACK = "document.dispatchEvent(new Event('visibilitychange'))"
NEWS = "第 214 份核对完了"


@pytest.fixture
def address(desk) -> Iterator[str]:
    """The address of this site under uvicorn, in a thread of this process, on the test's own database."""
    server = uvicorn.Server(
        uvicorn.Config(
            ASGIStaticFilesHandler(PooledHandler()),
            port=0,
            lifespan="off",
            log_level="critical",
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    # The cookie of `desk` is for this name; a cookie knows no port.
    yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def made(transactional_db, settings) -> LongTask:
    settings.OPENCLAW_BIN = ""
    report = Report(origin_session_key="agent:main:main", goal="318 份合同的到期表")
    return set_task("整理合同", state="executing", report=report, caller=command_caller())


def test_a_step_shows_at_once_although_the_page_asks_only_every_half_minute(desk, address, made):
    page = desk("viewer")
    with page.expect_request("**/events/stream?*"):
        page.goto(f"{address}/tasks/{made.pk}/")
    assert page.locator("#task-timeline").get_attribute("data-poll") == "30"
    tick("整理合同", caller=command_caller(), step=NEWS)
    page.locator("#task-timeline").get_by_text(NEWS).wait_for(timeout=20_000)


def test_what_came_waits_while_a_pointer_rests_on_the_page_and_shows_when_it_has_left(desk, address, made):
    page = desk("viewer")
    with page.expect_request("**/events/stream?*"):
        page.goto(f"{address}/tasks/{made.pk}/")
    page.hover("#task-timeline h2")
    before = page.locator("#task-timeline").inner_text()
    tick("整理合同", caller=command_caller(), step=NEWS)
    page.locator("#news-held").wait_for(timeout=20_000)
    assert page.locator("#task-timeline").inner_text() == before
    assert faults(page) == []
    page.hover(".rail .brand")
    page.locator("#task-timeline").get_by_text(NEWS).wait_for(timeout=20_000)
    page.locator("#news-held").wait_for(state="hidden")


def test_what_waits_can_be_shown_by_keyboard_wherever_the_pointer_rests(desk, address, made):
    page = desk("viewer", phone=False)
    with page.expect_request("**/events/stream?*"):
        page.goto(f"{address}/tasks/")
    page.hover("#board .task-card")
    tick("整理合同", caller=command_caller(), step=NEWS)
    set_task(
        "Move the tables",
        state="executing",
        report=Report(origin_session_key="agent:main:main", goal="all"),
        caller=command_caller(),
    )
    page.locator("#news-held").wait_for(timeout=20_000)
    page.focus("#news-held")
    page.keyboard.press("Enter")
    page.locator("#board").get_by_text("Move the tables").wait_for(timeout=20_000)


def test_a_page_in_sight_holds_one_line_and_one_out_of_sight_none(desk, address, made):
    page = desk("viewer")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/events/stream" in request.url else None)
    page.goto(f"{address}/tasks/")
    page.wait_for_load_state()
    page.evaluate(
        "Object.defineProperty(document, 'hidden', { get: () => true, configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    tick("整理合同", caller=command_caller(), step=NEWS)
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(300)
    assert len(asked) == 2


@pytest.mark.parametrize("phone", [False, True])
def test_news_of_the_cluster_moves_no_line_of_the_inbox(desk, made, phone):
    for name in cluster_names():
        beat(cluster_id="c", host="box", pid=1, workers=2, name=name)
    LongTask.objects.update(state="blocked", stuck_at="登录页", missing="验证码", suggestion="登录一次")
    page = desk("viewer", phone=phone)
    page.goto("/")
    line = page.locator("a.line").first
    at = line.bounding_box()
    beat(cluster_id="c", host="box", pid=1, workers=2, now=timezone.now() - timedelta(minutes=1))
    page.evaluate(COMES_BACK)
    page.locator("#pulse").get_by_text("Start it with").wait_for()
    assert line.bounding_box() == at
    assert faults(page) == []
    assert not overflows(page)
