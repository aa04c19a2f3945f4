"""`spec/archives.md` §5: which blocks become cards."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.blocks import read_blocks
from archives.protocol import ArchivePath
from tests.hang import not_hanging

TS = "2026-04-16-14-30-05"
CARD = ArchivePath("main", TS, "报告.md")


def body(**changes) -> str:
    data = {"type": "file", "archive_root": "archives/main", "subpath": f"{TS}/报告.md", "name": "报告.md"}
    return json.dumps({"type": "archive_grid", "data": data | changes}, ensure_ascii=False)


def fence(text: str, tag: str = "json", mark: str = "```") -> str:
    return f"{mark}{tag}\n{text}\n{mark}"


def notes(text: str) -> list[tuple[str, int]]:
    reading = read_blocks(text)
    assert reading.cards == ()
    assert reading.text == text
    return [(note.code, note.line) for note in reading.notes]


def test_a_conforming_block_becomes_a_card_and_leaves_the_text():
    reading = read_blocks(f"before\n{fence(body())}\nafter")
    assert reading.cards == (CARD,)
    assert reading.notes == ()
    assert reading.text == f"before\n\n{reading.token}\n\nafter"


def test_several_blocks_form_one_grid_where_the_first_stood():
    other = body(subpath="PLAN.md", name="PLAN.md")
    reading = read_blocks(f"a\n{fence(body())}\nb\n{fence(other)}\nc")
    assert reading.cards == (CARD, ArchivePath("main", "", "PLAN.md"))
    assert reading.text == f"a\n\n{reading.token}\n\nb\nc"


def test_a_naked_object_stays_text_with_a_note():
    assert notes(f"see:\n\n{body()}\n") == [("naked", 3)]


def test_an_indented_naked_object_over_several_lines_is_noted_once():
    text = json.dumps(json.loads(body()), indent=2)
    assert notes(f"here {text} and so on") == [("naked", 1)]


@pytest.mark.parametrize(
    ("tag", "code"), [("", "no-tag"), ("text", "other-tag"), ("JSON", "other-tag"), ("jsonc", "other-tag")]
)
def test_no_tag_or_another_tag_stays_text_with_a_note(tag, code):
    assert notes(fence(body(), tag)) == [(code, 1)]


@pytest.mark.parametrize("mark", ["````", "~~~"])
def test_another_fence_than_three_backticks_stays_text_with_a_note(mark):
    assert notes(fence(body(), mark=mark)) == [("fence", 1)]


def test_invalid_json_stays_text_with_a_note():
    assert notes("\n" + fence('{"type": "archive_grid", "data": {,}}')) == [("invalid-json", 2)]


def test_two_objects_in_one_fence_are_invalid():
    assert notes(fence(body() + "\n" + body())) == [("invalid-json", 1)]


def test_a_list_of_objects_is_not_one_object():
    assert notes(fence(f"[{body()}]")) == [("not-an-object", 1)]


def test_a_fence_that_never_closes_stays_text_with_a_note():
    assert notes(f"```json\n{body()}") == [("unclosed", 1)]


@pytest.mark.parametrize(
    "change",
    [
        {"type": "folder"},
        {"name": ""},
        {"subpath": None},
        {"archive_root": "arch/main"},
        {"archive_root": "archives/a/b"},
    ],
)
def test_a_wrong_field_stays_text_with_a_note(change):
    assert notes(fence(body(**change))) == [("field", 1)]


@pytest.mark.parametrize(
    "change",
    [
        {
            "subpath": "{TIMESTAMP}/{ORIGIN_NAME}",
            "name": "{ORIGIN_NAME}",
            "archive_root": "archives/{ARCHIVE_ID}",
        },
        {"name": "{ORIGIN_NAME}"},
        {"subpath": "{TIMESTAMP}/报告.md"},
    ],
)
def test_the_template_text_is_no_card_and_no_fault(change):
    assert notes(fence(body(**change))) == []


@pytest.mark.parametrize(
    "subpath",
    [
        f"/{TS}/报告.md",
        f"archives/main/{TS}/报告.md",
        f"/archives/main/{TS}/报告.md",
        f"archives/main/archives/main//{TS}/报告.md",
    ],
)
def test_a_leading_slash_or_repeated_root_is_dropped(subpath):
    assert read_blocks(fence(body(subpath=subpath))).cards == (CARD,)


def test_a_closing_slash_of_the_root_is_harmless():
    assert read_blocks(fence(body(archive_root="archives/main/"))).cards == (CARD,)


@pytest.mark.parametrize(
    ("subpath", "name", "code"),
    [
        ("../other/PLAN.md", "PLAN.md", "escapes"),
        (f"{TS}/../../../.env", ".env", "escapes"),
        (f"{TS}\\..\\x", "x", "off-track"),
        (f"{TS}/a\\b", "a\\b", "escapes"),
        ("report.md", "report.md", "off-track"),
        (f"{TS}/PLAN.md", "PLAN.md", "off-track"),
        ("archives/other/PLAN.md", "PLAN.md", "off-track"),
    ],
)
def test_what_leaves_the_archive_or_its_tracks_is_refused(subpath, name, code):
    assert notes(fence(body(subpath=subpath, name=name))) == [(code, 1)]


def test_a_name_that_differs_from_the_file_is_refused():
    assert notes(fence(body(name="harmless.pdf"))) == [("name-differs", 1)]


def test_other_json_fences_are_left_alone():
    text = fence('{"type": "chart", "about": "archive_grid"}')
    assert notes(text) == []


def test_an_example_inside_a_longer_fence_is_neither_card_nor_fault():
    assert notes(f"````markdown\n{fence(body())}\n````") == []


def test_lines_end_at_line_feeds_only():
    reading = read_blocks(f"a\u2028b\u0085c\n{fence(body())}")
    assert reading.cards == (CARD,)
    assert "a\u2028b\u0085c" in reading.text


def test_carriage_returns_before_line_feeds_are_fine():
    assert read_blocks(f"x\r\n{fence(body())}\r\n".replace("\n", "\r\n").replace("\r\r", "\r")).cards == (
        CARD,
    )


def test_a_token_that_stands_in_the_text_is_not_used_twice():
    reading = read_blocks(f"archivegrid0here\n{fence(body())}")
    assert reading.token == "archivegrid1here"


def test_a_forged_flood_is_read_in_bounded_time():
    text = "archive_grid\n" + "{" * 15_000 + "\n" + "[" * 15_000 + "\n" + "```json\n" * 5_000
    with not_hanging():
        read_blocks(text)


def test_deeply_nested_json_is_no_card_and_no_crash():
    text = fence('{"type": "archive_grid", "data": ' + "[" * 7000 + "]" * 7000 + "}")
    assert read_blocks(text).cards == ()


lines = st.sampled_from(
    ["```", "```json", "````", "~~~", body(), '{"type": "archive_grid"', "text", "", "   ```json"]
)


@given(st.lists(lines, max_size=12).map("\n".join))
def test_no_line_of_prose_is_ever_lost(text):
    reading = read_blocks(text)
    assert text.split("\n").count("text") == reading.text.split("\n").count("text")
    if not reading.cards:
        assert reading.text == text
