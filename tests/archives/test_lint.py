"""`spec/archives.md` §6, lint: what breaks the protocol, and where a copy belongs."""

import os
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from archives.errors import NotThere
from archives.lint import find, lint_workspace

TS, NEXT = "2026-04-16-14-30-05", "2026-04-16-14-30-06"
UTC_ZONE = ZoneInfo("UTC")
MODIFIED = datetime(2026, 3, 1, 8, 0, 9, tzinfo=UTC).timestamp()
MODIFIED_TS = "2026-03-01-08-00-09"


@pytest.fixture
def root(tmp_path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    put(path, f"archives/main/{TS}/fine 报告.md")
    put(path, "archives/main/PLAN.md")
    return path


def put(root: Path, path: str, data: bytes = b"content") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (MODIFIED, MODIFIED))
    return file


def findings(root: Path) -> list[tuple[str, str, str | None]]:
    report = lint_workspace(root, zone=UTC_ZONE)
    assert report.complete
    return [(one.code, one.path, str(one.target) if one.target else None) for one in report.findings]


def test_a_clean_workspace_has_no_findings(root):
    put(root, "notes/archive.md")
    put(root, "skills/x/archives/readme.md")
    assert findings(root) == []
    assert lint_workspace(root).files_seen == 2


@pytest.mark.parametrize(
    "wrong", ["arch", "archive", "Archives", "arch/archives", "x/archives", "x/y/archives"]
)
def test_a_wrong_first_segment_is_found_wherever_it_stands(root, wrong):
    put(root, f"{wrong}/old/{TS}/a.md")
    assert findings(root) == [("wrong-root", f"{wrong}/old/{TS}/a.md", f"archives/old/{TS}/a.md")]


def test_a_plan_under_a_wrong_root_belongs_to_the_plans_place(root):
    put(root, "arch/old/PLAN.md")
    assert findings(root) == [("wrong-root", "arch/old/PLAN.md", "archives/old/PLAN.md")]


def test_a_folder_that_is_only_misspelt_is_named_without_an_offer(root):
    put(root, "archive/2019/notes.txt")
    assert findings(root) == [("wrong-root", "archive", None)]


def test_an_ordinary_archives_folder_of_a_project_is_no_finding(root):
    put(root, "project/archives/2019/notes.txt")
    assert findings(root) == []


@pytest.mark.parametrize(
    ("path", "code", "target"),
    [
        ("archives/main/a.md", "outside-bucket", f"archives/main/{MODIFIED_TS}/a.md"),
        ("archives/a.md", "no-archive", None),
        ("archives/main/2026-04-16 14:30:05/a.md", "bad-timestamp", f"archives/main/{TS}/a.md"),
        ("archives/main/drafts/a.md", "bad-timestamp", f"archives/main/{MODIFIED_TS}/a.md"),
        (f"archives/ops/{TS}/PLAN.md", "plan-in-bucket", "archives/ops/PLAN.md"),
        (f"archives/main/{TS}/sub/dir/a.md", "nested", f"archives/main/{TS}/a.md"),
        (f"archives/.hidden/{TS}/a.md", "bad-id", None),
        (f"archives/main/{TS}/a\x01.md", "bad-name", None),
        (f"archives/main/{TS}/e\u0301.md", "not-nfc", f"archives/main/{TS}/é.md"),
    ],
)
def test_each_kind_of_break_is_found_with_its_right_place(root, path, code, target):
    put(root, path)
    assert findings(root) == [(code, path, target)]


def test_an_empty_file_is_a_finding_without_an_offer(root):
    put(root, f"archives/main/{TS}/empty.md", b"")
    assert findings(root) == [("empty", f"archives/main/{TS}/empty.md", None)]


def test_names_that_differ_only_by_case_are_found_once(root):
    put(root, f"archives/main/{TS}/Report.md")
    put(root, f"archives/main/{TS}/report.md", b"another")
    assert findings(root) == [("case", f"archives/main/{TS}/report.md", f"archives/main/{NEXT}/report.md")]


