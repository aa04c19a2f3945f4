"""What a preview shows, piece by piece."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.preview import make_preview, read_piece
from tests.hang import not_hanging


def shown(name: str, data: bytes | str, **where):
    data = data.encode() if isinstance(data, str) else data
    return make_preview(io.BytesIO(data), name, len(data), **where)


def test_markdown_is_rendered_and_sanitised():
    preview = shown("a.md", "# Title\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))")
    assert preview.mode == "markdown"
    assert "<h1>Title</h1>" in preview.html
    assert "<script" not in preview.html and "javascript:" not in preview.html


def test_markdown_over_its_bound_is_shown_as_text_in_pieces():
    preview = shown("a.md", "word " * 200_000)
    assert preview.mode == "code" and preview.next > 0


def test_json_becomes_a_folded_tree():
    preview = shown("a.json", json.dumps({"a": [1, True, None, "<b>"], "空": {}}))
    assert preview.mode == "json"
    assert preview.html.count("<details") == 2
    assert "{…} 2 keys" in preview.html and "[…] 4 items" in preview.html
    assert "&lt;b&gt;" in preview.html and "<b>" not in preview.html


def test_a_lone_surrogate_in_json_is_replaced_and_breaks_no_page():
    assert "?" in shown("a.json", '{"k\\ud800": "\\udfff"}').html.encode().decode()


def test_json_that_is_none_is_shown_as_text():
    preview = shown("a.json", '{\n "a": [1,]}')
    assert preview.mode == "code"
    assert "not valid JSON (line 2, column 10)" in preview.note


@pytest.mark.parametrize(
    "data", ["[" * 100_000, "[" * 900 + "]" * 900, json.dumps([{"k": list(range(1000))}] * 50)]
)
def test_deep_or_wide_json_is_bounded(data):
    with not_hanging():
        preview = shown("a.json", data)
    assert len(preview.html) < 1_500_000


def test_a_table_has_its_head_apart():
    preview = shown("a.csv", "名,数\n甲,1\n乙,2\n")
    assert (preview.head, preview.rows, preview.next) == (["名", "数"], [["甲", "1"], ["乙", "2"]], 0)


@pytest.mark.parametrize(
    ("name", "data"), [("a.tsv", "a\tb\n1\t2\n"), ("a.csv", "a;b\n1;2\n"), ("a.csv", "\ufeffa,b\r\n1,2\r\n")]
)
def test_other_separators_and_marks_are_understood(name, data):
    preview = shown(name, data)
    assert (preview.head, preview.rows) == (["a", "b"], [["1", "2"]])


def test_a_long_table_goes_on_where_it_stopped_even_inside_quoted_lines():
    text = "n,text\n" + "".join(f'{number},"two\nlines {number}"\n' for number in range(450))
    first = shown("a.csv", text)
    second = shown("a.csv", text, start=first.next, line=first.next_line)
    third = shown("a.csv", text, start=second.next, line=second.next_line)
    assert [row[0] for row in first.rows + second.rows + third.rows] == [str(number) for number in range(450)]
    assert second.head == [] and third.next == 0


def test_code_is_highlighted_with_classes_and_without_styles():
    preview = shown("a.py", "def f():\n    return '<b>'\n")
    assert preview.mode == "code"
    assert preview.html.count("<li>") == 2
    assert (
        '<span class="k">def</span>' in preview.html
        and "style=" not in preview.html
        and "<b>" not in preview.html
    )


def test_text_keeps_its_empty_lines():
    assert shown("a.txt", "a\n\nb\n").html == "<li>a</li><li></li><li>b</li>"


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("a.png", "image"),
        ("a.pdf", "pdf"),
        ("a.mp3", "audio"),
        ("a.webm", "video"),
        ("a.html", "web"),
        ("a.svg", "web"),
        ("a.exe", "none"),
        ("a", "none"),
    ],
)
def test_other_types_have_their_mode(name, mode):
    assert shown(name, "x").mode == mode


def test_binary_data_under_a_text_name_is_not_shown():
    preview = shown("a.txt", b"\0\1\2")
    assert preview.mode == "none" and preview.note


def test_an_empty_file_is_empty():
    assert shown("a.md", "").mode == "empty"


def test_text_that_is_not_utf8_is_shown_with_a_note():
    preview = shown("a.txt", "café".encode("latin-1"))
    assert "caf\ufffd" in preview.html and "UTF-8" in preview.note


@given(st.text(alphabet=st.sampled_from("aé报📈\n"), max_size=60), st.integers(5, 20))
def test_pieces_join_to_the_whole_and_never_cut_a_character(text, limit):
    data = text.encode()
    pieces, start = [], 0
    while True:
        piece, following = read_piece(io.BytesIO(data), len(data), start, limit)
        pieces.append(piece.decode())
        if not following:
            break
        assert following > start
        start = following
    assert "".join(pieces) == text
