"""What stands against confirming, each with its line; and when a sealed text still holds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from plans.planfile import read_plan_file
from plans.planfile_check import find_problems, holds, seal_entry
from tests.plans import samples

NOW = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)


def problems(text: str, *, task_id: str = "7f3c-01", archive_id: str = "7f3c") -> list[tuple[int, str]]:
    file = read_plan_file(text.encode())
    return [
        (found.line, found.code) for found in find_problems(file, task_id, archive_id=archive_id, now=NOW)
    ]


@pytest.mark.parametrize("name", ["SEED", "CANONICAL", "FULL_WIDTH", "NO_BRACKETS"])
def test_the_samples_can_be_confirmed(name):
    assert problems(getattr(samples, name)) == []
    assert problems(getattr(samples, name).replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("• Status: Active\n", "", [(1, "MISSING_FIELD")]),
        ("• Status: Active\n", "• Status: Paused\n", [(5, "NOT_ACTIVE")]),
        ("• Status: Active\n", "• Status: Active\n• Status: Active\n", [(6, "REPEATED_FIELD")]),
        ("• Objective: 省去人工翻阅，体现 SOUL.md 的克制", "• Objective:", [(10, "MISSING_FIELD")]),
        ("archives/7f3c/PLAN.md\n", "archives/other/PLAN.md\n", [(4, "WRONG_ARCHIVE")]),
        ("从路径 archives/7f3c/PLAN.md", "从路径 archives/other/PLAN.md", [(13, "WRONG_FIRST_STEP")]),
        ("Task_ID: 7f3c-01 的", "Task_ID: 7f3c-02 的", [(13, "WRONG_FIRST_STEP")]),
        ("  1. [读取本文件指令]", "  1. 先打个招呼\n  2. [读取本文件指令]", [(13, "WRONG_FIRST_STEP")]),
        ("cron 0 9 * * * (Asia/Shanghai)", "cron 0 0 30 2 *", [(6, "SCHEDULE_NEVER_DUE")]),
        ("cron 0 9 * * * (Asia/Shanghai)", "at 2026-11-30 15:00", [(6, "SCHEDULE_IN_THE_PAST")]),
        ("cron 0 9 * * * (Asia/Shanghai)", "at in 20m", [(6, "RELATIVE_INSTANT")]),
        ("• Schedule: cron 0 9 * * * (Asia/Shanghai)\n", "", [(1, "NO_SCHEDULE")]),
        ("每天一份 report.md", "{{R_content}}", [(11, "PLACEHOLDER")]),
        ("• Status: Active\n", "• Status: Active\n• Task_ID: 7f3c-09\n", [(6, "CONTRADICTING_TASK_ID")]),
    ],
)
def test_each_fault_is_listed_with_its_line(old, new, found):
    assert old in samples.SEED
    assert problems(samples.SEED.replace(old, new, 1)) == found


def test_an_id_that_stands_twice_is_listed_at_both_places():
    found = problems(samples.CANONICAL + "\n" + samples.CANONICAL)
    assert found == [(1, "DUPLICATE_TASK_ID"), (18, "DUPLICATE_TASK_ID")]


def test_a_file_without_the_id_says_so():
    assert problems("nothing here\n") == [(1, "NO_TASK_ID")]
    assert (1, "NO_TASK_ID") in problems(samples.SEED.replace("[Task_ID: 7f3c-01] ", ""))


def test_bytes_that_are_no_text_are_listed():
    file = read_plan_file(samples.SEED.encode() + b"- Owner: \xe9\x00\n")
    found = find_problems(file, "7f3c-01", archive_id="7f3c", now=NOW)
    assert [(problem.line, problem.code) for problem in found] == [(17, "NOT_UTF8"), (17, "NUL")]


def test_problems_have_sentences():
    file = read_plan_file(samples.SEED.replace("archives/7f3c/PLAN.md\n", "archives/x/PLAN.md\n").encode())
    (problem,) = find_problems(file, "7f3c-01", archive_id="7f3c", now=NOW)
    assert problem.text == "Archive_Path names archives/x/PLAN.md; this file is archives/7f3c/PLAN.md."


# -- seals
THREE = samples.three_entries().encode()


def sealed(raw: bytes, task_id: str = "7f3c-02"):
    file = read_plan_file(raw)
    return seal_entry(file, file.find(task_id)[0])


def test_a_seal_holds_for_the_same_bytes_and_for_no_file_with_one_byte_changed_in_its_entry():
    raw = samples.SEED.encode()
    seal = sealed(raw, "7f3c-01")
    assert holds(seal, read_plan_file(raw), "7f3c-01")
    for position in range(len(raw)):
        changed = raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :]
        assert not holds(seal, read_plan_file(changed), "7f3c-01")
        assert not holds(seal, read_plan_file(raw[:position] + raw[position + 1 :]), "7f3c-01")
    for extra in (b" ", b"\n", b"x", b"\xef\xbb\xbf"):
        assert not holds(seal, read_plan_file(raw + extra), "7f3c-01")
        assert not holds(seal, read_plan_file(extra + raw), "7f3c-01")


def test_changing_removing_or_adding_another_entry_does_not_break_a_seal():
    seal = sealed(THREE)
    assert holds(seal, read_plan_file(THREE.replace("计划 3".encode(), "计划三".encode())), "7f3c-02")
    assert holds(seal, read_plan_file(THREE.replace("计划 1".encode(), "计划一".encode())), "7f3c-02")
    file = read_plan_file(THREE)
    without_third = file.raw[: file.entries[2].start]
    assert holds(seal, read_plan_file(without_third), "7f3c-02")
    last = sealed(THREE, "7f3c-03")
    added = THREE + b"\n" + samples.CANONICAL.replace("7f3c-01", "7f3c-04").encode()
    assert holds(last, read_plan_file(added), "7f3c-03")


def test_a_changed_preamble_a_second_entry_of_the_same_id_and_a_missing_entry_break_it():
    seal = sealed(THREE)
    assert not holds(seal, read_plan_file(THREE.replace("说明".encode(), "注意".encode())), "7f3c-02")
    file = read_plan_file(THREE)
    assert not holds(seal, read_plan_file(THREE + file.bytes_of(file.entries[1])), "7f3c-02")
    assert not holds(seal, read_plan_file(file.raw[: file.entries[1].start]), "7f3c-02")
    assert not holds(replace(seal, file=""), read_plan_file(b""), "7f3c-02")
