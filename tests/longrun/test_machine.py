from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from longrun.machine import (
    OPEN,
    STARTED,
    Change,
    Need,
    RuleError,
    State,
    Waiting,
    agent_of,
    automatic_block,
    check_change,
    is_session_key,
    waiting_form,
)

KEY = "agent:main:main"
SOON = datetime(2026, 11, 30, 17, 0, tzinfo=UTC)

# from → the states it may become, written out by hand from the protocol
ALLOWED = {
    None: "analyzing executing waiting blocked handoff",
    "analyzing": "analyzing executing waiting blocked handoff done",
    "executing": "analyzing executing waiting blocked handoff done",
    "waiting": "analyzing executing waiting blocked handoff done",
    "blocked": "analyzing executing waiting blocked handoff done",
    "handoff": "analyzing executing blocked handoff done",
    "done": "analyzing done",
}


def complete(state: str) -> Change:
    """A change that brings everything its state can ask for."""
    return Change(
        State(state),
        origin_session_key=KEY,
        next_check_at=SOON,
        stuck_at="step 4",
        missing="the login",
        suggestion="sign in once",
        boundary="ops",
        target_session_key="agent:ops:main",
        why="all 318 contracts are in the table",
    )


@pytest.mark.parametrize("current", [None, *State])
@pytest.mark.parametrize("wanted", list(State))
def test_every_transition_is_allowed_or_refused_as_the_table_says(current, wanted):
    if wanted.value in ALLOWED[current].split():
        check_change(current, complete(wanted))
    else:
        with pytest.raises(RuleError) as refused:
            check_change(current, complete(wanted))
        assert refused.value.code == "transition"


def test_there_are_six_states_and_no_other():
    assert [state.value for state in State] == [
        "analyzing",
        "executing",
        "waiting",
        "blocked",
        "handoff",
        "done",
    ]
    with pytest.raises(ValueError):
        State("running")


@pytest.mark.parametrize("state", sorted(STARTED))
def test_a_started_state_needs_a_session_key(state):
    with pytest.raises(RuleError) as refused:
        check_change(None, Change(state, next_check_at=SOON))
    assert (refused.value.code, refused.value.field) == ("session_key_missing", "origin_session_key")


@pytest.mark.parametrize(
    "key",
    [
        "agent:main:main",
        "agent:ops:cron:7f3c",
        "agent:main:telegram:group:-100123:topic:42",
        "cron:nightly",
        "hook:1a2b",
        "agent:main:" + "x" * (512 - len("agent:main:")),
    ],
)
def test_real_session_keys_are_taken(key):
    assert is_session_key(key)


@pytest.mark.parametrize(
    "key",
    ["", "main", "主会话", "agent:main:", "agent::main", "agent:main", "<真实目标 sessionKey>",
     "agent:main:<key>", "agent:main:a\nb", "agent:main:x ", " agent:main:x", "agent:../x:main",
     "openclaw-control-ui",
     "agent:main:" + "x" * (513 - len("agent:main:")), "agent:{agent}:main", "cron:"],
)  # fmt: skip
def test_labels_placeholders_and_broken_keys_are_no_session_key(key):
    assert not is_session_key(key)
    with pytest.raises(RuleError):
        check_change(None, Change(State.EXECUTING, origin_session_key=key))


def test_the_agent_of_a_key_is_its_second_part():
    assert agent_of("agent:ops:cron:7f3c") == "ops"
    assert agent_of("cron:nightly") == ""


def test_waiting_takes_each_of_its_three_forms_and_nothing_less():
    for change in (
        Change(State.WAITING, KEY, SOON, Waiting.BACKGROUND),
        Change(State.WAITING, KEY, SOON, Waiting.WAKEUP),
        Change(State.WAITING, KEY, None, Waiting.EXTERNAL, "the supplier's answer"),
    ):
        check_change(State.EXECUTING, change)
    for change, code in (
        (Change(State.WAITING, KEY), "waiting_any"),
        (Change(State.WAITING, KEY, None, Waiting.BACKGROUND, "a build"), "waiting_checkpoint"),
        (Change(State.WAITING, KEY, None, Waiting.WAKEUP, "a build"), "waiting_any"),
        (Change(State.WAITING, KEY, SOON, Waiting.EXTERNAL, "  "), "waiting_external"),
    ):
        with pytest.raises(RuleError) as refused:
            check_change(State.EXECUTING, change)
        assert refused.value.code == code


def test_the_form_of_waiting_follows_from_what_was_given():
    assert waiting_form(Change(State.WAITING, KEY, SOON)) is Waiting.WAKEUP
    assert waiting_form(Change(State.WAITING, KEY, None, None, "the supplier")) is Waiting.EXTERNAL
    assert waiting_form(Change(State.WAITING, KEY, SOON, Waiting.BACKGROUND)) is Waiting.BACKGROUND


