"""Watchdog and recovery: what is lost, stuck, overdue or due, and a message that really goes out.

Findings → suggestions → messages → `sessions_send` payloads → sending one by one → written back.
Source: audit section and truth rules of the seed; spec/longrun.md §4.
"""

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.deliveries import attempt_delivery
from gateway.models import Delivery
from longrun import clock, texts
from longrun.clock import Finding
from longrun.models import LongTask, TaskEvent, instant
from longrun.services.common import DASHBOARD, block_if_due, held, make_message, note, unsettled, write_notes
from longrun.services.heartbeat import SCRIPTS

PASS_LIMIT = 5000
# What a look needs of a task: half its columns, and the half that is quick to read.
_EXAMINED = (
    "agent_id", "name", "state", "origin_session_key", "created_at", "started_at", "updated_at",
    "last_visible_reply_at", "last_tool_result_at", "last_progress_at", "last_advance_at", "quiet_until",
    "quiet_limit", "next_check_at", "finding", "finding_at", "evidence", "sign_seen_at", "activity_at",
)  # fmt: skip


def check_due(
    *, caller: Caller = DASHBOARD, agent_id: str = "", limit: int = PASS_LIMIT
) -> list[dict[str, Any]]:
    """What a pass would find now, one finding a task at most; changes nothing. One indexed query."""
    now = timezone.now()
    rows = _due(now, caller, agent_id)[:limit]
    return [_as_dict(task, found) for task in rows if (found := clock.examine(task, now))]


def run_watchdog(
    *, caller: Caller = DASHBOARD, agent_id: str = "", limit: int = PASS_LIMIT
) -> dict[str, Any]:
    """One pass: findings are kept, standstill blocks, fresh signs are looked at twice before `recovered`.

    All that is due is looked at; `limit` is how many findings are told, `count` how many there are.
    """
    now = timezone.now()
    found, changed, recovered, count = [], [], [], 0
    for task in _due(now, caller, agent_id).iterator(chunk_size=2000):
        finding = clock.examine(task, now)
        if finding is not None:
            count += 1
            if count <= limit:
                found.append(_as_dict(task, finding))
        if finding is None or finding.kind != task.finding or task.sign_seen_at or _must_block(task, now):
            changed.append((task, finding))
    for chunk in (changed[start : start + 200] for start in range(0, len(changed), 200)):
        recovered += _write(chunk, now, caller)
    return {"findings": found, "count": count, "recovered": recovered, "looked_at": instant(now)}


def suggest_recoveries(
    *, caller: Caller = DASHBOARD, agent_id: str = "", limit: int = PASS_LIMIT
) -> list[dict[str, Any]]:
    """For each finding, what to do about it; changes nothing."""
    advice = {
        "lost": _("Ask its session for the true state; the claim it makes is older than the limit."),
        "stuck": _("Ask its session what holds it; it gives signs but does not advance."),
        "overdue": _("Ask its session for the check that was agreed."),
        "checkpoint_due": _("Ask its session to look at what was awaited."),
    }
    return [
        {**found, "action": "send_recovery", "suggestion": advice[found["finding"]]}
        for found in check_due(caller=caller, agent_id=agent_id, limit=limit)
    ]


def make_recoveries(
    *, caller: Caller = DASHBOARD, agent_id: str = "", limit: int = 200
) -> list[dict[str, Any]]:
    """The recovery messages of what is found now, written into the ledger; one an episode, however often asked.

    Newest findings first; an episode whose message was received, or given up after all tries, is over with.
    """
    now = timezone.now()
    made = []
    due = unsettled(_due(now, caller, agent_id), "recovery", generated_at__gte=OuterRef("finding_at"))
    for row in due.order_by("-watch_at", "-id")[:limit]:
        finding = clock.examine(row, now)
        if finding is None or row.sign_seen_at:
            continue
        with held(row) as task:
            if task.finding != finding.kind:
                _keep(task, finding, now, caller)
            if not task.origin_session_key:
                continue
            delivery = _message(task, finding, caller)
        made.append(
            {
                "task": task.name,
                "finding": finding.kind,
                "delivery": "session",
                "sessionKey": delivery.session_key,
                "message": delivery.text,
                "deliveryId": delivery.pk,
                "dedupeKey": delivery.dedupe_key,
                "outcome": delivery.outcome or None,
                "onSuccess": (
                    f"{SCRIPTS}/task_state.py mark-resume --task {shlex.quote(task.name)} "
                    f"--delivery {delivery.pk}"
                ),
            }
        )
    return made


def build_payloads(*, caller: Caller = DASHBOARD, agent_id: str = "") -> dict[str, Any]:
    """The recovery messages that have not arrived, as `sessions_send` payloads. A payload is not a sending."""
    payloads = [
        {
            "tool": "sessions_send",
            "arguments": {"sessionKey": made["sessionKey"], "message": made["message"]},
            "task": made["task"],
            "finding": made["finding"],
            "deliveryId": made["deliveryId"],
            "dedupeKey": made["dedupeKey"],
            "onSuccess": made["onSuccess"],
        }
        for made in make_recoveries(caller=caller, agent_id=agent_id)
    ]
    return {"payloads": payloads, "count": len(payloads), "sent": 0}


