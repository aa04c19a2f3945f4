"""Writing PLAN.md: canonical, and never a byte of anybody else's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.errors import PlansError
from plans.planfile import read_plan_file
from plans.planfile_write import (
    Draft,
    first_instruction,
    put_entry,
    render_entry,
    set_field,
    task_message,
)
from tests.plans import samples


def test_the_first_instruction_character_by_character():
    assert (
        first_instruction("7f3c", "7f3c-01")
        == "从路径 archives/7f3c/PLAN.md 中读取 Task_ID: 7f3c-01 的详细计划并按步骤执行"
    )
    assert task_message("a", "b", "more\nlines\n") == (
        "从路径 archives/a/PLAN.md 中读取 Task_ID: b 的详细计划并按步骤执行\nmore\nlines"
    )
    assert task_message("a", "b", " \n") == first_instruction("a", "b")


def test_the_canonical_text_is_the_template_of_the_spec():
    draft = Draft(
        task_id="7f3c-01",
        name="每日新闻摘要",
        archive_id="7f3c",
        persona="Mira",
        objective="省去人工翻阅，体现 SOUL.md 的克制",
        result="每天一份 report.md",
        actions=("根据读取到的详细步骤执行业务逻辑。",),
        schedule="cron 0 9 * * * (Asia/Shanghai)",
    )
    assert render_entry(draft) == samples.CANONICAL


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_of_three_entries_one_changes_and_every_other_byte_stays(number, end):
    raw = samples.three_entries().replace("\n", end).encode()
    before = read_plan_file(raw)
    task_id = f"7f3c-0{number}"
    text = before.text_of(before.find(task_id)[0]).replace("每天一份 report.md", "每天两份")
    after = read_plan_file(put_entry(raw, task_id, text))
    assert after.find(task_id)[0].value("Result") == "每天两份"
    assert after.preamble == before.preamble
    for entry in before.entries:
        if entry.task_id != task_id:
            assert after.bytes_of(after.find(entry.task_id)[0]) == before.bytes_of(entry)
    assert put_entry(after.raw, task_id, before.text_of(before.find(task_id)[0])) == raw


def test_a_new_entry_goes_behind_the_others_and_touches_none():
    raw = samples.three_entries().encode()
    new = samples.SEED.replace("7f3c-01", "7f3c-04")
    after = put_entry(raw, "7f3c-04", new)
    assert after == raw + b"\n" + new.encode()
    assert put_entry(b"", "7f3c-01", samples.SEED) == samples.SEED.encode()


def test_an_entry_that_stands_twice_is_not_replaced():
    raw = (samples.CANONICAL + "\n" + samples.CANONICAL).encode()
    with pytest.raises(PlansError) as refused:
        put_entry(raw, "7f3c-01", samples.CANONICAL)
    assert refused.value.code == "DUPLICATE_TASK_ID"


@pytest.mark.parametrize(
    "text",
    [
        "no entry",
        samples.CANONICAL.replace("7f3c-01", "other"),
        samples.three_entries(),
        "words\n\n" + samples.CANONICAL,
    ],
)
def test_an_edit_that_is_not_one_entry_of_that_id_is_refused(text):
    with pytest.raises(PlansError) as refused:
        put_entry(samples.CANONICAL.encode(), "7f3c-01", text)
    assert refused.value.code == "NOT_ONE_ENTRY"


@pytest.mark.parametrize(
    ("text", "code"), [("\x00", "BAD_TEXT"), ("\ud800", "BAD_TEXT"), ("x" * 300_000, "PLAN_TOO_LARGE")]
)
def test_text_that_no_file_should_hold_is_refused(text, code):
    with pytest.raises(PlansError) as refused:
        put_entry(samples.CANONICAL.encode(), "7f3c-01", samples.CANONICAL + text)
    assert refused.value.code == code


@pytest.mark.parametrize("name", ["SEED", "CANONICAL", "FULL_WIDTH", "NO_BRACKETS"])
def test_setting_the_schedule_changes_that_line_and_no_other(name):
    text = getattr(samples, name)
    changed = set_field(text, "Schedule", "every 3h")
    assert read_plan_file(changed.encode()).entries[0].value("Schedule") == "every 3h"
    different = [(a, b) for a, b in zip(text.split("\n"), changed.split("\n"), strict=True) if a != b]
    assert len(different) == 1
    without = "\n".join(line for line in text.split("\n") if "Schedule" not in line)
    added = set_field(without, "Schedule", "every 3h")
    assert read_plan_file(added.encode()).entries[0].value("Schedule") == "every 3h"
    assert [line for line in added.split("\n") if line != "- **Schedule**: every 3h"] == without.split("\n")


free = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.just("\n"), min_size=1, max_size=80
).filter(str.strip)


@settings(max_examples=150, deadline=None)
@given(objective=free, result=free, actions=st.lists(free, min_size=1, max_size=3), name=free)
def test_free_words_can_never_forge_a_field_a_step_or_an_entry(objective, result, actions, name):
    draft = Draft("t-1", name, "7f3c", "Mira", objective, result, tuple(actions), schedule="every 2h")
    file = read_plan_file(render_entry(draft).encode())
    assert [entry.task_id for entry in file.entries] == ["t-1"]
    entry = file.entries[0]
    assert (entry.value("Status"), entry.value("Schedule")) == ("Active", "every 2h")
    assert len(entry.steps) == len(actions) + 3
    assert not entry.repeated and not entry.extras
    assert put_entry(file.raw, "t-1", render_entry(draft)) == file.raw
