"""From `session_status` to ARCHIVE_ID. No other source, ever.

Source: `seeds/bkn-archive.txt` 【ARCHIVE_ID 规则】; `spec/archives.md` §1; the tool's real answer as recorded
in the contract (`tool-session-status`).
"""

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from archives.errors import INVALID_SESSION, Blocked
from archives.protocol import is_fallback_id, is_safe_id
from gateway.errors import AppError

MAX_CALLS = 3
_CARD_LINE = re.compile(r"^[ \t]*(?:🧵[ \t]*)?Session:[ \t]*([^\n]*)$", re.MULTILINE)
_HASH = re.compile(r"[0-9a-f]{4,40}", re.ASCII)


class SessionStatusFailed(Exception):
    """One call of `session_status` failed; it may be tried again."""


class SessionStatusNotOffered(Exception):
    """The platform has no `session_status`: the fallback id is allowed."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who an archive belongs to. `session_key` is "" for a fallback, which is never linked to a session."""

    archive_id: str
    session_key: str = ""
    fallback: bool = False


def identity_of_session(session: object) -> Identity:
    """The archive of a session key such as `agent:ops:cron:7f3c…`; Blocked (`invalid Session`) if none."""
    if not isinstance(session, str) or ":" not in session:
        raise Blocked(INVALID_SESSION, code="invalid-session")
    archive_id = session.rsplit(":", 1)[1]
    if not is_safe_id(archive_id):
        raise Blocked(INVALID_SESSION, code="invalid-session")
    return Identity(archive_id, session_key=session)


def agent_of_session(session: str) -> str | None:
    """The agent a session key names (`agent:<id>:…`), or None for keys without one (`cron:<job>`)."""
    parts = session.split(":")
    return parts[1] if len(parts) >= 3 and parts[0] == "agent" and parts[1] else None


def read_session(result: object) -> object:
    """The `Session` of one `session_status` answer: its text, its output, or the payload of `tools.invoke`.

    `details.sessionKey` wins where both it and the text card are there, and they must agree: a contradiction
    is Blocked. Returns None when there is no `Session` at all. Raises SessionStatusFailed for a failed call.
    """
    if isinstance(result, str):
        keys = _card_keys(result)
        return _agreed([], keys)
    if not isinstance(result, Mapping):
        raise SessionStatusFailed("session_status gave no answer")
    if result.get("ok") is False or result.get("isError") is True:
        raise SessionStatusFailed(_failure_of(result))
    output = result.get("output")
    if isinstance(output, Mapping):
        return read_session(output)
    details = result.get("details")
    details = details if isinstance(details, Mapping) else {}
    if details.get("ok") is False:
        raise SessionStatusFailed(_failure_of(details))
    named = [source[key] for source, key in ((details, "sessionKey"), (result, "Session")) if key in source]
    texts = [part.get("text") for part in _list(result.get("content")) if isinstance(part, Mapping)]
    texts.append(details.get("statusText"))
    return _agreed(named, [key for text in texts if isinstance(text, str) for key in _card_keys(text)])


def identify(call: Callable[[], object] | None, *, fallback: Callable[[], str] | None = None) -> Identity:
    """Ask `call` (session_status, without parameters) for the session and derive the archive's identity.

    A failed call is repeated at once, at most three calls in all. `call=None`, or SessionStatusNotOffered,
    means the platform has no such tool: then, and only then, `fallback` gives the id.
    """
    failure = ""
    for _attempt in range(MAX_CALLS if call else 0):
        try:
            return identity_of_session(read_session(call() if call else None))
        except SessionStatusNotOffered:
            break
        except Blocked:
            raise
        except (SessionStatusFailed, AppError, OSError) as error:
            failure = str(error) or type(error).__name__
    else:
        if call:
            raise Blocked(f"session_status failed {MAX_CALLS} times: {failure}", code="session-status-failed")
    archive_id = fallback() if fallback else ""
    if not is_fallback_id(archive_id):
        raise Blocked(INVALID_SESSION, code="invalid-session")
    return Identity(archive_id, fallback=True)


def fallback_id(workspace: Path, now: datetime) -> str:
    """`<git short hash, or "local">-<MMDD-HHMM>` for a workspace and a local wall-clock time."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=workspace,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        found = ""
    head = found if _HASH.fullmatch(found) else "local"
    return f"{head}-{now:%m%d-%H%M}"


def _card_keys(text: str) -> list[str]:
    values = []
    for line in _CARD_LINE.findall(text):
        value = line.split(" • ", 1)[0].strip()
        values.append("" if value.startswith("•") else value)
    return values


def _agreed(named: list[Any], keys: list[str]) -> object:
    everything = [*named, *keys]
    if not everything:
        return None
    first = everything[0]
    for other in everything[1:]:
        if other != first:
            raise Blocked(
                f"session_status contradicts itself: {str(first)[:200]!r} and {str(other)[:200]!r}",
                code="session-contradiction",
            )
    return first


def _failure_of(result: Mapping[Any, Any]) -> str:
    error = result.get("error")
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("code")
    return str(error or "the tool reported an error")[:300]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
