import json

import pytest

from longrun.services.start import session_known, validate_start
from longrun.services.tasks import Report, set_task

from .conftest import KEY, NOON

NAME = "整理合同"


def index_of(state_dir, *keys):
    folder = state_dir / "agents" / "main" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sessions.json").write_text(json.dumps({key: {"sessionId": "1"} for key in keys}))


def test_a_started_task_with_the_expected_key_is_bound(clock, begin, agent_caller):
    task = begin()
    answer = validate_start(NAME, expect_session_key=KEY, caller=agent_caller)
    assert (answer["ok"], answer["reasons"], answer["session_in_index"]) == (True, [], None)
    task.refresh_from_db()
    assert task.validated_at == NOON


@pytest.mark.parametrize(
    ("key", "is_one_of_main"),
    [("agent:main:other", True), ("agent:ops:main", False), ("", False), ("主会话", False)],
)
def test_any_other_key_is_not_bound_and_says_why(begin, agent_caller, key, is_one_of_main):
    task = begin()
    answer = validate_start(NAME, expect_session_key=key, caller=agent_caller)
    assert answer["ok"] is False
    assert "The task is bound to “agent:main:main”" in answer["reasons"][0]
    further = [] if is_one_of_main else [f"“{key}” is no session key of agent “main”."]
    assert answer["reasons"][1:] == further
    task.refresh_from_db()
    assert task.validated_at is None


def test_an_unknown_task_is_not_bound(db, agent_caller):
    answer = validate_start("nothing", expect_session_key=KEY, caller=agent_caller)
    assert (answer["ok"], answer["reasons"]) == (False, ["There is no long task “nothing”."])


def test_a_task_that_is_not_started_is_not_bound(begin, agent_caller):
    begin(state="blocked", stuck_at="a", missing="b", suggestion="c")
    answer = validate_start(NAME, expect_session_key=KEY, caller=agent_caller)
    assert answer["reasons"] == ["The task is blocked, so it has not been started."]


def test_a_key_that_the_sessions_index_does_not_have_is_refused(begin, agent_caller, state_dir):
    begin()
    index_of(state_dir, "agent:main:other")
    answer = validate_start(NAME, expect_session_key=KEY, caller=agent_caller)
    assert answer["ok"] is False
    assert answer["reasons"] == ["The sessions index does not have “agent:main:main”."]
    index_of(state_dir, KEY)
    assert validate_start(NAME, expect_session_key=KEY, caller=agent_caller)["ok"] is True


def test_what_the_callers_own_index_says_counts_first(begin, agent_caller, state_dir):
    begin()
    index_of(state_dir, KEY)
    answer = validate_start(NAME, expect_session_key=KEY, caller=agent_caller, session_seen=False)
    assert answer["ok"] is False


def test_a_damaged_index_is_no_index(state_dir):
    index_of(state_dir)
    (state_dir / "agents" / "main" / "sessions" / "sessions.json").write_text('{"agent:main:main": {')
    assert session_known("main", KEY) is None


def test_the_index_may_be_named(state_dir, tmp_path, settings):
    named = tmp_path / "index.json"
    named.write_text(json.dumps({KEY: {}}))
    settings.OPENCLAW_SESSIONS_FILE = str(named)
    assert session_known("main", KEY) is True
    assert session_known("main", "agent:main:no") is False


def test_binding_to_another_session_takes_the_validation_back(begin, agent_caller):
    begin()
    validate_start(NAME, expect_session_key=KEY, caller=agent_caller)
    report = Report(origin_session_key="agent:main:new")
    task = set_task(NAME, state="executing", report=report, caller=agent_caller)
    assert task.validated_at is None
