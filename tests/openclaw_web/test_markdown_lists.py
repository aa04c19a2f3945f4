import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_web.markdown import render_markdown
from openclaw_web.markdown_lists import deepen_lists


@pytest.mark.parametrize(
    ("written", "moved"),
    [
        ("- a\n  - b\n    - c", "- a\n    - b\n        - c"),
        ("- a:\n  1. b\n  2. c\n- d", "- a:\n    1. b\n    2. c\n- d"),
        ("1. a\n   - b", "1. a\n    - b"),
        ("- a\n    - b", "- a\n    - b"),
        ("- a\n\n  more of a\n\nafter", "- a\n\n    more of a\n\nafter"),
        ("- a\nlazy\n- b", "- a\nlazy\n- b"),
        ("- a\n\n      code", "- a\n\n        code"),
        ("text\n\n    code - x", "text\n\n    code - x"),
        ("```\n- a\n  - b\n```", "```\n- a\n  - b\n```"),
        ("- a\n\nafter\n  - b", "- a\n\nafter\n  - b"),
    ],
)
def test_what_belongs_to_an_item_stands_four_spaces_in(written, moved):
    assert deepen_lists(written) == moved


def test_the_steps_of_a_plan_are_a_list_of_their_own():
    html = render_markdown("- **Action_Steps**:\n  1. **[a]**：read.\n  2. **[b]**：do.")
    assert html.count("<ol>") == 1 and html.count("<li>") == 3


@given(
    st.lists(
        st.sampled_from(["- a", "  - b", "   1. c", "", "text", "  text", "```", "      x", "* * *"]),
        max_size=12,
    )
)
def test_no_word_is_lost_and_no_line_added(lines):
    text = "\n".join(lines)
    assert [line.strip() for line in deepen_lists(text).split("\n")] == [
        line.strip() for line in lines or [""]
    ]