@pytest.mark.parametrize("field", ["stuck_at", "missing", "suggestion"])
def test_blocked_needs_each_of_its_three_answers(field):
    answers = {"stuck_at": "page 3", "missing": "the login", "suggestion": "sign in"}
    check_change(State.EXECUTING, Change(State.BLOCKED, **answers))
    with pytest.raises(RuleError) as refused:
        check_change(State.EXECUTING, Change(State.BLOCKED, **{**answers, field: "  "}))
    assert (refused.value.code, refused.value.field) == ("blocked_answers", field)


def test_handoff_needs_a_boundary_and_its_session():
    for change, code in (
        (Change(State.HANDOFF, target_session_key="agent:ops:main"), "handoff_boundary"),
        (Change(State.HANDOFF, boundary="ops", target_session_key="the ops session"), "handoff_target"),
    ):
        with pytest.raises(RuleError) as refused:
            check_change(State.EXECUTING, change)
        assert refused.value.code == code


def test_a_blocked_task_is_done_only_with_the_reason_why():
    with pytest.raises(RuleError) as refused:
        check_change(State.BLOCKED, Change(State.DONE))
    assert refused.value.code == "done_why"
    check_change(State.BLOCKED, Change(State.DONE, why="finished by hand"))
    check_change(State.EXECUTING, Change(State.DONE))


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, ""),
        ({"tool_failures": 2}, ""),
        ({"tool_failures": 3}, "tool_failures"),
        ({"undelivered": 2}, ""),
        ({"undelivered": 3}, "undelivered"),
        ({"since_advance": timedelta(minutes=10)}, ""),
        ({"since_advance": timedelta(minutes=10, seconds=1)}, "no_advance"),
        ({"since_advance": timedelta(minutes=14), "limit": timedelta(minutes=15)}, ""),
        ({"need": Need.LOGIN}, "need"),
        ({"need": Need.TOKEN, "tool_failures": 3, "undelivered": 3}, "need"),
    ],
)
def test_work_in_progress_is_blocked_at_once_for_each_reason(facts, reason):
    assert automatic_block(State.ANALYZING, **facts) == reason
    assert automatic_block(State.EXECUTING, **facts) == reason


@pytest.mark.parametrize("state", ["waiting", "blocked", "handoff", "done"])
def test_what_is_not_at_work_is_not_blocked_by_itself(state):
    assert (
        automatic_block(State(state), tool_failures=9, undelivered=9, since_advance=timedelta(days=1)) == ""
    )


class Life(RuleBasedStateMachine):
    """Any sequence of complete and incomplete changes keeps the promises of the state reached."""

    def __init__(self):
        super().__init__()
        self.state = None
        self.held = None

    @rule(
        state=st.sampled_from(list(State)),
        key=st.sampled_from(["", KEY, "主会话"]),
        at=st.sampled_from([None, SOON]),
        kind=st.sampled_from([None, *Waiting]),
        awaited=st.sampled_from(["", "the supplier"]),
        answers=st.tuples(*[st.sampled_from(["", "x"])] * 3),
        boundary=st.sampled_from(["", "ops"]),
        goes_to=st.sampled_from(["", "agent:ops:main"]),
        why=st.sampled_from(["", "seen"]),
    )
    def change(self, state, key, at, kind, awaited, answers, boundary, goes_to, why):
        change = Change(state, key, at, kind, awaited, *answers, boundary, goes_to, why)
        try:
            check_change(self.state, change)
        except RuleError:
            return
        assert state.value in ALLOWED[self.state and self.state.value].split()
        self.state, self.held = state, change

    @precondition(lambda self: self.state == State.DONE)
    @rule(state=st.sampled_from([state for state in OPEN if state != State.ANALYZING]))
    def nothing_leads_from_done_but_a_new_round(self, state):
        with pytest.raises(RuleError):
            check_change(self.state, complete(state))

    @invariant()
    def the_state_has_what_it_needs(self):
        match self.state:
            case State.ANALYZING | State.EXECUTING | State.WAITING:
                assert self.held.origin_session_key == KEY
            case State.BLOCKED:
                assert (self.held.stuck_at, self.held.missing, self.held.suggestion) == ("x", "x", "x")
            case State.HANDOFF:
                assert (self.held.boundary, self.held.target_session_key) == ("ops", "agent:ops:main")
        if self.state == State.WAITING:
            assert self.held.next_check_at or self.held.waiting_for


TestLife = Life.TestCase
