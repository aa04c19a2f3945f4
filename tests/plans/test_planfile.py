"""Reading PLAN.md: tolerant of its dress, exact about its bytes and lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.planfile import REQUIRED, read_plan_file
from tests.plans import samples


def only(text: str):
    file = read_plan_file(text.encode())
    assert len(file.entries) == 1
    return file.entries[0]


@pytest.mark.parametrize("name", ["SEED", "CANONICAL", "FULL_WIDTH", "NO_BRACKETS"])
@pytest.mark.parametrize("dress", ["plain", "crlf", "bom", "bom and crlf", "no final newline"])
def test_every_style_is_read_with_all_its_fields(name, dress):
    text = getattr(samples, name)
    if "crlf" in dress:
        text = text.replace("\n", "\r\n")
    if "bom" in dress:
        text = "\ufeff" + text
    if dress == "no final newline":
        text = text.rstrip("\n")
    entry = only(text)
    assert entry.task_id == "7f3c-01"
    assert entry.value("Archive_Path") == "archives/7f3c/PLAN.md"
    assert entry.value("Status") == "Active"
    assert entry.value("Role_Context").startswith("Mira")
    assert entry.value("Objective") and entry.value("Result")
    assert "读取" in entry.steps[0].text and "7f3c-01" in entry.steps[0].text


def test_the_seeds_own_template_style_gives_these_values():
    entry = only(samples.SEED)
    assert (entry.name, entry.line) == ("每日新闻摘要", 1)
    assert {
        name: entry.fields[name].line for name in ("Role_Context", "Status", "Objective", "Action_Steps")
    } == {
        "Role_Context": 3,
        "Status": 5,
        "Objective": 10,
        "Action_Steps": 12,
    }
    assert [(step.number, step.line) for step in entry.steps] == [(1, 13), (2, 14), (3, 15), (4, 16)]
    assert entry.steps[2].text == "[执行动作]：根据读取到的详细步骤执行业务逻辑。"


def test_full_width_colons_continued_lines_and_unknown_fields_are_kept():
    entry = only(samples.FULL_WIDTH)
    assert entry.value("Objective") == "省去人工翻阅，\n体现 SOUL.md 的克制"
    assert [(field.name, field.value, field.line) for field in entry.extras] == [("Owner", "王小明", 11)]
    assert entry.steps[1].text == "确认当前上下文已对齐 SOUL.md 与 IDENTITY.md。\n- 若未对齐：停止"
    assert entry.value("Role_Context") == "Mira" and entry.line_of("Archive_Path") == 12


def test_a_file_without_brackets_begins_its_entry_at_the_heading_above_the_id():
    text = "Some words first.\n\n" + samples.NO_BRACKETS
    entry = read_plan_file(text.encode()).entries[0]
    assert (entry.name, entry.line) == ("Daily digest", 3)
    two = samples.NO_BRACKETS + "\n# Second\n\n- Task_ID: 7f3c-02\n- Status: Active\n"
    first, second = read_plan_file(two.encode()).entries
    assert (first.task_id, second.task_id, second.name) == ("7f3c-01", "7f3c-02", "Second")
    assert read_plan_file(two.encode()).text_of(second).startswith("# Second\n")


def test_bulleted_steps_without_numbers_are_steps():
    entry = only(
        "[Task_ID: a] x\n- Action_Steps:\n  - first: one\n  - second\n    more of it\n- Status: Active\n"
    )
    assert [(step.number, step.text) for step in entry.steps] == [
        (1, "first: one"),
        (2, "second\nmore of it"),
    ]
    assert entry.value("Status") == "Active"


def test_a_second_mention_of_a_field_is_kept_apart_with_its_line():
    entry = only("[Task_ID: a] x\n- Status: Active\n- Status: Paused\n")
    assert entry.value("Status") == "Active"
    assert [(field.name, field.value, field.line) for field in entry.repeated] == [("Status", "Paused", 3)]


def test_an_entry_inside_a_code_fence_is_no_entry():
    text = samples.CANONICAL + "\n```markdown\n### [Task_ID: other] x\n- **Status**: Active\n```\n"
    entry = only(text)
    assert entry.task_id == "7f3c-01" and entry.end == len(text.encode())


def test_other_line_ends_than_the_line_feed_are_text():
    entry = only("[Task_ID: a] x\n- Objective: one\u2028two\u0085three\n- Status: Active\n")
    assert entry.value("Objective") == "one\u2028two\u0085three" and entry.line_of("Status") == 3


def test_the_first_line_that_is_not_utf8_is_named():
    file = read_plan_file(samples.CANONICAL.encode() + b"- **Owner**: \xe9\n")
    assert file.bad_bytes == 17 and file.entries[0].value("Status") == "Active"


def test_nothing_in_an_empty_file():
    for raw in (b"", b"\xef\xbb\xbf", b"\n\n", b"just words\n"):
        assert read_plan_file(raw).entries == ()


# -- the tolerant grammar: any dress of the same facts reads as the same facts
word = st.text(st.sampled_from("abcxyz中文字数，。 "), min_size=1, max_size=20).map(str.strip).filter(bool)
facts = st.fixed_dictionaries(
    {
        "Role_Context": word,
        "Archive_Path": st.just("archives/7f3c/PLAN.md"),
        "Status": st.just("Active"),
        "Objective": st.lists(word, min_size=1, max_size=3),
        "Result": st.lists(word, min_size=1, max_size=2),
    }
)


@st.composite
def dressed(draw):
    """(text, facts, steps): one entry in a drawn style."""
    known = draw(facts)
    steps = draw(st.lists(word, min_size=1, max_size=4))
    bullet = draw(st.sampled_from(["- ", "• ", "* ", "*   ", ""]))
    bold = draw(st.booleans())
    colon = draw(st.sampled_from([": ", "：", " : ", ":"]))
    tick = draw(st.sampled_from(["", "`"]))
    spaced = draw(st.sampled_from(["_", " "]))
    heading = draw(st.sampled_from(["", "# ", "### ", "###### "]))
    left, right = draw(st.sampled_from([("[", "]"), ("【", "】"), ("**[", "]**")]))
    number = draw(st.sampled_from(["{}. ", "{}) ", "{}、"]))
    names = draw(st.permutations([*known, "Action_Steps"]))
    lines = [f"{heading}{left}Task_ID{colon}{tick}7f3c-01{tick}{right} 计划"]
    for name in names:
        label = name.replace("_", spaced)
        label = f"**{label}**" if bold else label
        value = [str(n) for n in steps] if name == "Action_Steps" else known[name]
        if name == "Action_Steps":
            lines.append(f"{bullet}{label}{colon}".rstrip())
            lines += [f"  {number.format(n)}{step}" for n, step in enumerate(value, 1)]
        elif isinstance(value, list):
            lines.append(f"{bullet}{label}{colon}{value[0]}")
            lines += [f"    {more}" for more in value[1:]]
        else:
            lines.append(
                f"{bullet}{label}{colon}{tick if name == 'Archive_Path' else ''}{value}{tick if name == 'Archive_Path' else ''}"
            )
        if draw(st.booleans()):
            lines.append("")
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from(["#### ORA Detail", "ORA Detail"])))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end, end * 3]))
    return text, known, steps


@settings(max_examples=150, deadline=None)
@given(dressed())
def test_any_dress_of_the_same_facts_reads_the_same(case):
    text, known, steps = case
    entry = only(text)
    assert entry.task_id == "7f3c-01"
    for name, value in known.items():
        assert entry.value(name) == ("\n".join(value) if isinstance(value, list) else value)
    assert [step.text for step in entry.steps] == steps
    assert set(REQUIRED) - {"Task_ID"} <= set(entry.fields)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_divided_without_loss(raw):
    file = read_plan_file(raw)
    assert file.preamble + b"".join(file.bytes_of(entry) for entry in file.entries) == raw
