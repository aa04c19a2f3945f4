"""Markdown of agents is shown, and is inert."""

import re
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_web.markdown import render_markdown
from tests.hang import not_hanging


def test_markdown_becomes_html():
    html = render_markdown("# Title\n\n- one\n- **two**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "<h1>Title</h1>" in html
    assert "<strong>two</strong>" in html
    assert "<td>1</td>" in html


def test_code_is_highlighted_by_classes_alone():
    html = render_markdown("```python\nx = 1\n```")
    assert 'class="codehilite"' in html
    assert "style=" not in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "<a href='java\nscript:alert(1)'>x</a>",
        "<div hx-get='/x' data-hx-post='/y' style='color:red' id='top' class='rail'>x</div>",
        "<svg onload=alert(1)>",
        "<iframe src=//evil.example></iframe>",
        "![x](https://evil.example/pixel.png)",
        "![x](//evil.example/pixel.png)",
        "![x](\\\\evil.example/pixel.png)",
        "<form action=//evil.example><input name=q></form>",
        "<style>*{display:none}</style>",
        "<base href=//evil.example>",
    ],
)
def test_nothing_of_it_runs_loads_or_reaches_out(text):
    html = render_markdown(text)
    assert not re.search(r"<(script|style|iframe|svg|form|base)", html)
    assert not re.search(r"\s(on\w+|hx-\w+|data-hx-\w+|style|id)=", html)
    assert not re.search(r'(src|href)="?\s*(javascript:|//|\\\\)', html)
    assert "evil.example" not in re.sub(r"<a [^>]*>", "", html) or "<img" not in html
    assert 'class="rail"' not in html


def test_links_elsewhere_tell_nothing():
    assert 'rel="noopener noreferrer nofollow"' in render_markdown("[x](https://example.org/)")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 15_000,
        "(" * 15_000,
        "[a](" * 5_000,
        "> " * 3_000 + "x",
        "\n".join("  " * level + "- x" for level in range(300)),
        "- " * 2_000 + "x",
        "*" * 20_000,
        "`" * 20_000,
        "_a" * 20_000,
        "<" * 20_000,
        "![" * 8_000,
        "|" * 20_000,
        "a" * 600_000,
        "\\" * 20_000,
        "&" * 20_000,
        "1. " * 3000,
        "[x]: y\n" * 5_000,
        "```\n" * 5_001,
        "<div>" * 3_000,
        "<b>" * 10_000,
    ],
)
def test_no_text_holds_a_worker_thread(text):
    took = []

    def work():
        began = time.monotonic()
        render_markdown(text)
        took.append(time.monotonic() - began)

    # A server renders in a worker thread, where no signal can end the work.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert took, "still rendering"


def test_what_is_over_the_bounds_is_plain_and_whole():
    html = render_markdown("[" * 15_000)
    assert html.startswith('<pre class="plain">')
    assert html.count("[") == 15_000


def test_a_lone_surrogate_and_nul_are_replaced():
    html = render_markdown("a\ud800b\0c")
    html.encode()
    assert "\0" not in html


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>[]()!*_`#|-\n \"'=abjavscript:/&;on\\\t", max_size=200))
def test_whatever_comes_no_handler_and_no_script_survive(text):
    html = render_markdown(text)
    for tag in re.findall(r"<[^>]*>", html):
        assert not re.match(r"<\s*(script|style|iframe|svg|object|embed)", tag)
        assert not re.search(r"\son\w+\s*=", tag)
        assert "javascript:" not in tag.lower()


def test_a_background_tasks_own_time_limit_goes_on_after_rendering():
    import signal

    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_args: rung.append(True))
    try:
        signal.alarm(3)
        render_markdown("# A heading that no other test renders 7391")
        left, _interval = signal.setitimer(signal.ITIMER_REAL, 0)
        assert 1 < left <= 3
        assert not rung
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_struck_words_task_lists_and_aligned_columns_show_as_meant():
    html = render_markdown("~~gone~~ a~b ~~~x\n\n- [ ] open\n- [x] done (y)\n\n  more\n- [z] no\n")
    assert "<del>gone</del> a~b ~~~x" in html
    assert "☐ open" in html and "☑ done (y)" in html and "[z] no" in html
    table = render_markdown("| a | b |\n| --- | ---: |\n| x | 1 |")
    assert '<td align="right">1</td>' in table


def test_front_matter_shows_as_yaml_and_a_rule_stays_a_rule():
    html = render_markdown("---\nname: x\non: yes\n---\n# Title\n")
    assert html.index("codehilite") < html.index("<h1>Title</h1>")
    assert "<hr" not in html and "name" in html
    assert "<hr" in render_markdown("---\nA sentence.\n---\n")
    assert "<hr" in render_markdown("---\nname: x\n\nno end")


def test_many_tildes_hold_no_worker():
    with not_hanging():
        render_markdown("~~a " * 20_000)
        render_markdown("---\n" + "a: b\n" * 50_000)
