from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django import forms
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import timezone, translation

from openclaw_web.templatetags.ui import ago, byte_size, duration, exact, icon, pill, short

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def words(html: str) -> str:
    return html.split(">", 1)[1].split("<", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("back", "said"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(seconds=-3), "in a moment"),
        (timedelta(seconds=50), "1 min ago"),
        (timedelta(minutes=44), "44 min ago"),
        (timedelta(minutes=50), "1 h ago"),
        (timedelta(hours=21), "21 h ago"),
        (timedelta(hours=23), "1 day ago"),
        (timedelta(days=3), "3 days ago"),
        (-timedelta(minutes=5), "in 5 min"),
        (-timedelta(days=2), "in 2 days"),
        (timedelta(days=40), "2026-10-21"),
    ],
)
def test_times_are_relative_up_to_two_weeks(back, said):
    with time_machine.travel(NOON, tick=False):
        assert words(ago(NOON - back)) == said


def test_the_exact_instant_and_zone_are_on_hover():
    with timezone.override(ZoneInfo("Asia/Shanghai")), time_machine.travel(NOON, tick=False):
        html = ago(NOON)
    assert 'datetime="2026-11-30T12:00:00+00:00"' in html
    assert 'title="2026-11-30 20:00:00 CST (UTC+08:00)"' in html


def test_chinese_times_are_chinese():
    with translation.override("zh-hans"), time_machine.travel(NOON, tick=False):
        assert words(ago(NOON - timedelta(hours=3))) == "3 小时前"


def test_no_time_is_never():
    assert ago(None) == "never"
    assert exact(None) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (61, "1 min"),
        (3600, "1 h"),
        (11100, "3 h 5 min"),
        (187200, "2 d 4 h"),
        (None, "—"),
    ],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (4310, "4.2 KB"),
        (150 * 1024, "150 KB"),
        (3 * 1024**3, "3.0 GB"),
        (None, "—"),
    ],
)
def test_sizes(count, said):
    assert byte_size(count) == said


def test_a_status_is_a_word_in_a_shape_and_what_is_said_is_escaped():
    assert pill("warn", "<b>held</b>") == '<span class="pill warn">&lt;b&gt;held&lt;/b&gt;</span>'
    assert 'class="pill idle"' in pill('x" onload="y', "w")


def test_a_hash_is_cut_with_the_whole_on_hover():
    assert short("ab" * 32) == f'<code class="hash" title="{"ab" * 32}">abababab…</code>'
    assert short("") == "—"


def test_icons_are_silent_to_screen_readers():
    assert 'aria-hidden="true"' in icon("inbox")


def test_a_field_shows_its_error_beside_it_and_counts_bytes():
    class Form(forms.Form):
        what = forms.CharField(max_length=3, help_text="Short.")

    template = Template("{% load ui %}{% field form.what max_bytes=160 %}")
    html = template.render(Context({"form": Form({"what": "描述描述"})}))
    assert 'id="id_what_error"' in html
    assert "id_what_error" in html.split("<input")[1].split(">")[0]
    assert "12 of 160 bytes" in html


def test_a_counter_over_its_limit_says_so_without_script():
    template = Template("{% load ui %}{% byte_counter 'x' value 160 %}")
    html = template.render(Context({"value": "描" * 54}))
    assert "162 of 160 bytes" in html
    assert "counter over" in html


def test_an_empty_place_keeps_its_own_words_and_escapes_others():
    template = Template("{% load ui %}{% empty 'inbox' title=title %}<p>{{ text }}</p>{% endempty %}")
    html = template.render(Context({"title": "<i>t</i>", "text": "<b>x</b>"}))
    assert "<p>&lt;b&gt;x&lt;/b&gt;</p>" in html
    assert "&lt;i&gt;t&lt;/i&gt;" in html


def test_older_keeps_the_filters():
    request = RequestFactory().get("/x/?kind=plan.&before=9")
    html = Template("{% load ui %}{% older 7 %}").render(Context({"request": request}))
    assert 'href="?kind=plan.&amp;before=7"' in html
    assert 'href="?kind=plan."' in html
    last = Template("{% load ui %}{% older None %}").render(Context({"request": request}))
    assert "Older" not in last