def test_archives_that_differ_only_by_case_are_found(root):
    put(root, f"archives/Main/{TS}/a.md")
    assert findings(root) == [("case", "archives/main", None)]


def test_a_name_that_is_not_utf8_is_found_and_printable(root):
    with open(os.fsencode(root / "archives/main" / TS) + b"/caf\xe9.md", "wb") as file:
        file.write(b"x")
    assert findings(root) == [("bad-name", f"archives/main/{TS}/caf\\xe9.md", None)]


def test_symlinks_are_found_and_those_that_leave_are_told_apart(root, tmp_path):
    (root / "archives/main" / TS / "in.md").symlink_to(root / "archives/main/PLAN.md")
    (root / "archives/main" / TS / "out.md").symlink_to("/etc/hostname")
    report = lint_workspace(root)
    assert [(one.code, one.path.rsplit("/")[-1]) for one in report.findings] == [
        ("symlink", "in.md"),
        ("symlink-out", "out.md"),
    ]
    assert report.findings[1].detail == "/etc/hostname"


def test_an_archives_folder_that_is_a_link_is_a_finding_and_is_not_entered(tmp_path):
    outside = tmp_path / "outside"
    put(outside, "main/a.md")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/archives").symlink_to(outside)
    assert findings(tmp_path / "w") == [("symlink-out", "archives", None)]


def test_pipes_are_found_and_not_opened(root):
    os.mkfifo(root / "archives/main" / TS / "pipe")
    assert findings(root) == [("special", f"archives/main/{TS}/pipe", None)]


def test_leftovers_of_the_system_are_passed_over(root):
    put(root, "archives/main/.DS_Store")
    put(root, f"archives/main/{TS}/.ocw-123.tmp")
    assert findings(root) == []


def test_a_finding_whose_bytes_are_already_at_the_right_place_says_so(root):
    put(root, "archives/main/a.md")
    put(root, f"archives/main/{MODIFIED_TS}/a.md")
    (finding,) = lint_workspace(root, zone=UTC_ZONE).findings
    assert str(finding.copied_to) == f"archives/main/{MODIFIED_TS}/a.md"
    assert finding.target is None


def test_a_copy_in_a_later_second_counts_too(root):
    put(root, "archives/main/a.md")
    put(root, f"archives/main/{MODIFIED_TS}/a.md", b"occupied by another")
    put(root, "archives/main/2026-03-01-08-00-10/a.md")
    (finding,) = lint_workspace(root, zone=UTC_ZONE).findings
    assert finding.copied_to.bucket == "2026-03-01-08-00-10"


def test_no_copy_is_offered_over_another_plan(root):
    put(root, f"archives/main/{TS}/PLAN.md", b"another plan")
    (finding,) = lint_workspace(root).findings
    assert (finding.code, finding.target, finding.detail) == ("plan-in-bucket", None, "plan-exists")


def test_the_timestamp_offered_is_in_the_workspaces_zone(root):
    put(root, "archives/main/a.md")
    (finding,) = lint_workspace(root, zone=ZoneInfo("Asia/Shanghai")).findings
    assert finding.target.bucket == "2026-03-01-16-00-09"


def test_one_finding_can_be_looked_up_again(root):
    put(root, "archives/main/a.md")
    assert find(root, "archives/main/a.md").code == "outside-bucket"
    assert find(root, "archives/main/PLAN.md") is None


def test_a_limit_cuts_the_report_and_says_so(root):
    for number in range(5):
        put(root, f"archives/main/{number}.md")
    report = lint_workspace(root, limit=3)
    assert (len(report.findings), report.complete) == (3, False)


def test_a_workspace_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(NotThere):
        lint_workspace(tmp_path / "gone")


def test_lint_changes_nothing(root):
    put(root, "arch/old/x.md")
    put(root, "archives/main/a.md")
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in root.rglob("*"))
    lint_workspace(root)
    assert sorted((str(path), path.lstat().st_mtime_ns) for path in root.rglob("*")) == before
