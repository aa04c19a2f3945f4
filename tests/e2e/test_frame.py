"""The frame in a real browser: every page of it, both themes, both languages, desktop and phone; keys; no script."""

import re
from datetime import timedelta

import pytest
from django.contrib import admin
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from gateway import audit
from gateway.callers import Caller
from gateway.clusters import beat, cluster_names
from gateway.events import publish
from gateway.models import User
from gateway.people import new_setup_code
from longrun.models import LongTask
from tests.browser import faults, overflows, shoot

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOKS = pytest.mark.parametrize(
    ("lang", "dark", "phone"),
    [("en", False, False), ("zh-hans", True, False), ("en", True, True), ("zh-hans", False, True)],
    ids=["en-light-desktop", "zh-dark-desktop", "en-dark-phone", "zh-light-phone"],
)
PAGES = {
    "home": "/",
    "health": "/health/",
    "activity": "/activity/",
    "events": "/activity/?tab=events",
    "search": "/search/?q=合同",
    "account": "/account/",
    "missing": "/no/such/page/",
}


def task(name: str, minutes: int) -> LongTask:
    return LongTask.objects.create(
        name=name,
        agent_id="ops",
        state="blocked",
        origin_session_key="agent:ops:main",
        goal="318 份合同的到期表",
        updated_at=timezone.now() - timedelta(minutes=minutes),
    )


@pytest.fixture
def world(state_dir):
    """Two blocked tasks, a beating cluster, a few lines in both ledgers."""
    for name in cluster_names():
        beat(cluster_id="c", host="box", pid=1, workers=2, name=name)
    lin = Caller(kind="person", label="lin", address="192.0.2.7")
    audit.record(lin, "plan.confirm", subject="每日竞品快报", digest="ab" * 32, agent_id="ops")
    audit.record(lin, "token.make", subject="ops bot", outcome="refused", reason="needs operator.admin")
    publish("archive.written", agent_id="ops", subject="archives/ab12/2026-11-30_09-00-04/快报.md")
    return [task("整理三季度供应商合同", 14), task("Nightly import", 3)]


@LOOKS
def test_every_page_is_free_of_faults_and_fits(desk, world, lang, dark, phone):
    page = desk("administrator", lang=lang, dark=dark, phone=phone)
    refused = []
    page.on(
        "console",
        lambda message: refused.append(message.text) if "Content Security" in message.text else None,
    )
    for name, address in PAGES.items():
        page.goto(address)
        assert faults(page) == [], name
        assert not overflows(page), name
        shoot(page, f"{name}-{lang}-{'dark' if dark else 'light'}-{'phone' if phone else 'desktop'}")
    assert refused == []


def test_the_first_administrator_comes_in_with_the_printed_code(chromium, live_server, state_dir):
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto("/")
    assert page.url.endswith("/setup/")
    assert faults(page) == []
    shoot(page, "setup-en-light-desktop")
    page.fill("#id_code", "WRNG-WRNG-WRNG")
    page.fill("#id_username", "lin")
    page.fill("#id_password", "a phrase that is long")
    page.fill("#id_password_again", "a phrase that is long")
    page.click("button.go")
    assert "not the one the server printed" in page.text_content("#id_code_error")
    assert page.input_value("#id_username") == "lin"
    page.fill("#id_code", new_setup_code().lower())
    page.fill("#id_password", "a phrase that is long")
    page.fill("#id_password_again", "a phrase that is long")
    page.click("button.go")
    page.wait_for_url(f"{live_server.url}/")
    assert page.locator(".rail .apart a", has_text="Admin").is_visible()
    context.close()


@LOOKS
def test_signing_in_is_free_of_faults_says_what_is_wrong_and_leads_on(
    chromium, live_server, people, lang, dark, phone
):
    context = chromium.new_context(
        base_url=live_server.url,
        viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 900},
        color_scheme="dark" if dark else "light",
        locale="zh-CN" if lang == "zh-hans" else "en-US",
    )
    page = context.new_page()
    page.goto("/health/")
    assert page.locator("html").get_attribute("lang") == lang
    assert faults(page) == []
    assert not overflows(page)
    shoot(page, f"signin-{lang}-{'dark' if dark else 'light'}-{'phone' if phone else 'desktop'}")
    page.fill("#id_username", "viewer")
    page.fill("#id_password", "wrong horse")
    page.click("button.go")
    assert page.locator(".note.bad").is_visible()
    assert page.input_value("#id_username") == "viewer"
    assert faults(page) == []
    page.fill("#id_password", "correct horse")
    page.click("button.go")
    page.wait_for_url(re.compile("/health/$"))
    context.close()


