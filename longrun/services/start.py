"""Whether a task is really bound to its session: the check that a start may be claimed after."""

import json
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway.callers import Caller
from longrun.errors import LongRunError
from longrun.machine import STARTED, agent_of, is_session_key
from longrun.models import LongTask
from longrun.services.common import find_task, held, note
from openclaw_web.paths import state_dir

_MOST_BYTES = 32 * 1024 * 1024


def validate_start(
    name: str,
    *,
    expect_session_key: str,
    caller: Caller,
    agent_id: str = "",
    session_seen: bool | None = None,
) -> dict[str, Any]:
    """`ok: true` only where the task is started and bound to exactly the expected, real session key.

    `session_seen` is what the caller's own sessions index says (`OPENCLAW_SESSIONS_FILE`), None where it
    has none; ours is asked too. `reasons` says in sentences what is not true. A successful check is kept
    on the task; every other one takes it back. Source: start section of the seed.
    """
    expected = expect_session_key.strip()
    try:
        row = find_task(name, caller=caller, agent_id=agent_id)
    except LongRunError as unknown:
        return {"ok": False, "task": name, "bound": False, "reasons": [unknown.message]}
    known = session_seen if session_seen is not None else session_known(row.agent_id, expected)
    reasons = _reasons(row, expected, known)
    if (row.validated_at is None) == (not reasons):
        with held(row) as task:
            task.validated_at = None if reasons else timezone.now()
            note(task, "unbound" if reasons else "bound", caller, was=task.state, why=" ".join(reasons))
    return {
        "ok": not reasons,
        "task": row.name,
        "bound": not reasons,
        "state": row.state,
        "origin_session_key": row.origin_session_key or None,
        "expected_session_key": expected,
        "session_in_index": known,
        "reasons": reasons,
    }


def session_known(agent_id: str, key: str) -> bool | None:
    """Whether the sessions index has the key; None where there is no index that can be read.

    The index is `OPENCLAW_SESSIONS_FILE`, else `<state-dir>/agents/<id>/sessions/sessions.json`.
    """
    default = state_dir() / "agents" / agent_id / "sessions" / "sessions.json"
    path = Path(settings.OPENCLAW_SESSIONS_FILE) if settings.OPENCLAW_SESSIONS_FILE else default
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            index = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return key in index if isinstance(index, dict) and index else None


def _reasons(task: LongTask, expected: str, known: bool | None) -> list[str]:
    reasons = []
    if task.life not in STARTED:
        reasons.append(
            _("The task is %(state)s, so it has not been started.") % {"state": task.get_state_display()}
        )
    if not task.origin_session_key:
        reasons.append(_("Not bound yet: the task has no session key."))
    elif task.origin_session_key != expected:
        reasons.append(
            _("The task is bound to “%(bound)s”, not to “%(expected)s”.")
            % {"bound": task.origin_session_key, "expected": expected}
        )
    if not is_session_key(expected) or agent_of(expected) not in ("", task.agent_id):
        reasons.append(
            _("“%(expected)s” is no session key of agent “%(agent)s”.")
            % {"expected": expected, "agent": task.agent_id}
        )
    if known is False:
        reasons.append(_("The sessions index does not have “%(expected)s”.") % {"expected": expected})
    return reasons