def send_recoveries(*, caller: Caller = DASHBOARD, agent_id: str = "") -> dict[str, int]:
    """Sends what `build_payloads` names, one by one, and writes each outcome back."""
    counts = {"tried": 0, "delivered": 0, "failed": 0, "unknown": 0, "not_attempted": 0}
    for payload in build_payloads(caller=caller, agent_id=agent_id)["payloads"]:
        before = Delivery.objects.get(pk=payload["deliveryId"])
        attempts = before.attempt_count
        after = attempt_delivery(before, caller=caller)
        if after.attempt_count == attempts:
            counts["not_attempted"] += 1
            continue
        counts["tried"] += 1
        counts[after.outcome] += 1
        with held(LongTask.objects.get(pk=int(after.subject.removeprefix("longtask:")))) as task:
            note(
                task,
                "recovery_sent" if after.is_received else "recovery_tried",
                caller,
                was=task.state,
                why=after.error,
                data={"delivery": after.pk, "outcome": after.outcome},
            )
    return counts


def _due(now: datetime, caller: Caller, agent_id: str) -> Any:
    rows = LongTask.objects.due_for_watchdog(now).of_agent(agent_id).only(*_EXAMINED)
    return rows if caller.agent_ids is None else rows.filter(agent_id__in=caller.agent_ids)


def _must_block(task: LongTask, now: datetime) -> bool:
    return task.is_working and clock.since_advance(task, now) > task.limit


# What a pass can change of a task; the rest belongs to the services that the agent calls.
_WRITTEN = (
    "state", "block_reason", "stuck_at", "missing", "suggestion", "finding", "finding_at", "evidence",
    "sign_seen_at", "activity_at", "idle_since", "progress_due_at", "watch_at",
)  # fmt: skip


def _write(
    chunk: Sequence[tuple[LongTask, Finding | None]], now: datetime, caller: Caller
) -> list[dict[str, Any]]:
    """Writes a part of a pass in one transaction. A task that changed since it was read is looked at afresh."""
    recovered: list[dict[str, Any]] = []
    notes: list[TaskEvent] = []
    with transaction.atomic():
        fresh = LongTask.objects.select_for_update().in_bulk([task.pk for task, _finding in chunk])
        for seen, _finding in chunk:
            task = fresh.get(seen.pk)
            if task is None:
                continue
            finding = clock.examine(task, now)
            if finding is not None:
                if finding.kind != task.finding:
                    _keep(task, finding, now, caller, notes)
                elif task.sign_seen_at:
                    # The sign was a flicker: the same silence goes on.
                    task.sign_seen_at = None
            elif task.finding:
                recovered += _look_again(task, now, caller, notes)
            block_if_due(task, now, into=notes)
            clock.refresh(task).save(update_fields=_WRITTEN)
        write_notes(notes)
    return recovered


def _keep(
    task: LongTask, finding: Finding, now: datetime, caller: Caller, into: list[TaskEvent] | None = None
) -> None:
    task.finding, task.evidence, task.sign_seen_at = finding.kind, finding.evidence, None
    task.finding_at = now
    note(task, "finding", caller, was=task.state, why=finding.kind, at=now, data=finding.evidence, into=into)


def _look_again(task: LongTask, now: datetime, caller: Caller, into: list[TaskEvent]) -> list[dict[str, Any]]:
    """The first look at a fresh sign only notes it; the second, still without a finding, says recovered."""
    if task.sign_seen_at is None:
        task.sign_seen_at = now
        note(task, "sign_seen", caller, was=task.state, why=task.finding, at=now, into=into)
        return []
    over = {"task": task.name, "finding": task.finding, "found_at": instant(task.finding_at)}
    note(task, "recovered", caller, was=task.state, why=task.finding, at=now, data=over, into=into)
    task.finding, task.finding_at, task.evidence, task.sign_seen_at = "", None, {}, None
    return [over]


def _message(task: LongTask, finding: Finding, caller: Caller) -> Delivery:
    seconds = next(
        (
            value
            for key, value in finding.evidence.items()
            if key in ("silent_seconds", "without_advance_seconds", "late_seconds")
        ),
        0,
    )
    return make_message(
        task,
        texts.recovery_text(task, finding.kind, timedelta(seconds=seconds)),
        purpose="recovery",
        key=f"recovery:{task.round}:{finding.kind}:{instant(task.finding_at)}",
        caller=caller,
    )


def _as_dict(task: LongTask, finding: Finding) -> dict[str, Any]:
    return {
        "task": task.name,
        "agent": task.agent_id,
        "state": task.state,
        "finding": finding.kind,
        "sessionKey": task.origin_session_key,
        "evidence": finding.evidence,
    }