def test_a_person_works_the_inbox_by_keyboard_alone(desk, world):
    page = desk("reviewer")
    page.goto("/")
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("j")
    second = page.evaluate("document.activeElement.getAttribute('href')")
    assert {first, second} == {f"/tasks/{row.pk}/" for row in world}
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('href')") == second
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"{first}$"))


def test_slash_goes_to_the_search_box_escape_leaves_it_and_letters_there_are_letters(desk, world):
    page = desk("reviewer")
    page.goto("/")
    page.keyboard.press("/")
    box = page.locator(".top input[type=search]")
    assert box.evaluate("el => el === document.activeElement")
    page.keyboard.type("jk?")
    assert box.input_value() == "jk?"
    page.keyboard.press("Escape")
    assert not box.evaluate("el => el === document.activeElement")
    page.keyboard.press("/")
    page.keyboard.type("合同")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search/"))
    assert page.locator("a.line", has_text="整理三季度供应商合同").is_visible()


def test_the_help_lists_the_keys_of_the_page_and_keys_can_be_turned_off(desk, world):
    page = desk("reviewer")
    page.goto("/activity/")
    page.keyboard.press("?")
    dialog = page.locator("#keys")
    assert dialog.is_visible()
    assert dialog.locator("dt", has_text="/").count() == 1
    assert faults(page) == []
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.goto("/account/")
    page.uncheck("#id_keys")
    page.click("#reading button.go")
    page.goto("/")
    page.keyboard.press("?")
    assert not page.locator("#keys").is_visible()


def test_menus_open_and_close_by_keyboard_and_give_the_focus_back(desk, world):
    page = desk("reviewer")
    page.goto("/")
    summary = page.locator(".top details.menu summary").last
    summary.focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("Account and reading").is_visible()
    assert faults(page) == []
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert not page.get_by_text("Account and reading").is_visible()
    assert summary.evaluate("el => el === document.activeElement")


@pytest.mark.parametrize("lang", ["en", "zh-hans"])
@pytest.mark.parametrize("width", [320, 390, 800, 1280])
def test_every_menu_opens_inside_the_window(desk, world, width, lang):
    page = desk("administrator", lang=lang)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/")
    menus = page.locator("details.menu")
    opened = 0
    for at in range(menus.count()):
        summary = menus.nth(at).locator("summary")
        if not summary.is_visible():
            continue
        summary.click()
        box = menus.nth(at).locator(".menu-list").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, (at, box)
        assert box["y"] >= 0 and box["y"] + box["height"] <= 800, (at, box)
        opened += 1
    assert opened >= 4


