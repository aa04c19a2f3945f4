"""A difference as HTML rows: escaped, complete, with what cannot be seen spelled out."""

import re

import pytest

from openclaw_web.diffview import MAX_FOLD, MAX_ROWS, file_diff, numbered_text, show_hidden
from tests.hang import not_hanging


def html_of(found) -> str:
    return "".join(section.html for section in found.sections)


def test_changed_words_are_marked_and_escaped():
    found = file_diff("SKILL.md", "say <b>hi</b> now\n", "say <i>hi</i> now\n")
    assert (found.state, found.added, found.removed) == ("changed", 1, 1)
    html = html_of(found)
    assert '<tr class="del"><td class="ln">1</td><td class="ln"></td><td class="sg">−</td>' in html
    assert "say &lt;<del>b</del>&gt;hi&lt;/<del>b</del>&gt; now" in html
    assert "say &lt;<ins>i</ins>&gt;hi&lt;/<ins>i</ins>&gt; now" in html
    assert "<b>" not in html


def test_line_numbers_of_the_new_text_lead_to_a_remark():
    html = html_of(file_diff("a", "x\ny\n", "x\nz\n", line_url="?at=0:"))
    assert '<a href="?at=0:2" tabindex="-1">2</a>' in html
    assert html.count("<a ") == 2


def test_what_nobody_could_see_is_spelled_out():
    assert show_hidden("a\u202eb\u200bc\x07") == (
        'a<span class="hid">U+202E</span>b<span class="hid">U+200B</span>c<span class="hid">U+0007</span>'
    )
    html = html_of(file_diff("a", "x\n", "x\r\n"))
    assert 'title="CRLF"' in html
    assert "no line end" in html_of(file_diff("a", "x\n", "x"))


def test_a_new_file_shows_every_line_and_an_unchanged_one_none():
    assert file_diff("a", None, "x\n").state == "new"
    assert file_diff("a", "x\n", None).state == "removed"
    same = file_diff("a", "x\n", "x\n")
    assert (same.state, same.sections) == ("same", ())


def test_a_fold_carries_its_lines_unless_there_are_very_many():
    lines = [f"line {n}\n" for n in range(3000)]
    changed = [*lines]
    changed[100] = "other\n"
    found = file_diff("a", "".join(lines), "".join(changed))
    assert [(s.kind, s.count, s.line) for s in found.sections] == [
        ("fold", 97, 1),
        ("rows", 0, 0),
        ("fold", 2896, 105),
    ]
    assert "line 50" in found.sections[0].html
    assert MAX_FOLD < 2896
    assert found.sections[2].html == ""


def test_a_remark_stands_below_its_line_even_inside_an_unchanged_part():
    text = "".join(f"line {n}\n" for n in range(1, 51))
    found = file_diff("a", text, text.replace("line 50", "last"), talks={20: ["remark"], 0: ["whole"]})
    kinds = [(s.kind, s.line) for s in found.sections]
    assert ("talk", 20) in kinds
    before = found.sections[kinds.index(("talk", 20)) - 1].html
    assert before.endswith("<td>line 20</td></tr>")
    assert found.talks == ["whole"]


def test_a_remark_on_the_whole_file_stands_above_it_once():
    for split in (False, True):
        found = file_diff("a", "one\ntwo\n", "three\n", talks={0: ["whole"]}, split=split)
        assert (found.talks, [s.kind for s in found.sections]) == (["whole"], ["rows"])


@pytest.mark.parametrize("split", [False, True])
def test_a_remark_on_a_removed_line_stands_below_it(split):
    old, new = "keep\ngoes\nchanged a\n", "keep\nchanged b\n"
    found = file_diff("a", old, new, talks={-2: ["old"], 2: ["new"]}, split=split, old_line_url="?at=0:-")
    assert [(s.kind, s.line) for s in found.sections if s.kind == "talk"] == [("talk", -2), ("talk", 2)]
    place = next(n for n, s in enumerate(found.sections) if s.line == -2)
    assert "goes" in found.sections[place - 1].html
    assert '<a href="?at=0:-2" tabindex="-1">2</a>' in html_of(found)
    assert found.unplaced == ()


def test_a_remark_on_an_old_line_that_is_not_removed_is_not_lost():
    found = file_diff("a", "keep\ngoes\n", "keep\n", talks={-1: ["about keep"]})
    assert found.unplaced == (["about keep"],)
    assert file_diff("a", "same\n", "same\n", talks={-1: ["x"]}).unplaced == (["x"],)


def test_both_views_show_the_same_lines():
    old = "".join(f"{n}\n" for n in range(60))
    new = old.replace("7\n", "seven\n").replace("33\n", "")

    def lines(split):
        return set(
            re.findall(
                r">([^<>]+)</td>",
                re.sub(r"</?(ins|del|a)\b[^>]*>", "", html_of(file_diff("a", old, new, split=split))),
            )
        )

    assert lines(True) - {"−", "+"} == lines(False) - {"−", "+"}


def test_more_rows_than_a_page_takes_are_on_the_next_one():
    new = "".join(f"{n}\n" for n in range(MAX_ROWS + 500))
    first = file_diff("a", None, new)
    assert [(s.kind, s.count, s.line) for s in first.sections] == [("rows", 0, 0), ("cut", 500, MAX_ROWS)]
    rest = file_diff("a", None, new, from_row=MAX_ROWS)
    assert [s.kind for s in rest.sections] == ["rows"]
    assert rest.sections[0].html.count("<tr") == 500
    assert f"<td>{MAX_ROWS + 499}</td>" in rest.sections[0].html


def test_a_200_kb_difference_becomes_html():
    old = "".join(f"{n} compare three offers and ask for the seat {n * 31 % 97}\n" for n in range(3800))
    with not_hanging():
        found = file_diff("SKILL.md", old, old.replace("offers", "prices"), line_url="?at=0:")
    assert found.added == found.removed == 3800
    assert html_of(found).count("<ins>prices</ins>") == 3800


def test_a_whole_text_is_numbered_and_can_be_pointed_at():
    [rows, talk, rest] = numbered_text("a\nb\nc", talks={2: ["x"]}, marked=frozenset({3}))
    assert '<tr id="L1"><td class="ln">1</td><td>a</td></tr>' in rows.html
    assert (talk.kind, talk.line, talk.items) == ("talk", 2, ["x"])
    assert '<tr id="L3" class="hit">' in rest.html
