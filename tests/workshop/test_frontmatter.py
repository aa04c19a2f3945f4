import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hang import not_hanging
from workshop import frontmatter


def parse(text):
    lines, _ = frontmatter.split(frontmatter.normalise(text))
    return frontmatter.parse(lines)


@pytest.mark.parametrize(
    "text",
    ["body", "\n---\nname: x\n---\n", "---\nname: x\n", " ---\na: 1\n---\n", "---x\na: 1\n---\n"],
    ids=["none", "not at the start", "never closed", "indented", "not a fence"],
)
def test_without_a_complete_block_at_the_start_everything_is_body(text):
    assert frontmatter.split(text) == (None, text)


def test_only_the_first_block_is_a_block():
    assert frontmatter.split("---\na: 1\n---\nb\n---\nc: 2\n---\n") == (["a: 1"], "b\n---\nc: 2\n---\n")


def test_bom_crlf_and_lone_cr_are_normalised():
    assert frontmatter.normalise("\ufeffa\r\nb\rc") == "a\nb\nc"


def test_an_unquoted_value_with_a_colon_is_read_and_a_quoted_line_suggested():
    values = parse("---\nname: x\ndescription: Do A. Use when: (1) b\n---\n")
    assert values.text("description") == "Do A. Use when: (1) b"
    assert (values.repaired.line, values.repaired.suggestion) == (3, 'description: "Do A. Use when: (1) b"')
    assert values.fatal is None


@pytest.mark.parametrize("value", ["*nobody", "@me", "\ttabbed", "careful: yes", "a: b: c", "`x`"])
def test_a_plain_value_that_needs_quotes_is_read_without_them(value):
    values = parse(f"---\nname: x\ndescription: {value}\n---\n")
    assert (values.text("description"), values.repaired.line) == (value.strip(), 3)


def test_a_block_that_cannot_be_read_says_where():
    values = parse("---\nname: x\nlicense: [unclosed\n---\n")
    assert values.fatal.line in (3, 4)
    assert values.data == {}


def test_keys_that_yaml_1_1_would_take_for_booleans_are_words():
    assert parse("---\non: 1\nno: x\nyes: no\n---\n").data == {"on": 1, "no": "x", "yes": "no"}


def test_duplicate_keys_are_a_problem_not_a_silent_choice():
    assert "duplicate key" in parse("---\na: 1\na: 2\n---\n").fatal.message


def test_anchors_and_aliases_are_resolved():
    assert parse("---\na: &x hello\ndescription: *x\n---\n").text("description") == "hello"


@pytest.mark.parametrize("value", ["[" * 30_000, "{" * 30_000, "- " * 20_000, "? " * 20_000])
def test_deep_nesting_is_a_problem_at_once(value):
    with not_hanging():
        assert parse(f"---\na: {value}\n---\n").fatal.message == "nested too deeply"


def test_a_block_over_64_kib_is_refused():
    assert "65536" in parse("---\na: " + "x" * 70_000 + "\n---\n").fatal.message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "7"),
        ("true", "true"),
        ("[a]", '["a"]'),
        ("'  q  '", "q"),
        ("null", "null"),
        ("", ""),
        ("|\n  a\n  b", "a\nb"),
    ],
)
def test_a_value_is_text_as_the_peer_takes_it(value, text):
    assert parse(f"---\nk: {value}\n---\n").text("k") == text


def test_dropped_keys_take_their_continuation_lines_along():
    lines = ["description: |", "  one", "", "  two", "VERSION:", "- 1", "note: x", "# kept", "Status: a"]
    assert frontmatter.without_keys(lines, frozenset({"description", "version", "status"})) == [
        "note: x",
        "# kept",
    ]


@given(st.text(alphabet=st.sampled_from("-: \n\t#'\"[]{}&*!|>%@`abc\ufeff\r\0\ud800"), max_size=60))
def test_parsing_never_raises(text):
    values = parse("---\n" + text + "\n---\n")
    assert values.fatal is None or values.data == {}


@given(st.text())
def test_splitting_loses_nothing(text):
    lines, body = frontmatter.split(text)
    if lines is None:
        assert body == text
    else:
        assert text.split("\n")[1 : len(lines) + 1] == lines
        assert text.endswith(body)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["name", "a-b", "on", "True", "x1"]),
            st.one_of(
                st.text(alphabet=st.sampled_from("ab yn/.()-_1"), min_size=1, max_size=9),
                st.sampled_from(
                    ["true", "Null", "yes", "off", "1.5", "a: b", "x #y", "~", "- a", "e", "0x1"]
                ),
                st.text(max_size=9).filter(lambda t: '"' not in t and "\\" not in t).map(lambda t: f'"{t}"'),
            ),
        ),
        max_size=4,
    )
)
def test_the_quick_reading_of_simple_lines_agrees_with_the_parser(pairs):
    lines = [f"{key}: {value}" for key, value in pairs]
    quick = frontmatter._load_simple(lines)
    if quick is not None and lines:
        assert frontmatter._load("\n".join(lines) + "\n") == quick
