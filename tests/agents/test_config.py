import json
import os
from pathlib import Path

import pytest

from agents.config import MAX_FILE_BYTES, ConfigProblem, mark_of, merge, parse_json5, read_config
from agents.json5_text import MAX_DEPTH
from tests.hang import not_hanging

HERE = Path("openclaw.json")


def problem_of(text: str) -> ConfigProblem:
    with pytest.raises(ConfigProblem) as caught:
        parse_json5(text, HERE)
    return caught.value


@pytest.fixture
def write(tmp_path):
    """Writes a file beside openclaw.json and returns its path."""

    def _write(text: str | bytes, name: str = "openclaw.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('// who\n{"a": 1, /* why, */ "b": [1, 2,],}\n', {"a": 1, "b": [1, 2]}),
        ("{a: 'it\\'s', 'b-c': +1, d: 0x1F, e: .5}", {"a": "it's", "b-c": 1, "d": 31, "e": 0.5}),
        (
            '{"url": "http://localhost:1//x", "note": "/* kept */ ,]"}',
            {"url": "http://localhost:1//x", "note": "/* kept */ ,]"},
        ),
        ('{"a": "one \\\ntwo"}', {"a": "one two"}),
        ('{"姓名": "运维", "b": "\\u4f60"}', {"姓名": "运维", "b": "你"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("{a: [,]}".replace(",", ""), {"a": []}),
    ],
)
def test_json5_is_read_with_comments_and_trailing_commas(text, data):
    assert parse_json5(text, HERE) == data


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "detail"),
    [
        ('{\n  "a": 1,\n  "b": [1, 2,,]\n}', "syntax_value", 3, 14, ","),
        ('{\n  "a": 1\n  "b": 2\n}', "syntax_comma", 3, 3, '"'),
        ('{"a": "one\ntwo"}', "syntax_quote", 1, 7, '"'),
        ('{"a": 1', "syntax_end", 1, 8, ""),
        ("", "syntax_end", 1, 1, ""),
        ("{a: 1} x", "syntax_extra", 1, 8, "x"),
        ("{a: 1,,}", "syntax_key", 1, 7, ","),
        ("{,}", "syntax_key", 1, 2, ","),
        ("{a 1}", "syntax_colon", 1, 4, "1"),
        ("{a: .}", "syntax_number", 1, 5, "."),
        ("{a: 1e}", "syntax_number", 1, 5, "1"),
        ("{a: 01}", "syntax_number", 1, 5, "0"),
        ("{a: yes}", "syntax_value", 1, 5, "y"),
        ("{a: nullify}", "syntax_value", 1, 5, "n"),
        ('{a: "\\x1"}', "syntax_escape", 1, 6, "\\"),
        ("{a: 1 /* never\nclosed }", "syntax_comment_end", 1, 7, "/"),
        ('{"a": "\u2028", b: @}', "syntax_value", 1, 15, "@"),
        ('{"中文": "值" 错}', "syntax_comma", 1, 12, "错"),
        ("{\r\n  a: 1;\r\n}", "syntax_comma", 2, 7, ";"),
        ('{"a": \x00}', "syntax_value", 1, 7, "U+0000"),
    ],
)
def test_a_fault_is_named_by_its_line_and_column(text, code, line, column, detail):
    problem = problem_of(text)
    assert (problem.code, problem.line, problem.column, problem.detail) == (code, line, column, detail)
    assert problem.sentence


def test_nesting_is_refused_where_it_grows_too_deep():
    problem = problem_of('{\n"a": ' + "[" * 5000)
    assert (problem.code, problem.line, problem.column) == ("syntax_shallower", 2, 6 + MAX_DEPTH - 1)


