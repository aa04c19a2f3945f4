"""Archives in a real browser: every page without a finding, previews that open in place, nothing that runs."""

import re

import pytest
from django.core.management import call_command

from archives.models import ArchiveFile
from tests.browser import faults, overflows, shoot

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KINDS = ["en-light-desktop", "zh-dark-desktop", "en-dark-phone", "zh-light-phone"]


@pytest.fixture
def demo(state_dir, people):
    call_command("demo")
    return state_dir


def address(name: str) -> str:
    """The page of a demo file by its name; the newest where there are several."""
    row = ArchiveFile.objects.select_related("archive", "bucket", "workspace").filter(name=name).first()
    return f"/archives/{row.workspace.agent_id}/{row.archive.archive_id}/file/{row.bucket.timestamp}/{name}"


@pytest.mark.parametrize(
    ("lang", "dark", "phone"),
    [("en", False, False), ("zh-hans", True, False), ("en", True, True), ("zh-hans", False, True)],
    ids=KINDS,
)
def test_axe_finds_nothing_and_nothing_overflows(demo, desk, request, lang, dark, phone):
    kind = request.node.callspec.id
    page = desk("reviewer", lang=lang, dark=dark, phone=phone)
    pages = {
        "list": "/archives/",
        "search": "/archives/?q=prices",
        "nothing": "/archives/?q=zzz",
        "archive": "/archives/main/8f3a2c/",
        "plan": "/archives/main/8f3a2c/plan/",
        "checks": "/archives/ops/b41e07/checks/",
        "lint": "/archives/-/lint/ops/",
        "fallback": "/archives/ops/a3f2b1c-1128-2210/",
        "json": address("prices.json"),
        "table": address("changes.csv"),
        "code": address("inspect_hosts.py"),
        "image": address("trend.png"),
        "audio": address("standup.wav"),
        "none": address("vectors.bin"),
    }
    few = ("list", "archive", "plan", "lint", "json", "code")
    for name, url in pages.items():
        if kind in (KINDS[0], KINDS[3]) or name in few:
            page.goto(url)
            shoot(page, f"archives-{name}-{kind}")
            assert faults(page) == [], url
            assert not overflows(page), url


def test_a_card_opens_its_preview_in_place_by_mouse_and_by_keyboard(demo, desk):
    page = desk("viewer")
    page.goto("/archives/main/8f3a2c/")
    report = page.locator(".file", has_text=re.compile(r"竞品快报 .*\.md")).first
    report.locator("summary").click()
    report.locator("h1", has_text="竞品快报").wait_for()
    table = page.locator(".file", has_text="changes.csv").first
    table.locator("summary").focus()
    page.keyboard.press("Enter")
    table.locator("td", has_text="Lumen").wait_for()
    picture = page.locator(".file", has_text="trend.png").first
    picture.locator("summary").click()
    picture.locator("img").wait_for()
    assert picture.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 480
    shoot(page, "archives-open-in-place")
    assert page.url.endswith("/archives/main/8f3a2c/")
    assert faults(page) == []


def test_a_long_file_goes_on_where_it_stopped(demo, desk):
    page = desk("viewer")
    page.goto(address("run.log"))
    before = page.locator("ol.code > li").count()
    page.locator(".next-piece a").click()
    page.locator("ol.code").nth(1).wait_for()
    assert page.locator("ol.code").nth(1).get_attribute("start") == str(before + 1)
    texts = page.locator("ol.code > li").all_inner_texts()
    assert (
        texts[before - 1].split(" ")[2] == f"{before - 1:04d}"
        and texts[before].split(" ")[2] == f"{before:04d}"
    )


def test_html_of_an_agent_runs_nothing_and_reaches_nothing(demo, desk):
    folder = next((demo / "workspace-main/archives/8f3a2c").glob("2*"))
    (folder / "evil.html").write_text(
        "<h1>Hello</h1><script>document.body.append('RAN')</script><img src=x onerror=\"document.body.append('RAN')\">"
        "<a href='javascript:alert(1)' id=out>x</a>"
    )
    page = desk("viewer")
    asked = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.goto(f"/archives/main/8f3a2c/file/{folder.name}/evil.html")
    frame = page.frame_locator("iframe.preview-frame")
    frame.locator("h1").wait_for()
    page.wait_for_timeout(300)
    assert "RAN" not in frame.locator("body").inner_text()
    assert not any(url.endswith("/x") for url in asked)


