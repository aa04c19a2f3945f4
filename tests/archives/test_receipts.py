"""`spec/archives.md` §4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.blocks import read_blocks
from archives.protocol import ArchivePath, is_safe_id
from archives.receipts import Receipt, read_receipts, write_blocked, write_ok

TS = "2026-04-16-14-30-05"


def test_a_successful_receipt_is_written_letter_by_letter():
    assert write_ok("main", [ArchivePath("main", TS, "报告.md")]) == (
        "ARCHIVE_STATUS: OK\n"
        "ARCHIVE_ROOT: archives/main/\n"
        "\n"
        "```json\n"
        "{\n"
        '  "type": "archive_grid",\n'
        '  "data": {\n'
        '    "type": "file",\n'
        '    "archive_root": "archives/main",\n'
        f'    "subpath": "{TS}/报告.md",\n'
        '    "name": "报告.md"\n'
        "  }\n"
        "}\n"
        "```\n"
    )


def test_there_is_one_block_per_file():
    text = write_ok("main", [ArchivePath("main", TS, "a.md"), ArchivePath("main", "", "PLAN.md")])
    assert text.count("```json\n") == 2
    assert '"subpath": "PLAN.md",\n    "name": "PLAN.md"' in text


def test_on_other_platforms_the_text_stands_alone():
    text = write_ok("main", [ArchivePath("main", TS, "a.md")], openclaw=False)
    assert text == "ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/main/\n"


def test_a_blocked_receipt_has_its_reason_on_one_line():
    assert write_blocked("disk\n full ") == "ARCHIVE_STATUS: BLOCKED\nARCHIVE_REASON: disk full\n"


OK = Receipt("OK", root="archives/main/")


@pytest.mark.parametrize(
    "text",
    [
        "ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/main/",
        "ARCHIVE_STATUS: OK\r\nARCHIVE_ROOT: archives/main/\r\n",
        "ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/main/",
        "ARCHIVE_STATUS: OK / ARCHIVE_ROOT: archives/main/",
        "ARCHIVE_STATUS: OK|ARCHIVE_ROOT: archives/main/",
        "ARCHIVE_STATUS: OK/ARCHIVE_ROOT: archives/main/",
        "`ARCHIVE_STATUS: OK` | `ARCHIVE_ROOT: archives/main/`",
        "**ARCHIVE_STATUS**: OK\n**ARCHIVE_ROOT:** archives/main/",
        "- ARCHIVE_STATUS: OK\n- ARCHIVE_ROOT: archives/main/",
        "ARCHIVE_STATUS：OK\nARCHIVE_ROOT：archives/main/",
        "归档完成。\n\nARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/main/\n谢谢",
    ],
)
def test_a_receipt_is_read_in_all_its_written_forms(text):
    assert read_receipts(text) == [OK]
    assert read_receipts(text)[0].archive_id == "main"


def test_the_seeds_blocked_line_is_read():
    text = "`ARCHIVE_STATUS: BLOCKED` / `ARCHIVE_REASON: invalid Session`"
    assert read_receipts(text) == [Receipt("BLOCKED", reason="invalid Session")]


def test_a_reason_may_hold_slashes_and_bars():
    text = "ARCHIVE_STATUS: BLOCKED\nARCHIVE_REASON: no /tmp | no space"
    assert read_receipts(text)[0].reason == "no /tmp | no space"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ARCHIVE_STATUS: OK", "root-missing"),
        ("ARCHIVE_STATUS: OK\nARCHIVE_ROOT: arch/archives/main/", "root-wrong"),
        ("ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/../", "root-wrong"),
        ("ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/", "root-wrong"),
        ("ARCHIVE_STATUS: BLOCKED", "reason-missing"),
        ("ARCHIVE_STATUS: DONE", "status-unknown"),
    ],
)
def test_what_is_wrong_with_a_receipt_is_named_and_it_is_not_ok(text, problem):
    (receipt,) = read_receipts(text)
    assert receipt.problems == (problem,)
    assert not receipt.is_ok and receipt.archive_id == ""


def test_an_example_inside_a_fence_is_no_receipt():
    assert read_receipts("```text\nARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/main/\n```") == []


def test_a_text_without_a_receipt_has_none():
    assert read_receipts("all done, archived!") == []


def test_two_receipts_are_both_read_in_order():
    text = write_blocked("first") + "\n" + write_ok("main")
    assert [receipt.status for receipt in read_receipts(text)] == ["BLOCKED", "OK"]


@given(
    st.text(min_size=1, max_size=30).filter(is_safe_id),
    st.lists(st.sampled_from(["a.md", "报告 1.md", "x|y.md"]), max_size=3),
)
def test_what_is_written_is_read_back(archive_id, names):
    files = [ArchivePath(archive_id, TS, name) for name in names]
    text = write_ok(archive_id, files)
    assert list(read_blocks(text).cards) == files
    assert read_receipts(text)[0].status == "OK"


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text):
    read_receipts("ARCHIVE_STATUS: " + text)