def test_the_first_tab_stop_leads_to_the_content(desk, world):
    page = desk("viewer")
    page.goto("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_language_and_theme_change_in_place_with_and_without_script(desk, world):
    for script in (True, False):
        page = desk("viewer", script=script)
        page.goto("/health/")
        page.locator(".top details.menu summary[aria-label^='Language']").click()
        page.get_by_role("button", name="中文").click()
        page.wait_for_url(re.compile("/health/$"))
        assert page.locator("html").get_attribute("lang") == "zh-hans"
        page.locator(".top details.menu summary[aria-label='浅色或深色']").click()
        page.get_by_role("button", name="深色").click()
        page.wait_for_url(re.compile("/health/$"))
        assert page.locator("html").get_attribute("data-theme") == "dark"
        User.objects.update(language="", theme="")


def test_filters_swap_the_ledger_keep_the_focus_and_the_address_follows(desk, world):
    page = desk("viewer")
    page.goto("/activity/")
    assert page.locator("#ledger .entry").count() >= 2
    page.locator("select[name=outcome]").focus()
    page.select_option("select[name=outcome]", "refused")
    page.wait_for_url(re.compile("outcome=refused"))
    expect(page.locator("#ledger .entry")).to_have_count(1)
    assert page.locator("#ledger").get_by_text("token.make").is_visible()
    page.wait_for_selector("[name=outcome]:focus")
    page.go_back()
    expect(
        page.locator("#ledger")
        .get_by_text("person.signed_in")
        .or_(page.locator("#ledger").get_by_text("plan.confirm"))
        .first
    ).to_be_visible()


def test_the_ledger_can_be_filtered_without_script(desk, world):
    page = desk("viewer", script=False)
    page.goto("/activity/")
    page.select_option("select[name=outcome]", "refused")
    page.get_by_role("button", name="Filter").click()
    assert page.locator("#ledger .entry").count() == 1


def test_an_open_page_tells_of_news_without_moving_a_line(desk, world):
    page = desk("viewer")
    page.goto("/activity/?tab=events")
    before = page.locator("#ledger .entry").count()
    publish("archive.written", subject="archives/x/y/z.md")
    page.get_by_text("One new line").wait_for()
    assert page.locator("#ledger .entry").count() == before


def test_an_open_home_page_hears_within_half_a_minute_that_the_cluster_went_down(desk, world):
    page = desk("viewer")
    page.goto("/")
    assert not page.get_by_text("Start it with").is_visible()
    beat(cluster_id="c", host="box", pid=1, workers=2, now=timezone.now() - timedelta(minutes=1))
    page.locator("#pulse").get_by_text("Start it with").wait_for(timeout=30_000)


def test_a_failed_request_says_so_and_stays(desk, world):
    page = desk("viewer")
    page.goto("/activity/")
    page.route("**/activity/?*", lambda route: route.fulfill(status=500, body="x"))
    page.select_option("select[name=outcome]", "ok")
    note = page.locator("#messages .note.bad")
    note.wait_for()
    assert "nothing was changed" in note.text_content()


def test_between_desktop_and_phone_the_search_box_keeps_room_for_its_words(desk, world):
    page = desk("administrator")
    page.set_viewport_size({"width": 800, "height": 700})
    for address in PAGES.values():
        page.goto(address)
        assert not overflows(page), address
        if page.locator(".rail").count():
            assert page.locator(".top .search input").bounding_box()["width"] > 220


@pytest.mark.parametrize("width", [320, 640])
def test_nothing_is_cut_at_320_pixels_or_at_double_size(desk, world, width):
    page = desk("administrator", phone=True)
    page.set_viewport_size({"width": width, "height": 700})
    for address in PAGES.values():
        page.goto(address)
        assert not overflows(page), address


def test_right_to_left_turns_the_frame_and_nothing_is_cut(desk, world):
    page = desk("viewer")
    page.goto("/")
    page.evaluate("document.documentElement.dir = 'rtl'")
    rail = page.locator(".rail").bounding_box()
    assert rail["x"] > 900
    assert not overflows(page)


def test_the_first_view_is_small_and_takes_few_requests(desk, world, settings):
    import gzip

    page = desk("viewer")
    bodies = {}
    page.on("response", lambda response: bodies.setdefault(response.url, response))
    page.goto("/", wait_until="networkidle")
    sizes = {url: len(gzip.compress(response.body())) for url, response in bodies.items()}
    assert len(sizes) <= 10, sizes
    assert sum(sizes.values()) < 120 * 1024, sizes


def test_words_typed_into_a_form_survive_a_reload_and_are_gone_once_sent(desk, world):
    page = desk("administrator")
    page.goto("/agents/-/new/")
    name = page.locator("form[data-draft] input[name=name]")
    name.fill("Half an idea")
    page.goto("/health/")
    page.goto("/agents/-/new/")
    assert name.input_value() == "Half an idea"
    page.locator("form[data-draft] input[name=agent_id]").fill("idea")
    page.locator("form[data-draft] button.go").click()
    page.wait_for_url(re.compile(r"/agents/(?!-)"))
    page.goto("/agents/-/new/")
    assert name.input_value() == ""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_of_the_ops_room_is_free_of_faults_and_obeys_the_policy(desk, state_dir, people, dark):
    call_command("demo")
    audit.record(
        Caller(kind="person", label="lin", address="192.0.2.7"), "token.make", outcome="refused", reason="x"
    )
    page = desk("administrator", lang="zh-hans" if dark else "en", dark=dark)
    refused = []
    page.on(
        "console",
        lambda message: refused.append(message.text) if "Content Security" in message.text else None,
    )
    rooms = [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    ]
    forms = ["/admin/gateway/apitoken/add/", "/admin/gateway/user/add/", "/admin/longrun/boundary/add/"]
    person = f"/admin/gateway/user/{people['viewer'].pk}/change/"
    found = {}
    for address in ["/admin/", *rooms, *forms, person, f"{person}?language=de"]:
        page.goto(address)
        # Before axe, which writes styles of its own.
        assert refused == [], address
        if faulty := faults(page):
            found[address] = faulty
        refused.clear()
        shoot(page, f"ops{address.replace('/', '-')}{'dark' if dark else 'light'}")
    assert found == {}
    assert len(rooms) > 25


@pytest.mark.parametrize("address", ["/admin/", "/admin/gateway/auditentry/", "/admin/longrun/longtask/"])
def test_the_ops_room_fits_a_phone(desk, world, address):
    page = desk("administrator", phone=True)
    page.goto(address)
    assert not overflows(page)


def test_a_printed_page_is_the_content_alone_on_white(desk, world):
    page = desk("viewer", dark=True)
    page.goto("/health/")
    page.emulate_media(media="print")
    for part in (".rail", ".top"):
        assert not page.locator(part).is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(34, 32, 29)"
    page.goto("/")
    written = "getComputedStyle(document.querySelector('main time.ago'), '::after').content"
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*UTC", page.evaluate(written))
