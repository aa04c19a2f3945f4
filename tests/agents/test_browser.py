import pytest
from django.core.management import call_command

from tests.browser import faults, overflows, shoot

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = {
    "roster": "/agents/",
    "agent": "/agents/ops/",
    "file": "/agents/ops/files/SOUL.md",
    "raw": "/agents/ops/files/SOUL.md?view=raw",
    "refused": "/agents/main/files/TOOLS.md",
    "missing": "/agents/main/files/BOOTSTRAP.md",
    "new": "/agents/-/new/",
}


@pytest.fixture
def demo(state_dir, tmp_path):
    call_command("demo")
    (tmp_path / "outside").write_text("x")
    (state_dir / "workspace-main" / "TOOLS.md").symlink_to(tmp_path / "outside")
    return state_dir


@pytest.mark.parametrize(
    ("lang", "dark", "phone"),
    [("en", False, False), ("zh-hans", True, False), ("en", True, True), ("zh-hans", False, True)],
    ids=["en-light-desktop", "zh-dark-desktop", "en-dark-phone", "zh-light-phone"],
)
def test_axe_finds_nothing_and_nothing_overflows(demo, desk, request, lang, dark, phone):
    kind = request.node.callspec.id
    page = desk("administrator", lang=lang, dark=dark, phone=phone)
    for name, url in PAGES.items():
        page.goto(url)
        shoot(page, f"agents-{name}-{kind}")
        assert faults(page) == [], url
        assert not overflows(page), url
    good = (demo / "openclaw.json").read_text()
    (demo / "openclaw.json").write_text(good.replace("},\n      ops", "}\n      ops"))
    page.goto("/agents/")
    shoot(page, f"agents-broken-{kind}")
    assert page.locator(".roster-fault").count() == 1
    assert faults(page) == []
    assert not overflows(page)


def test_the_tabs_swap_the_text_and_the_address_follows(demo, desk):
    page = desk("viewer")
    page.goto("/agents/main/files/SOUL.md")
    assert page.locator("#file h1, #file h2").first.inner_text() == "Soul"
    page.locator("#tab-raw").click()
    page.wait_for_selector("#file .raw")
    assert page.locator("#file .raw").inner_text().startswith("# Soul")
    assert page.url.endswith("?view=raw")
    page.go_back()
    page.wait_for_selector("#file .prose")
    assert page.locator("#tab-rendered").get_attribute("aria-current") == "page"


def test_an_agent_is_made_without_script(demo, desk):
    page = desk("administrator", script=False)
    page.goto("/agents/-/new/")
    page.fill("#id_agent_id", "Bad Id")
    page.fill("#id_name", "Nina 妮娜")
    page.click("button.go")
    assert page.locator("#id_agent_id_error").inner_text().startswith("An id is 1–64 characters")
    assert page.input_value("#id_name") == "Nina 妮娜"
    page.fill("#id_agent_id", "nina")
    page.click("button.go")
    assert page.url.endswith("/agents/nina/")
    assert (demo / "workspace-nina").is_dir()
    page.goto("/agents/nina/change/")
    page.locator("details.ask summary").click()
    page.locator("details.ask button").click()
    assert page.url.endswith("/agents/")
    assert "“Nina 妮娜” is off the roster" in page.locator("main").inner_text()
