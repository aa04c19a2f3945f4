"""The frame of every page: what it carries, what it weighs, what it refuses."""

import gzip
import json
import re
from html import unescape
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.contrib.staticfiles import finders

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


def test_our_script_is_under_8_kb():
    assert (ROOT / "static/js/app.js").stat().st_size < 8 * 1024


def test_the_first_page_weighs_under_120_kb_compressed_and_takes_at_most_ten_requests(viewer):
    html = viewer.get("/").content
    files = re.findall(r'(?:src|href)="/static/([^"]+)"', html.decode())
    weights = {name: len(gzip.compress(Path(finders.find(name)).read_bytes())) for name in files}
    weights["page"] = len(gzip.compress(html))
    assert len(weights) <= 10
    assert sum(weights.values()) < 120 * 1024, weights


def test_pages_go_out_compressed_and_event_streams_do_not(viewer, async_client, people):
    ask = {"accept-encoding": "gzip"}
    page = viewer.get("/", headers=ask)
    assert page["Content-Encoding"] == "gzip"
    assert b"<!doctype html>" in gzip.decompress(page.content)
    assert "Accept-Encoding" in page["Vary"]
    assert "Content-Encoding" not in viewer.get("/api/methods", headers=ask)
    async_client.force_login(people["viewer"])
    stream = async_to_sync(async_client.get)("/events/stream", headers=ask)
    assert stream.streaming
    assert "Content-Encoding" not in stream


def test_htmx_may_neither_evaluate_nor_run_scripts_nor_inject_styles_nor_keep_pages(viewer):
    html = viewer.get("/").content.decode()
    config = json.loads(unescape(re.search(r'name="htmx-config" content=\'([^\']+)', html)[1]))
    assert config["allowEval"] is False
    assert config["allowScriptTags"] is False
    assert config["includeIndicatorStyles"] is False
    assert config["selfRequestsOnly"] is True
    assert config["historyCacheSize"] == 0
    swaps = {rule["code"]: rule["swap"] for rule in config["responseHandling"]}
    assert (swaps["422"], swaps["204"], swaps["[45].."]) == (True, False, False)


def test_the_policy_of_pages_allows_nothing_inline_and_no_frame(viewer):
    policy = viewer.get("/")["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_the_rail_marks_where_we_are(viewer):
    html = viewer.get("/activity/").content.decode()
    rail = html.split('<nav class="rail"')[1].split("</nav>")[0]
    assert re.search(r'href="/activity/" aria-current="page"', rail)
    assert rail.count('class="go-to" href="/" aria-current') == 0


def test_only_an_administrator_sees_the_way_into_the_admin(client, people):
    for role, there in (("viewer", False), ("reviewer", False), ("administrator", True)):
        client.force_login(people[role])
        assert ('href="/admin/"' in client.get("/").content.decode()) is there


def test_the_agent_switch_keeps_its_choice_and_gives_it_up(viewer, state_dir):
    (state_dir / "openclaw.json").write_text(
        "{agents: {list: [{id: 'main'}, {id: 'ops', name: 'Ops team'}]}}"
    )
    viewer.get("/?agent=ops")
    html = viewer.get("/activity/").content.decode()
    assert "Agent: Ops team" in html
    assert re.search(r'href="\?agent=ops" aria-current="true"', html)
    viewer.get("/?agent=")
    assert "Agent: All agents" in viewer.get("/").content.decode()


def test_a_stranger_gets_the_switches_but_no_rail(client, people):
    html = client.get("/signin/").content.decode()
    assert 'action="/reading/language"' in html
    assert 'class="rail"' not in html
    assert "Background" not in html


def test_a_region_asks_no_question_of_the_frame(viewer, django_assert_max_num_queries):
    viewer.get("/activity/")
    ask = {"hx-request": "true", "hx-target": "news"}
    with django_assert_max_num_queries(5):
        viewer.get("/activity/?since=0", headers=ask)


def test_static_files_that_the_frame_needs_exist():
    for name in ("css/app.css", "css/admin.css", "js/app.js", "icons/claw.svg"):
        assert finders.find(name), name


def test_every_class_of_the_design_page_is_in_the_stylesheet():
    """docs/design.md promises parts; a part that is gone from the stylesheet fails here."""
    css = (ROOT / "static/css/app.css").read_text()
    text = (ROOT / "docs/design.md").read_text().split("## Classes")[1].split("## What app.js reads")[0]
    names = set(re.findall(r"`\.([a-z][\w-]*)", text))
    assert len(names) > 30
    missing = sorted(name for name in names if not re.search(rf"\.{name}(?![\w-])", css))
    assert missing == []


def test_every_attribute_that_the_script_reads_is_documented():
    script = (ROOT / "static/js/app.js").read_text()
    text = (ROOT / "docs/design.md").read_text()
    read = set(re.findall(r"\[data-([a-z-]+)", script)) | {
        re.sub(r"[A-Z]", lambda letter: "-" + letter[0].lower(), name)
        for name in re.findall(r"dataset\.(\w+)", script)
    }
    ours = read - {"page-keys", "failed", "away", "keys", "tone", "max", "says"}  # the frame's own
    assert {"row", "key", "draft", "poll"} <= ours
    assert sorted(name for name in ours if f"data-{name}" not in text) == []