def test_the_largest_file_is_read_or_refused():
    texts = [
        "[" * MAX_FILE_BYTES,
        '{"a": "' + "/*" * (MAX_FILE_BYTES // 2),
        "[" + "1," * (MAX_FILE_BYTES // 2 - 1) + "]",
        '"' + "\\n" * (MAX_FILE_BYTES // 2 - 1) + '"',
        "[" + "9" * (MAX_FILE_BYTES - 2) + "]",
    ]
    for text in texts:
        with not_hanging():
            try:
                parse_json5(text, HERE)
            except ConfigProblem as problem:
                assert problem.code in ("syntax_shallower", "syntax_quote", "syntax_end")


def test_includes_are_merged_in_order_and_siblings_win(write, tmp_path):
    write('{entries: {main: {name: "One"}}, tags: ["a"]}', "parts/a.json5")
    write('{entries: {main: {name: "Two"}, ops: {}}, tags: ["b"]}', "parts/b.json5")
    path = write(
        '{agents: {$include: ["./parts/a.json5", "parts/b.json5"], tags: ["c"], ownership: "explicit"}}'
    )
    config = read_config(path)
    assert config.data == {
        "agents": {
            "entries": {"main": {"name": "Two"}, "ops": {}},
            "tags": ["a", "b", "c"],
            "ownership": "explicit",
        }
    }
    assert [Path(mark[0]).name for mark in config.marks] == ["openclaw.json", "a.json5", "b.json5"]


def test_an_include_is_relative_to_the_file_that_names_it(write):
    write('{"$include": "names.json"}', "parts/a.json5")
    write('{"main": {"name": "Here"}}', "parts/names.json")
    path = write('{"agents": {"entries": {"$include": "parts/a.json5"}}}')
    assert read_config(path).data == {"agents": {"entries": {"main": {"name": "Here"}}}}


def test_a_fault_in_an_include_names_that_file(write, tmp_path):
    write("{\n  entries: {\n    main: }\n}", "agents.json5")
    path = write('{agents: {$include: "agents.json5"}}')
    with pytest.raises(ConfigProblem) as caught:
        read_config(path)
    assert (caught.value.path, caught.value.line, caught.value.column) == (tmp_path / "agents.json5", 3, 11)
    assert [Path(mark[0]).name for mark in caught.value.marks] == ["openclaw.json", "agents.json5"]


@pytest.mark.parametrize(
    "name", ["../out.json", "/etc/hostname", "link.json", "folder/../../out.json", "a\\u0000b"]
)
def test_an_include_never_leaves_the_folder(write, tmp_path, name):
    inside = tmp_path / "state"
    (tmp_path / "out.json").write_text("{}")
    inside.mkdir()
    (inside / "link.json").symlink_to(tmp_path / "out.json")
    path = inside / "openclaw.json"
    path.write_text('{"agents": {"$include": "NAME"}}'.replace("NAME", name))
    with pytest.raises(ConfigProblem) as caught:
        read_config(path)
    assert caught.value.code == "include_escapes"


def test_includes_that_lead_in_a_circle_end(write):
    write('{"$include": "b.json"}', "a.json")
    write('{"$include": "a.json"}', "b.json")
    with pytest.raises(ConfigProblem) as caught:
        read_config(write('{"$include": "a.json"}'))
    assert (caught.value.code, caught.value.detail) == ("include_circular", "a.json")


def test_ten_levels_of_includes_are_read_and_eleven_refused(write):
    for level in range(1, 11):
        write(json.dumps({"$include": f"{level + 1}.json"}), f"{level}.json")
    write('{"agents": {}}', "11.json")
    path = write('{"$include": "2.json"}')
    assert read_config(path).data == {"agents": {}}
    with pytest.raises(ConfigProblem) as caught:
        read_config(write('{"$include": "1.json"}', "one-more.json"))
    assert caught.value.code == "include_depth"


def test_a_bomb_of_includes_is_refused(write):
    for level in range(1, 9):
        write(json.dumps({"$include": [f"{level + 1}.json"] * 8}), f"{level}.json")
    write("{}", "9.json")
    with pytest.raises(ConfigProblem) as caught:
        read_config(write('{"$include": "1.json"}'))
    assert caught.value.code == "too_many_files"


@pytest.mark.parametrize("value", ["1", "[]", '["a", 2]', "{}", "null"])
def test_an_include_must_be_paths(write, value):
    with pytest.raises(ConfigProblem) as caught:
        read_config(write('{"agents": {"$include": VALUE}}'.replace("VALUE", value)))
    assert caught.value.code == "include_value"


def test_what_is_no_object_is_refused(write):
    with pytest.raises(ConfigProblem) as caught:
        read_config(write("[]"))
    assert caught.value.code == "not_an_object"


def test_bytes_that_are_not_utf8_are_named_by_place(write):
    with pytest.raises(ConfigProblem) as caught:
        read_config(write('{\n "名": "'.encode() + b'\xe9"}'))
    assert (caught.value.code, caught.value.line, caught.value.column) == ("not_utf8", 2, 8)


def test_a_file_that_is_missing_too_large_or_no_file_is_told_apart(write, tmp_path):
    codes = []
    big = write(b" " * (MAX_FILE_BYTES + 1), "big.json")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    for path in (tmp_path / "none.json", big, tmp_path / "pipe.json", tmp_path / "folder.json"):
        with pytest.raises(ConfigProblem) as caught:
            read_config(path)
        codes.append(caught.value.code)
    assert codes == ["missing", "too_large", "not_regular", "not_regular"]


def test_a_mark_changes_with_the_file(write, tmp_path):
    path = write("{}")
    before = mark_of(path)
    assert mark_of(path) == before
    path.write_text("{ }")
    assert mark_of(path) != before
    path.unlink()
    assert mark_of(path) == (str(path), -1, -1, -1, -1)


def test_every_problem_has_a_sentence():
    for code in ("missing", "unreadable", "not_regular", "too_large", "include_depth", "too_many_files"):
        assert ConfigProblem(code, HERE, detail="x").sentence
    assert ConfigProblem("syntax_key", HERE, 1, 2, "%").sentence == "A key is expected here, not “%”."


def test_merging_keeps_what_only_one_side_has():
    assert merge({"a": {"b": 1}, "l": [1]}, {"a": {"c": 2}, "l": [2], "d": 3}) == {
        "a": {"b": 1, "c": 2},
        "l": [1, 2],
        "d": 3,
    }
    assert merge({"a": 1}, 5) == 5


def test_a_problem_in_one_line_names_file_place_and_reason():
    assert str(problem_of("{\n a: }")) == (
        "openclaw.json: line 2, column 5: A value is expected here, not “}”. Text needs quotes around it."
    )
    assert str(ConfigProblem("missing", HERE)) == "openclaw.json: The file does not exist."
