"""The rules of a long-run task's life, as data and pure functions.

Source: state machine, `waiting` and `blocked` rules of `seeds/long-run-mode.txt`; `spec/longrun.md` §2.
Nothing here reads a clock, a setting or a row: `services` asks, and words the refusals for people.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class State(StrEnum):
    ANALYZING = "analyzing"
    EXECUTING = "executing"
    WAITING = "waiting"
    BLOCKED = "blocked"
    HANDOFF = "handoff"
    DONE = "done"


class Waiting(StrEnum):
    """The three ways to wait: work in the background, a set wake-up, a named thing outside."""

    BACKGROUND = "background"
    WAKEUP = "wakeup"
    EXTERNAL = "external"


class Need(StrEnum):
    """What a tool may report as missing; each blocks at once."""

    PERMISSION = "permission"
    TOKEN = "token"  # noqa: S105 - the word of the seed, not a secret
    LOGIN = "login"
    BROWSER = "browser"
    CONFIRMATION = "confirmation"


WORKING = frozenset({State.ANALYZING, State.EXECUTING})
STARTED = WORKING | {State.WAITING}
OPEN = STARTED | {State.BLOCKED, State.HANDOFF}

MAX_TOOL_FAILURES = 3
MAX_UNDELIVERED = 3
NO_ADVANCE = timedelta(minutes=10)

_ANY_OPEN = frozenset(State)
TRANSITIONS: dict[State | None, frozenset[State]] = {
    # A task that was never begun cannot be finished.
    None: _ANY_OPEN - {State.DONE},
    State.ANALYZING: _ANY_OPEN,
    State.EXECUTING: _ANY_OPEN,
    State.WAITING: _ANY_OPEN,
    State.BLOCKED: _ANY_OPEN,
    # What was handed off is taken back, finished or blocked by the other side; it does not wait.
    State.HANDOFF: _ANY_OPEN - {State.WAITING},
    # The same name may be used for a new round, which begins with analysis. Saying done twice is no news.
    State.DONE: frozenset({State.ANALYZING, State.DONE}),
}

_KEY = re.compile(r"agent:[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\s<>{}\x00-\x1f\x7f]+\Z")
_OTHER_KEYS = re.compile(r"(?:cron|hook):[^\s<>{}\x00-\x1f\x7f]+\Z")


class RuleError(ValueError):
    """A change that the rules refuse: `code` names the rule, `field` the argument that breaks it."""

    def __init__(self, code: str, field: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.field = field


@dataclass(frozen=True, slots=True)
class Change:
    """The state asked for, with what that state needs to be true."""

    state: State
    origin_session_key: str = ""
    next_check_at: datetime | None = None
    waiting_kind: Waiting | None = None
    waiting_for: str = ""
    stuck_at: str = ""
    missing: str = ""
    suggestion: str = ""
    boundary: str = ""
    target_session_key: str = ""
    why: str = ""


def is_session_key(key: str) -> bool:
    """Whether `key` has the form of a real session key: no placeholder, no label, at most 512 characters."""
    return len(key) <= 512 and bool(_KEY.match(key) or _OTHER_KEYS.match(key))


def agent_of(key: str) -> str:
    """The agent that a session key names, "" where it names none (`cron:…`, `hook:…`)."""
    return key.split(":", 2)[1] if key.startswith("agent:") and key.count(":") >= 2 else ""


def check_change(current: State | None, change: Change) -> None:
    """Refuse, by RuleError, what the protocol does not allow; a change that passes may be stored whole."""
    if change.state not in TRANSITIONS[current]:
        raise RuleError("transition", "state")
    if change.origin_session_key and not is_session_key(change.origin_session_key):
        raise RuleError("session_key_form", "origin_session_key")
    if change.state in STARTED and not change.origin_session_key:
        raise RuleError("session_key_missing", "origin_session_key")
    match change.state:
        case State.WAITING:
            _check_waiting(change)
        case State.BLOCKED:
            for field in ("stuck_at", "missing", "suggestion"):
                if not getattr(change, field).strip():
                    raise RuleError("blocked_answers", field)
        case State.HANDOFF:
            if not change.boundary.strip():
                raise RuleError("handoff_boundary", "boundary")
            if not is_session_key(change.target_session_key):
                raise RuleError("handoff_target", "boundary")
        case State.DONE if current in (State.BLOCKED, State.HANDOFF) and not change.why.strip():
            raise RuleError("done_why", "why")


def waiting_form(change: Change) -> Waiting:
    """The form of waiting that was named, or that follows from what was given."""
    if change.waiting_kind:
        return change.waiting_kind
    return Waiting.EXTERNAL if change.waiting_for.strip() else Waiting.WAKEUP


def _check_waiting(change: Change) -> None:
    match waiting_form(change):
        case Waiting.EXTERNAL if not change.waiting_for.strip():
            raise RuleError("waiting_external", "waiting_for")
        case Waiting.BACKGROUND if change.next_check_at is None:
            raise RuleError("waiting_checkpoint", "next_check")
        case Waiting.WAKEUP if change.next_check_at is None:
            raise RuleError("waiting_any", "next_check")


def automatic_block(
    state: State,
    *,
    tool_failures: int = 0,
    need: Need | None = None,
    since_advance: timedelta = timedelta(0),
    limit: timedelta = NO_ADVANCE,
    undelivered: int = 0,
) -> str:
    """The reason to block a task at once, "" where there is none.

    Reasons in order of what a person can do about them: `need`, `tool_failures`, `undelivered`,
    `no_advance`. Only work in progress is blocked; ten minutes exactly are still allowed.
    """
    if state not in WORKING:
        return ""
    if need is not None:
        return "need"
    if tool_failures >= MAX_TOOL_FAILURES:
        return "tool_failures"
    if undelivered >= MAX_UNDELIVERED:
        return "undelivered"
    return "no_advance" if since_advance > limit else ""