FILM = """async () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 180, height: 320 });
  const paint = canvas.getContext("2d");
  const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm" });
  const parts = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const done = new Promise((ready) => { recorder.onstop = ready; });
  recorder.start();
  for (let frame = 0; frame < 25; frame += 1) {
    paint.fillStyle = `hsl(${frame * 14} 80% 50%)`;
    paint.fillRect(0, 0, 180, 320);
    await new Promise((ready) => setTimeout(ready, 40));
  }
  recorder.stop();
  await done;
  return [...new Uint8Array(await new Blob(parts).arrayBuffer())];
}"""
PLAYED = """(film) => new Promise((ready, failed) => {
  film.muted = true;
  film.onerror = () => failed(new Error(film.error.message));
  film.ontimeupdate = () => film.currentTime > 0.2 && ready([film.videoWidth, film.videoHeight]);
  film.play().catch(failed);
})"""


@pytest.mark.parametrize("phone", [False, True])
def test_a_film_plays_in_sight_and_takes_no_other_room_than_before(demo, desk, phone):
    page = desk("viewer", phone=phone)
    page.goto("/health/")
    folder = next((demo / "workspace-main/archives/8f3a2c").glob("2*"))
    (folder / "影片.webm").write_bytes(bytes(page.evaluate(FILM)))
    page.goto(f"/archives/main/8f3a2c/file/{folder.name}/影片.webm", wait_until="commit")
    film = page.locator("video")
    film.wait_for()
    room = film.bounding_box()
    assert film.evaluate(PLAYED) == [180, 320]
    assert film.bounding_box() == room
    assert room["height"] < page.viewport_size["height"]
    assert not overflows(page)
    shoot(page, f"archives-film-{'phone' if phone else 'desktop'}")


def test_the_search_narrows_while_typing_and_the_address_follows(demo, desk):
    page = desk("viewer")
    page.goto("/archives/")
    page.keyboard.press("f")
    page.keyboard.type("快报")
    page.locator(".file-line", has_text="竞品快报").first.wait_for()
    page.wait_for_url("**/archives/?q=*")
    assert page.evaluate("document.activeElement.id") == "archive-q"
    page.go_back()
    page.locator(".line .name.mono").first.wait_for()


def test_new_outputs_are_told_and_the_page_does_not_move(demo, desk):
    page = desk("viewer")
    page.goto("/archives/main/8f3a2c/")
    page.locator(".file summary").first.click()
    page.locator(".file[open] .preview").wait_for()
    bucket = demo / "workspace-main/archives/8f3a2c/2027-01-01-00-00-00"
    bucket.mkdir()
    (bucket / "fresh.md").write_text("# fresh")
    page.evaluate("htmx.trigger(document.querySelector('[data-poll]'), 'poll')")
    page.locator(".news").wait_for()
    assert page.locator(".file[open] .preview").count() == 1
    page.locator(".news a").click()
    page.locator(".file .name", has_text="fresh.md").wait_for()


def test_a_finding_is_mended_by_a_verified_copy(demo, desk):
    page = desk("reviewer")
    page.goto("/archives/-/lint/ops/")
    finding = page.locator(".findings > li", has_text="arch/archives/")
    finding.locator("button").click()
    page.locator(".messages li").wait_for()
    assert "archives/b41e07/" in page.locator(".messages li").inner_text()
    assert page.locator(".findings > li", has_text="arch/archives/").locator(".pill.ok").count() == 1


def test_everything_works_without_javascript(demo, desk):
    page = desk("reviewer", script=False)
    page.goto("/archives/")
    page.locator("#archive-q").fill("prices")
    page.locator("form.tools button").click()
    page.locator(".file-line").first.click()
    assert "/file/" in page.url and page.locator(".json").count() == 1
    page.goto("/archives/main/8f3a2c/")
    page.locator(".file summary").first.click()
    page.locator(".file[open] a", has_text="Open").click()
    assert "/file/" in page.url
    page.goto(address("run.log"))
    page.locator(".next-piece a").click()
    assert "from=" in page.url and page.locator("ol.code").get_attribute("start") != "1"
    page.goto("/archives/-/lint/ops/")
    page.locator(".findings > li", has_text="arch/archives/").locator("button").click()
    assert "Copied and read back" in page.locator(".messages").inner_text()
