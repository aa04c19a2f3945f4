import base64
import hashlib

import pytest

from gateway.callers import Caller
from gateway.registry import RpcError, call
from tests.archives.conftest import TS


@pytest.fixture
def agent() -> Caller:
    return Caller(
        kind="token", label="token of ops", scopes=frozenset({"operator.read", "operator.write"}),
        agent_ids=frozenset({"ops"}), is_agent=True, session_key="agent:ops:cron:7f3c",
    )  # fmt: skip


@pytest.fixture
def other_agent() -> Caller:
    return Caller(
        kind="token", label="token of main", scopes=frozenset({"operator.admin"}), agent_ids=frozenset({"main"}),
        is_agent=True, session_key="agent:main:main",
    )  # fmt: skip


def test_write_answers_with_path_hash_and_receipt(workspace, agent):
    answer = call("archives.write", {"name": "a.md", "content": "好", "timestamp": TS}, agent)
    assert answer["archiveId"] == "7f3c"
    assert answer["path"] == f"archives/7f3c/{TS}/a.md"
    assert answer["sha256"] == hashlib.sha256("好".encode()).hexdigest()
    assert answer["receipt"].splitlines()[:2] == ["ARCHIVE_STATUS: OK", "ARCHIVE_ROOT: archives/7f3c/"]


@pytest.mark.parametrize("stray", ["archiveId", "archive_id", "session", "sessionKey", "agentId", "path"])
def test_no_parameter_can_name_the_archive(workspace, agent, stray):
    with pytest.raises(RpcError) as caught:
        call("archives.write", {"name": "a.md", "content": "x", stray: "main"}, agent)
    assert stray in caught.value.message
    assert list(workspace.path.iterdir()) == []


def test_a_person_or_program_without_a_session_is_blocked(workspace, shell):
    with pytest.raises(RpcError) as caught:
        call("archives.write", {"name": "a.md", "content": "x"}, shell)
    assert caught.value.details == {"archiveStatus": "BLOCKED", "archiveReason": "invalid Session"}


def test_the_same_key_writes_once(workspace, agent):
    given = {"name": "a.md", "content": "x", "timestamp": TS, "idempotencyKey": "k1"}
    assert call("archives.write", given, agent) == call("archives.write", given, agent)
    assert len(list(workspace.path.rglob("a.md"))) == 1


def test_binary_content_comes_as_base64(workspace, agent):
    data = bytes(range(256))
    answer = call(
        "archives.write",
        {"name": "x.bin", "content": base64.b64encode(data).decode(), "encoding": "base64", "timestamp": TS},
        agent,
    )
    assert (workspace.path / answer["path"]).read_bytes() == data
    read = call("archives.read", {"agentId": "ops", "path": answer["path"]}, agent)
    assert (read["encoding"], base64.b64decode(read["content"]), read["next"]) == ("base64", data, None)


def test_content_that_is_not_what_it_says_is_refused(workspace, agent):
    with pytest.raises(RpcError, match="base64"):
        call("archives.write", {"name": "x", "content": "***", "encoding": "base64"}, agent)


def test_a_large_file_is_read_in_pieces(workspace, put, agent):
    path = f"archives/main/{TS}/a.txt"
    put(path, "abcdefghij")
    first = call("archives.read", {"agentId": "ops", "path": path, "maxBytes": 4}, agent)
    assert (first["content"], first["next"], first["size"], first["sha256"]) == ("abcd", 4, 10, None)
    last = call("archives.read", {"agentId": "ops", "path": path, "offset": 8, "maxBytes": 4}, agent)
    assert (last["content"], last["next"]) == ("ij", None)


@pytest.mark.parametrize(
    "path",
    [".env", "/etc/passwd", "archives/../.env", f"archives/main/{TS}/../../../.env", "archives/main/\0"],
)
def test_nothing_outside_the_tracks_is_read(workspace, put, agent, path):
    put(".env", "SECRET=1")
    with pytest.raises(RpcError):
        call("archives.read", {"agentId": "ops", "path": path}, agent)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("archives.list", {"agentId": "ops"}),
        ("archives.read", {"agentId": "ops", "path": f"archives/main/{TS}/a.md"}),
        ("archives.verify", {"agentId": "ops", "path": f"archives/main/{TS}/a.md"}),
        ("archives.lint", {"agentId": "ops"}),
    ],
)
def test_a_token_of_another_agent_sees_nothing(workspace, put, other_agent, method, params):
    put(f"archives/main/{TS}/a.md")
    with pytest.raises(RpcError) as caught:
        call(method, params, other_agent)
    assert caught.value.code == "FORBIDDEN"


def test_a_list_of_all_agents_holds_only_the_callers_own(workspace, put, agent, other_agent):
    put(f"archives/main/{TS}/a.md")
    assert [row["archiveId"] for row in call("archives.list", {}, agent)["archives"]] == ["main"]
    assert call("archives.list", {}, other_agent)["archives"] == []
    assert call("archives.list", {"query": "a"}, other_agent)["files"] == []


def test_list_pages_by_cursor_and_finds_by_name(workspace, put, agent):
    for number in range(3):
        put(f"archives/a{number}/2026-04-16-14-30-0{number}/报告 {number}.md")
    page = call("archives.list", {"limit": 2}, agent)
    assert [row["archiveId"] for row in page["archives"]] == ["a2", "a1"]
    rest = call("archives.list", {"limit": 2, "cursor": page["cursor"]}, agent)
    assert ([row["archiveId"] for row in rest["archives"]], rest["cursor"]) == (["a0"], "")
    found = call("archives.list", {"query": "报告 1"}, agent)
    assert [row["path"] for row in found["files"]] == ["archives/a1/2026-04-16-14-30-01/报告 1.md"]


def test_verify_says_ok_or_blocked_with_the_receipt(workspace, put, agent):
    path = f"archives/main/{TS}/a.md"
    put(path, "content")
    fine = call("archives.verify", {"agentId": "ops", "path": path, "required": ["tent"]}, agent)
    assert (fine["status"], fine["size"]) == ("OK", 7)
    wrong = call("archives.verify", {"agentId": "ops", "path": path, "sha256": "0" * 64}, agent)
    assert wrong["receipt"].startswith("ARCHIVE_STATUS: BLOCKED\nARCHIVE_REASON: ")
    assert wrong["code"] == "hash-differs"


def test_lint_lists_findings_with_their_right_place(workspace, put, agent):
    put(f"arch/main/{TS}/a.md")
    answer = call("archives.lint", {"agentId": "ops"}, agent)
    assert answer["complete"] is True
    assert [(one["code"], one["target"]) for one in answer["findings"]] == [
        ("wrong-root", f"archives/main/{TS}/a.md")
    ]
