"""Cards in an agent's words."""

import json
import re
from urllib.parse import quote

import pytest
from django.template import Context, Template

from archives.cards import render_agent_markdown
from archives.protocol import parse_path
from tests.archives.conftest import TS

pytestmark = pytest.mark.django_db


def block(name: str = "报告.md", **changes) -> str:
    data = {
        "type": "file",
        "archive_root": "archives/main",
        "subpath": f"{TS}/{name}",
        "name": name,
    } | changes
    return f"```json\n{json.dumps({'type': 'archive_grid', 'data': data}, ensure_ascii=False)}\n```"


def test_a_conforming_block_is_a_card_between_the_texts(workspace, put):
    put(f"archives/main/{TS}/报告.md", "12345")
    html = render_agent_markdown(f"before **it**\n\n{block()}\n\nafter", "ops")
    assert (
        html.index("<strong>it</strong>") < html.index('<ul class="grid files"') < html.index("<p>after</p>")
    )
    assert '<span class="name">报告.md</span>' in html and "5\xa0B" in html.replace(" B", "\xa0B")
    assert "archives/main" in html and "archive_grid" not in html


def test_several_blocks_form_one_grid(workspace, put):
    put(f"archives/main/{TS}/a.md")
    put("archives/main/PLAN.md")
    html = render_agent_markdown(f"{block('a.md')}\n\n{block('PLAN.md', subpath='PLAN.md')}", "ops")
    assert html.count('<ul class="grid files"') == 1
    assert re.findall(r'<span class="name">([^<]+)', html) == ["a.md", "PLAN.md"]


def test_a_missing_file_says_so_and_links_nowhere(workspace):
    html = render_agent_markdown(block(), "ops")
    assert "missing" in html and "href=" not in html and "hx-get" not in html


def test_a_link_out_shows_as_missing(workspace, put):
    put(f"archives/main/{TS}/x.md")
    (workspace.path / f"archives/main/{TS}/报告.md").symlink_to("/etc/passwd")
    assert "href=" not in render_agent_markdown(block(), "ops")


def test_an_unknown_agent_has_only_missing_cards(workspace):
    assert "missing" in render_agent_markdown(block(), "nobody")


def test_a_broken_block_stays_text_with_a_quiet_note(workspace):
    html = render_agent_markdown("x\n\n```text\n" + block().split("\n")[1] + "\n```", "ops")
    assert "archive_grid" in html
    assert (
        "The archive block in line 3 breaks the protocol: its fence is tagged “text”; it must be json."
        in html.replace("&quot;", '"')
    )


def test_the_agents_text_is_inert_and_cards_are_not(workspace, put):
    put(f"archives/main/{TS}/报告.md")
    html = render_agent_markdown(f'<b hx-get="/x">x</b>\n\n{block()}', "ops")
    assert 'hx-get="/x"' not in html
    assert '<div class="prose" hx-disable>' in html
    grid = html[html.index("<ul") :]
    assert "hx-get=" in grid and "hx-disable" not in grid


def test_a_name_with_markup_is_escaped_on_its_card(workspace, put):
    name = "<script>x.md"
    put(f"archives/main/{TS}/{name}")
    assert "<script>" not in render_agent_markdown(block(name), "ops")


def test_a_text_too_deep_for_the_parser_keeps_its_cards(workspace, put):
    put(f"archives/main/{TS}/报告.md")
    html = render_agent_markdown("[" * 15_000 + f"\n\n{block()}", "ops")
    assert '<details class="file"' in html and "archivegrid0here" not in html


def test_the_template_filter_renders_cards_and_nothing_for_nothing(workspace, put):
    put(f"archives/main/{TS}/报告.md")
    template = Template("{% load archives %}{{ text|agent_markdown:agent }}")
    assert '<details class="file"' in template.render(Context({"text": block(), "agent": "ops"}))
    assert template.render(Context({"text": None, "agent": "ops"})) == ""


def test_a_plain_message_asks_the_database_nothing(workspace, django_assert_num_queries):
    with django_assert_num_queries(0):
        render_agent_markdown("just words", "ops")


@pytest.mark.parametrize(
    ("written", "name"),
    [("trend.png", "trend.png"), ("./走势 图.png", "走势 图.png"), (f"archives/main/{TS}/a.png", "a.png")],
)
def test_an_image_beside_the_text_is_shown_from_the_archive(workspace, written, name):
    beside = parse_path(f"archives/main/{TS}/报告.md")
    html = render_agent_markdown(f"![走势](<{written}>)", "ops", beside=beside)
    assert f'src="/archives/ops/main/raw/{TS}/{quote(name)}"' in html
    assert 'alt="走势"' in html


@pytest.mark.parametrize(
    "written",
    [
        "../../PLAN.md",
        "../x.png",
        "a/b.png",
        "page.svg",
        "a.html",
        "archives/other/2026-01-01-00-00-00/a.png",
        "",
    ],
)
def test_an_image_from_anywhere_else_keeps_its_words_alone(workspace, written):
    beside = parse_path(f"archives/main/{TS}/报告.md")
    html = render_agent_markdown(f'![走势](<{written}>) `<img src="trend.png">`', "ops", beside=beside)
    assert "src=" not in html.replace("src=&quot;", "").replace('src="trend.png"&gt;', "")
    assert 'alt="走势"' in html


def test_an_image_of_this_site_stays_and_text_about_images_too(workspace):
    beside = parse_path(f"archives/main/{TS}/报告.md")
    text = "![a](/static/icons/claw.svg) ![<img src=x.png>](/y.png)"
    html = render_agent_markdown(text, "ops", beside=beside)
    assert 'src="/static/icons/claw.svg"' in html and 'src="/y.png"' in html
