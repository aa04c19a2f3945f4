"""Differences of texts: exact, readable, bounded."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openclaw_web.diffs import MAX_PAIRED_LINES, TextDiff, diff_texts, split_lines
from openclaw_web.linematch import Budget, matching_runs
from openclaw_web.wordmarks import mark_words, words_of
from tests.hang import not_hanging

LINES = st.lists(st.sampled_from(["a", "b", "", "# Title", "比较三家", "x y z", "a\r", " "]), max_size=30)
TEXTS = st.one_of(LINES.map("\n".join), st.text(max_size=200))


def both_sides(found: TextDiff) -> tuple[str, str]:
    return (
        "".join(line for chunk in found.chunks for line in chunk.old),
        "".join(line for chunk in found.chunks for line in chunk.new),
    )


def shape(found: TextDiff) -> list[tuple[str, int, int]]:
    return [(chunk.kind, len(chunk.old), len(chunk.new)) for chunk in found.chunks]


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
@example("a\n", "a")
@example("a\r\nb\r\n", "a\nb\n")
@example("", "\n")
def test_applying_the_difference_to_the_old_text_gives_the_new_one_exactly(old, new):
    found = diff_texts(old, new)
    made, at = [], 0
    old_lines = split_lines(old)
    for chunk in found.chunks:
        # What a chunk calls old must stand in the old text right there; a `same` chunk copies it.
        assert chunk.old_at == at + 1
        assert old_lines[at : at + len(chunk.old)] == list(chunk.old)
        made += chunk.old if chunk.kind == "same" else chunk.new
        at += len(chunk.old)
    assert at == len(old_lines)
    assert "".join(made) == new
    assert found.changed == (old != new)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS)
def test_the_pairs_of_a_change_name_every_line_once_and_in_order(old, new):
    for chunk in diff_texts(old, new).chunks:
        if chunk.kind == "change":
            assert [i for i, _j in chunk.pairs if i is not None] == list(range(len(chunk.old)))
            assert [j for _i, j in chunk.pairs if j is not None] == list(range(len(chunk.new)))


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_marked_pieces_join_to_the_line(old, new):
    assert "".join(words_of(old)) == old
    marked = mark_words(old, new)
    if marked:
        assert "".join(text for text, _changed in marked[0]) == old
        assert "".join(text for text, _changed in marked[1]) == new


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 6), max_size=40), st.lists(st.integers(0, 6), max_size=40), st.integers(0, 300)
)
def test_runs_are_equal_parts_that_rise_whatever_the_budget(old, new, units):
    at_old = at_new = 0
    for i, j, length in matching_runs(old, new, Budget(units)):
        assert length > 0
        assert i >= at_old and j >= at_new
        assert old[i : i + length] == new[j : j + length]
        at_old, at_new = i + length, j + length


def test_a_changed_word_in_chinese_is_marked_alone():
    old, new = mark_words("1. 比较三家，选最便宜的。", "1. 比较三家的总价。")
    assert "".join(text for text, changed in old if changed) == "，选最便宜"
    assert "".join(text for text, changed in new if changed) == "总价"


def test_a_changed_word_in_english_is_marked_whole():
    old, new = mark_words("Send the report at 08:30 daily.", "Send the reports at 08:45 daily.")
    assert [text for text, changed in old if changed] == ["report", "30"]
    assert [text for text, changed in new if changed] == ["reports", "45"]


def test_a_combining_accent_is_not_cut_from_its_letter():
    assert words_of("cafe\u0301 👍🏽!") == ["cafe\u0301", " ", "👍🏽", "!"]


def test_lines_with_nothing_in_common_get_no_word_marks():
    assert mark_words("apples and pears", "全部重写了这一行") is None


def test_unchanged_lines_far_from_a_change_are_folded():
    lines = [f"line {n}\n" for n in range(1, 41)]
    new = [*lines]
    new[19] = "line twenty\n"
    found = diff_texts("".join(lines), "".join(new))
    assert shape(found) == [
        ("same", 16, 16),
        ("same", 3, 3),
        ("change", 1, 1),
        ("same", 3, 3),
        ("same", 17, 17),
    ]
    assert [chunk.folded for chunk in found.chunks] == [True, False, False, False, True]
    assert (found.chunks[2].old_at, found.chunks[2].new_at) == (20, 20)


def test_a_section_that_was_added_begins_at_its_heading():
    old = "# Trip\n\n## Book\n\nPay.\n\n## Pack\n\nBags.\n"
    new = "# Trip\n\n## Book\n\nPay.\n\n## Seats\n\nAsk.\n\n## Pack\n\nBags.\n"
    added = [line for chunk in diff_texts(old, new).chunks if chunk.kind == "change" for line in chunk.new]
    assert added == ["## Seats\n", "\n", "Ask.\n", "\n"]


def test_a_missing_final_newline_and_crlf_are_changes():
    assert (diff_texts("a\nb\n", "a\nb").added, diff_texts("a\nb\n", "a\nb").removed) == (1, 1)
    found = diff_texts("a\nb\n", "a\r\nb\r\n")
    assert (found.added, found.removed, found.notes) == (2, 2, ("crlf-added",))
    assert diff_texts("\ufeffa\n", "a\n").notes == ("bom-removed",)


def test_a_new_file_and_an_empty_file_are_not_the_same():
    assert diff_texts(None, "").changed
    assert not diff_texts("", "").changed
    assert diff_texts(None, "a\n").old_missing


def test_only_lf_ends_a_line():
    assert split_lines("a\u2028b\x0bc\u0085d\ne") == ["a\u2028b\x0bc\u0085d\n", "e"]


def test_a_moved_paragraph_keeps_the_rest_in_place():
    old = "".join(f"step {n}\n" for n in range(20))
    new = "".join(f"step {n}\n" for n in [5, *range(5), *range(6, 20)])
    found = diff_texts(old, new)
    assert (found.added, found.removed) == (1, 1)


def _many(count: int, word: str) -> str:
    return "".join(f"{n} {word} {n * 7919 % 1009}\n" for n in range(count))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(_many(12_000, "alpha"), _many(12_000, "beta"), id="every line changed"),
        pytest.param("ab" * 100_000, "ba" * 100_000, id="one giant line"),
        pytest.param("订票前先看" * 13_000, "订票后再看" * 13_000, id="one giant line of Han"),
        pytest.param("a\nb\n" * 50_000, "b\na\na\n" * 33_000, id="two lines over and over"),
        pytest.param("\n" * 200_000, "x\n" * 100_000, id="nothing but empty lines"),
        pytest.param(_many(9_000, "x"), "".join(reversed(_many(9_000, "x").splitlines(True))), id="reversed"),
    ],
)
def test_a_200_kb_text_ends_whatever_is_in_it(old, new):
    with not_hanging():
        found = diff_texts(old, new)
    assert both_sides(found) == (old, new)


def test_long_changes_are_paired_without_comparing_all_with_all():
    old, new = _many(3000, "alpha"), _many(3000, "beta")
    [chunk] = diff_texts(old, new).chunks
    assert list(chunk.pairs) == [(n, n) for n in range(3000)]
    assert [text for text, changed in chunk.new_marks[7] if changed] == ["beta"]
    assert MAX_PAIRED_LINES > 2 * 3000
