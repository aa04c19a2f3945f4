"""`spec/archives.md` §1: from session_status to ARCHIVE_ID."""

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import Blocked
from archives.identity import (
    Identity,
    SessionStatusFailed,
    SessionStatusNotOffered,
    agent_of_session,
    fallback_id,
    identify,
    identity_of_session,
    read_session,
)

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> dict:
    return json.loads((DATA / f"{name}.json").read_text())["response"]["payload"]


def answer(key: str, *, card: str | None = None) -> dict:
    line = f"🦞 OpenClaw\n🧵 Session: {card or key} • duration 2s • updated just now\n🪢 Queue: steer"
    return {"content": [{"type": "text", "text": line}], "details": {"ok": True, "sessionKey": key}}


@pytest.mark.parametrize(
    ("session", "archive_id"),
    [
        ("agent:main:main", "main"),
        ("agent:ops:cron:7f3c9a1e", "7f3c9a1e"),
        ("agent:main:telegram:group:-100123:topic:42", "42"),
        ("agent:main:报告", "报告"),
        ("a:b", "b"),
    ],
)
def test_the_id_is_the_last_part_of_the_session(session, archive_id):
    assert identity_of_session(session) == Identity(archive_id, session, fallback=False)


@pytest.mark.parametrize("session", [None, "", "main", "agent:main:", ":", 7, ["agent:main:main"]])
def test_a_missing_empty_or_undividable_session_is_blocked(session):
    with pytest.raises(Blocked) as caught:
        identity_of_session(session)
    assert caught.value.reason == "invalid Session"


@pytest.mark.parametrize(
    "last",
    [
        "a/b",
        "a\\b",
        ".",
        "..",
        ".hidden",
        "a\nb",
        "a\0b",
        "\u202egpj",
        " a",
        "a ",
        "x" * 129,
        "报" * 43,
        "\ud800",
    ],
)
def test_an_unsafe_last_part_is_blocked(last):
    with pytest.raises(Blocked) as caught:
        identity_of_session(f"agent:main:{last}")
    assert caught.value.reason == "invalid Session"


def test_128_bytes_are_still_an_id():
    assert identity_of_session("agent:main:" + "x" * 128).archive_id == "x" * 128


@given(st.text(max_size=40))
def test_whatever_the_session_says_the_id_is_one_safe_folder_name_or_blocked(text):
    try:
        archive_id = identity_of_session(f"agent:main:{text}").archive_id
    except Blocked:
        return
    assert archive_id and "/" not in archive_id and archive_id not in (".", "..")
    assert Path("/w/archives", archive_id).parent == Path("/w/archives")


def test_the_real_tools_answer_is_read():
    assert read_session(recorded("tool-session-status")) == "agent:main:contract-a"


def test_the_text_card_alone_is_enough():
    text = recorded("tool-session-status")["output"]["content"][0]["text"]
    assert read_session(text) == "agent:main:contract-a"


def test_the_value_ends_before_the_spaced_dot():
    assert read_session("🧵 Session: agent:main:a•b • duration 2s") == "agent:main:a•b"


def test_a_card_with_an_empty_session_is_blocked():
    with pytest.raises(Blocked, match="invalid Session"):
        identity_of_session(read_session("🧵 Session: • duration 2s"))


def test_a_task_title_that_mentions_a_session_is_not_the_session():
    text = "🧵 Session: agent:main:main • duration 2s\n📌 Tasks: latest · Session: agent:other:evil"
    assert read_session(text) == "agent:main:main"


def test_details_and_card_that_disagree_are_blocked():
    with pytest.raises(Blocked, match="contradicts itself"):
        read_session(answer("agent:main:main", card="agent:main:other"))


def test_two_cards_that_disagree_are_blocked():
    with pytest.raises(Blocked, match="contradicts itself"):
        read_session("🧵 Session: agent:a:b • x\n🧵 Session: agent:c:d • y")


def test_an_empty_key_in_details_is_not_repaired_from_the_card():
    with pytest.raises(Blocked):
        read_session(answer("", card="agent:main:main"))


def test_an_answer_without_any_session_is_blocked():
    with pytest.raises(Blocked) as caught:
        identify(lambda: {"content": [], "details": {"ok": True}})
    assert caught.value.reason == "invalid Session"


def test_a_failed_tool_call_is_a_failure_and_not_a_session():
    with pytest.raises(SessionStatusFailed, match=r"^internal_error$"):
        read_session(recorded("tool-session-status-unknown-key-arg") | {"error": {"code": "internal_error"}})


def test_a_failing_call_is_tried_three_times_in_all_and_then_blocked():
    calls = []

    def call():
        calls.append(1)
        raise SessionStatusFailed("gateway is away")

    with pytest.raises(Blocked) as caught:
        identify(call, fallback=lambda: "local-0416-1430")
    assert len(calls) == 3
    assert caught.value.reason == "session_status failed 3 times: gateway is away"


def test_the_third_call_may_succeed():
    answers = iter([OSError("refused"), TimeoutError("slow"), answer("agent:main:main")])

    def call():
        given_answer = next(answers)
        if isinstance(given_answer, Exception):
            raise given_answer
        return given_answer

    assert identify(call).archive_id == "main"


def test_a_contradiction_is_not_tried_again():
    calls = []

    def call():
        calls.append(1)
        return answer("agent:main:main", card="agent:main:other")

    with pytest.raises(Blocked):
        identify(call)
    assert len(calls) == 1


def test_the_tool_is_called_without_parameters():
    assert (
        identify(lambda *args, **kwargs: answer("agent:main:main") if not (args or kwargs) else {}).archive_id
        == "main"
    )


def test_without_the_tool_the_fallback_id_is_used_and_marked():
    assert identify(None, fallback=lambda: "a3f2b1c-0416-1430") == Identity(
        "a3f2b1c-0416-1430", "", fallback=True
    )


def test_a_platform_that_says_it_has_no_such_tool_gets_the_fallback():
    def call():
        raise SessionStatusNotOffered

    assert identify(call, fallback=lambda: "local-0416-1430").fallback is True


@pytest.mark.parametrize("bad", [None, lambda: "", lambda: "made-up", lambda: "local-9999-9999"])
def test_without_a_fallback_either_it_is_blocked(bad):
    with pytest.raises(Blocked) as caught:
        identify(None, fallback=bad)
    assert caught.value.reason == "invalid Session"


def test_the_fallback_id_is_the_git_hash_and_the_local_time(tmp_path):
    def run(*words):
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True)

    run("init", "-q")
    run("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x")
    head = run("rev-parse", "--short", "HEAD").stdout.strip()
    assert fallback_id(tmp_path, datetime(2026, 4, 16, 14, 30)) == f"{head}-0416-1430"


def test_outside_a_repository_the_fallback_says_local(tmp_path):
    assert fallback_id(tmp_path, datetime(2026, 4, 16, 14, 30)) == "local-0416-1430"


def test_a_workspace_that_is_gone_still_gives_local(tmp_path):
    assert fallback_id(tmp_path / "gone", datetime(2026, 4, 16, 9, 5)) == "local-0416-0905"


@pytest.mark.parametrize(
    ("session", "agent"),
    [("agent:ops:cron:1", "ops"), ("agent:main:main", "main"), ("cron:daily", None), ("agent:main", None)],
)
def test_the_agent_of_a_session_is_named_by_its_key(session, agent):
    assert agent_of_session(session) == agent
