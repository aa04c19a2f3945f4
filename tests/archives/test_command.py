import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from archives.models import ArchiveFile
from tests.archives.conftest import TS


def run(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("archive", *words, stdout=out)
    except SystemExit as stop:
        return stop.code, out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def status(tmp_path):
    file = tmp_path / "status.json"
    file.write_text(json.dumps({"details": {"ok": True, "sessionKey": "agent:ops:cron:7f3c"}}))
    return str(file)


@pytest.fixture
def report(tmp_path):
    file = tmp_path / "report.md"
    file.write_text("# Report")
    return str(file)


def test_write_prints_the_receipt(workspace, status, report):
    code, text = run("write", report, "--session-status", status, "--timestamp", TS, "--agent", "ops")
    assert code == 0
    assert text.startswith("ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/7f3c/\n\n```json\n")
    assert (workspace.path / f"archives/7f3c/{TS}/report.md").read_text() == "# Report"


def test_write_takes_the_tools_text_card_too(workspace, tmp_path, report):
    card = tmp_path / "card.txt"
    card.write_text("🦞 OpenClaw\n🧵 Session: agent:ops:main • duration 2s\n")
    code, text = run("write", report, "--session-status", str(card), "--text-only", "--json")
    assert (code, json.loads(text)["path"].split("/")[1]) == (0, "main")
    assert "```" not in json.loads(text)["receipt"]


def test_a_bad_session_is_a_blocked_receipt_and_exit_status_1(workspace, tmp_path, report):
    bad = tmp_path / "bad.json"
    bad.write_text('{"details": {"sessionKey": ""}}')
    assert run("write", report, "--session-status", str(bad)) == (
        1, "ARCHIVE_STATUS: BLOCKED\nARCHIVE_REASON: invalid Session\n",
    )  # fmt: skip
    assert list(workspace.path.iterdir()) == []


def test_without_the_tool_the_fallback_id_is_used(workspace, report):
    code, text = run("write", report, "--no-session-status", "--json")
    assert code == 0
    assert json.loads(text)["path"].split("/")[1].startswith("local-")


def test_one_of_the_two_sources_must_be_named(workspace, report):
    with pytest.raises(CommandError):
        call_command("archive", "write", report)


def test_verify_fails_with_status_1_and_the_reason(workspace, put):
    put(f"archives/main/{TS}/a.md", "x")
    assert run("verify", f"archives/main/{TS}/a.md")[0] == 0
    code, text = run("verify", f"archives/main/{TS}/a.md", "--required", "absent", "--json")
    assert code == 1
    assert json.loads(text)["code"] == "content-wrong"


def test_lint_lists_and_copies(workspace, put):
    put(f"arch/main/{TS}/a.md")
    assert json.loads(run("lint", "--json")[1])["findings"][0]["target"] == f"archives/main/{TS}/a.md"
    assert run("lint", "--copy", f"arch/main/{TS}/a.md") == (
        0,
        f"copied arch/main/{TS}/a.md to archives/main/{TS}/a.md\n",
    )


def test_reindex_finds_everything_again(workspace, put):
    put(f"archives/main/{TS}/a.md")
    run("reindex")
    before = ArchiveFile.objects.get().name
    assert json.loads(run("reindex", "--drop", "--json")[1])["workspaces"][0]["added"] == 1
    assert ArchiveFile.objects.get().name == before


def test_a_receipt_is_given_only_for_files_that_verify(workspace, put):
    put(f"archives/main/{TS}/a.md")
    assert run("receipt", f"archives/main/{TS}/a.md", "--text-only") == (
        0,
        "ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/main/\n",
    )
    code, text = run("receipt", f"archives/main/{TS}/gone.md")
    assert code == 1 and text.startswith("ARCHIVE_STATUS: BLOCKED\n")


def test_receipts_are_read_from_standard_input(workspace, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/main/"))
    )
    answer = json.loads(run("receipt", "--read", "-", "--json")[1])
    assert answer["receipts"] == [
        {"status": "OK", "root": "archives/main/", "reason": "", "problems": [], "ok": True}
    ]


def test_an_unknown_agent_is_one_sentence(workspace):
    with pytest.raises(CommandError, match="No workspace is known"):
        call_command("archive", "lint", "--agent", "nobody")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["write", "/no/such/file", "--no-session-status"], "/no/such/file cannot be read: No such file"),
        (["write", "-", "--no-session-status"], "--name is needed"),
        (["receipt"], "Name one or more files"),
        (["lint", "--agent", "nobody"], "No workspace is known"),
    ],
)
def test_with_json_a_wrong_use_is_one_json_object_too(workspace, arguments, says):
    code, text = run(*arguments, "--json")
    assert (code, json.loads(text)["error"]["message"][: len(says)]) == (1, says)


def test_a_file_that_is_too_large_is_blocked_without_being_read_whole(workspace, tmp_path):
    large = tmp_path / "large.bin"
    with large.open("wb") as stream:
        stream.truncate(1 << 40)
    code, text = run("write", str(large), "--no-session-status", "--json")
    assert (code, json.loads(text)["code"]) == (1, "too-large")
