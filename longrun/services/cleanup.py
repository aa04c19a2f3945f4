"""Clearing away what is of no use: shown first, removed only when told to, and kept in an export.

Source: cleanup helper of the seed; spec/longrun.md §4.
"""

import json
import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q
from django.forms.models import model_to_dict
from django.utils import timezone

from gateway import audit
from gateway.callers import Caller
from gateway.deliveries import longest_hold
from gateway.models import Delivery
from longrun.models import LongTask, instant
from openclaw_web.paths import data_dir

OLD_DAYS = 30
_TEST_NAME = re.compile(r"(?i)^(?:__)?(?:test|tmp|demo)(?:[-_ :：]|\d|$)|^测试")


def clean_up(
    *, caller: Caller, agent_id: str = "", older_days: int = OLD_DAYS, apply: bool = False
) -> dict[str, Any]:
    """What is old, left over from tests, without a session key, or held by a lock nobody holds.

    Without `apply` nothing changes. With it the tasks are written to an export (0600) first, then removed.
    A task that is at work or waiting is never a candidate.
    """
    now = timezone.now()
    found = _candidates(now, caller, agent_id, older_days)
    locks = Delivery.objects.filter(received_at=None, hold_until__gt=now + longest_hold() * 2)
    answer: dict[str, Any] = {
        "apply": apply,
        "found": [
            {
                "task": task.name,
                "agent": task.agent_id,
                "state": task.state,
                "reason": reason,
                "updated_at": instant(task.updated_at),
            }
            for task, reason in found
        ],
        "stale_locks": locks.count() if caller.agent_ids is None else 0,
        "removed": 0,
        "export": None,
    }
    if not apply:
        return answer
    if found:
        answer["export"] = str(_export([task for task, _reason in found], now))
        keys = [task.pk for task, _reason in found]
        # Only what is still what it was: a task that came alive meanwhile stays.
        rows = LongTask.objects.filter(pk__in=keys).exclude(state__in=("analyzing", "executing", "waiting"))
        answer["removed"] = rows.count()
        rows.delete()
    if caller.agent_ids is None:
        locks.update(hold_until=None)
    audit.record(caller, "longtask.cleanup", agent_id=agent_id, detail={"removed": answer["removed"]})
    return answer


def _candidates(now: datetime, caller: Caller, agent_id: str, older_days: int) -> list[tuple[LongTask, str]]:
    rest = LongTask.objects.of_agent(agent_id).filter(state__in=("done", "blocked", "handoff"))
    if caller.agent_ids is not None:
        rest = rest.filter(agent_id__in=caller.agent_ids)
    old = Q(updated_at__lt=now - timedelta(days=older_days))
    found = []
    for task in rest.filter(
        old | Q(origin_session_key="") | Q(name__iregex=_TEST_NAME.pattern.replace("(?i)", ""))
    ):
        if not task.origin_session_key:
            found.append((task, "no_session_key"))
        elif _TEST_NAME.search(task.name) and task.state == "done":
            found.append((task, "test_leftover"))
        elif task.updated_at < now - timedelta(days=older_days):
            found.append((task, "old"))
    return found


def _export(tasks: list[LongTask], now: datetime) -> Path:
    folder = data_dir() / "exports"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"long-tasks-{now:%Y%m%dT%H%M%S%f}.json"
    content = [
        {
            **model_to_dict(task),
            "events": list(
                task.events.values("at", "kind", "actor", "from_state", "to_state", "why", "data")
            ),
        }
        for task in tasks
    ]
    draft = path.with_suffix(".tmp")
    with os.fdopen(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(content, file, ensure_ascii=False, indent=1, cls=DjangoJSONEncoder)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    return path
