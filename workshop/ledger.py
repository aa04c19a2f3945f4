"""Commits of proposals: the row, its event, the audit entry and the news, in one transaction.

A commit is conditional on the row being the one that was read (`row_version`): of two that decide at once, one
wins and the other gets `conflict`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from gateway import audit, events
from gateway.callers import Caller
from gateway.errors import AppError
from openclaw_web.prepared import Prepared
from workshop import sentences
from workshop.errors import WorkshopError
from workshop.models import Event, EventCounter, Proposal
from workshop.names import storable
from workshop.records import columns

GATEWAY, CLI = "gateway", "cli"
_POSITION = Prepared(lambda: EventCounter.objects.filter(pk=1).values_list("epoch", "last_sequence"))
_STEP = f"UPDATE {EventCounter._meta.db_table} SET last_sequence = last_sequence + 1 WHERE id = 1"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Author:
    """Who does something, and through which door (`gateway`: pages and methods; `cli`: the command line)."""

    caller: Caller
    door: str = GATEWAY

    @property
    def actor(self) -> dict[str, str]:
        """The contract's actor (§2.8): gateway, agent, system; `{type: system, id: cli}` for the command line."""
        if self.caller.is_agent:
            return {"type": "agent", "id": next(iter(sorted(self.caller.agent_ids or ())), "")}
        if self.door == CLI:
            return {"type": "system", "id": "cli"}
        return {"type": "system"} if self.caller.kind == "system" else {"type": "gateway"}

    @property
    def created_by(self) -> str:
        return "skill-workshop" if self.caller.is_agent else ("cli" if self.door == CLI else "gateway")

    @property
    def label(self) -> str:
        return storable(self.caller.label)[:200]

    def origin(self, agent_id: str) -> dict[str, str]:
        session = self.caller.session_key if self.caller.is_agent else ""
        return {"agentId": agent_id, **({"sessionKey": session} if session else {})}


def deep_storable(value: Any) -> Any:
    """JSON that PostgreSQL's jsonb takes: no NUL, no lone surrogate in any text."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [deep_storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(str(key)): deep_storable(item) for key, item in value.items()}
    return value


def next_sequence() -> int:
    """The next number of the ledger; its row stays locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_STEP)
        if not cursor.rowcount:
            # The very first event: of two that make the row, the second waits for the first and finds it.
            EventCounter.objects.get_or_create(pk=1)
            cursor.execute(_STEP)
    return last_sequence()


def position() -> tuple[int, int]:
    """`(epoch, last sequence)`: while it stays the same, no proposal has changed."""
    found = _POSITION.first_row()
    return (found[0], found[1]) if found else (0, 0)


def last_sequence() -> int:
    return position()[1]


def begin_epoch() -> None:
    """Tell every process that proposals changed without events."""
    EventCounter.objects.update_or_create(
        pk=1, create_defaults={"epoch": 1}, defaults={"epoch": F("epoch") + 1}
    )


def append_event(
    proposal: Proposal,
    kind: str,
    author: Author,
    at: datetime,
    *,
    correlation_id: str | None = None,
    payload: dict[str, Any] | None = None,
    evaluation: dict[str, Any] | None = None,
    reason: str | None = None,
) -> Event:
    """Add one event inside the caller's transaction."""
    event = Event.objects.create(
        sequence=next_sequence(),
        event_id=str(uuid.uuid4()),
        proposal_id=proposal.pk,
        agent_id=proposal.agent_id,
        proposed_version=f"v{proposal.version}",
        revision_hash=proposal.revision_hash,
        type=kind,
        occurred_at=at,
        actor=author.actor,
        person=author.label,
        correlation_id=storable(correlation_id or ""),
        payload=deep_storable(payload),
        evaluation=deep_storable(evaluation),
        reason=storable(reason or ""),
    )
    events.publish(
        f"proposal.{kind}",
        agent_id=proposal.agent_id,
        subject=proposal.pk,
        data={"sequence": event.sequence, "skillKey": proposal.skill_key[:200], "version": proposal.version},
        caller=author.caller,
    )
    return event


def save_record(proposal: Proposal, record: dict[str, Any], **extra: Any) -> None:
    """Write a new record over the row that was read, and bring `proposal` up to date.

    Inside the caller's transaction. Raises WorkshopError `conflict` when the row changed meanwhile.
    """
    values = columns(record) | extra
    changed = Proposal.objects.filter(pk=proposal.pk, row_version=proposal.row_version).update(
        **values, row_version=F("row_version") + 1
    )
    if not changed:
        raise conflict(proposal)
    for name, value in values.items():
        setattr(proposal, name, value)
    proposal.row_version += 1


def conflict(read: Proposal) -> WorkshopError:
    """Why a conditional update found nothing: another revision, or another decision, was first."""
    fresh = Proposal.objects.filter(pk=read.pk).first()
    if fresh is not None and fresh.is_pending and fresh.revision_hash != read.revision_hash:
        return sentences.revision_changed(read.revision_hash, fresh.revision_hash)
    return sentences.overtaken(fresh or read)


def commit(
    proposal: Proposal,
    record: dict[str, Any],
    kind: str,
    author: Author,
    at: datetime,
    *,
    correlation_id: str | None = None,
    payload: dict[str, Any] | None = None,
    evaluation: dict[str, Any] | None = None,
    reason: str | None = None,
    **extra: Any,
) -> Event:
    """`save_record`, the event and the audit entry in one transaction."""
    with transaction.atomic():
        save_record(proposal, record, **extra)
        event = append_event(
            proposal,
            kind,
            author,
            at,
            correlation_id=correlation_id,
            payload=payload,
            evaluation=evaluation,
            reason=reason,
        )
        audit_made(proposal, kind, author, reason)
    return event


def audit_made(proposal: Proposal, kind: str, author: Author, reason: str | None = None) -> None:
    """The audit entry of one change."""
    audit.record(
        author.caller,
        f"proposal.{kind}",
        subject=proposal.pk,
        agent_id=proposal.agent_id,
        digest=proposal.revision_hash,
        reason=storable(reason or ""),
    )


@contextmanager
def refusals_recorded(caller: Caller, action: str, proposal_id: str) -> Iterator[None]:
    """Put a refused decision into the audit trail, with its code, and let it go on as it was."""
    try:
        yield
    except AppError as error:
        found = (
            Proposal.objects.filter(pk=storable(proposal_id)[:121])
            .values_list("agent_id", "revision_hash")
            .first()
        )
        agent_id, digest = found or ("", "")
        audit.record(
            caller,
            f"proposal.{action}",
            # What was typed as an id and is none here may be anything, a token too.
            subject=storable(proposal_id)[:121] if found else "",
            outcome="refused",
            agent_id=agent_id,
            digest=digest,
            reason=error.code,
        )
        raise
