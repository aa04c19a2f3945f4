"""A real chromium for tests of the marker `browser`: signed in, in a language, a theme and a size, with axe.

`desk(...)` opens one: `page = desk("reviewer", lang="zh-hans", dark=True, phone=True)`; `page.goto(url)` takes paths.
`faults(page)` are axe's findings, shortened; the right value is `[]`.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """One browser for the session; the test is skipped where there is none."""
    from playwright.sync_api import sync_playwright

    if not CHROMIUM:
        pytest.skip("no chromium here: script/bootstrap --browser")
    # Playwright's own loop runs in this thread; the database is used beside it, never inside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")


@pytest.fixture
def desk(chromium, live_server, people) -> Iterator[Callable]:
    """Opens a page of the running site, signed in as `role`; whatever the page's script throws fails the test."""
    contexts, thrown = [], []

    def open_page(role="viewer", *, lang="en", dark=False, phone=False, script=True):
        client = Client()
        client.force_login(people[role])
        context = chromium.new_context(
            base_url=live_server.url,
            viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            timezone_id="Europe/Berlin",
        )
        session = client.cookies[django_settings.SESSION_COOKIE_NAME].value
        context.add_cookies(
            [
                {"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url},
                {"name": django_settings.LANGUAGE_COOKIE_NAME, "value": lang, "url": live_server.url},
            ]
        )
        page = context.new_page()
        page.on("pageerror", lambda error: thrown.append(str(error)))
        page.set_default_timeout(10_000)
        contexts.append(context)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert thrown == []


def faults(page) -> list[str]:
    """What axe (WCAG 2.2 AA and best practices) finds on the page, one line a fault."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


def overflows(page) -> bool:
    """True where the page can be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def shoot(page, name: str) -> None:
    """Keeps a picture of the whole page in the folder SCREENSHOTS names, for people to look at."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
