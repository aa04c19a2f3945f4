"""Many decided proposals at once, for tests and benches of size: rows only, no files behind them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from workshop.hashes import js_string
from workshop.locks import lock_name
from workshop.models import EventCounter, Proposal
from workshop.names import from_iso, iso
from workshop.records import SCHEMA

START = datetime(2026, 1, 1, tzinfo=UTC)


def decided_proposals(agent_id: str, count: int) -> None:
    """Applied, rejected and stale ones in turn, a minute apart."""
    rows = []
    for number in range(count):
        at = iso(START + timedelta(minutes=number))
        status = ("applied", "rejected", "stale")[number % 3]
        key = f"old-{number}"
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "id": f"{key}-20260101-{number:010x}",
            "kind": "create",
            "status": status,
            "title": f"Create {key}",
            "description": f"What number {number} does",
            "createdAt": at,
            "updatedAt": at,
            "createdBy": "gateway",
            "origin": {"agentId": agent_id},
            "proposedVersion": "v1",
            "draftFile": "generations/00000000-0000-4000-8000-000000000000/PROPOSAL.md",
            "draftHash": "0" * 64,
            "target": {"skillName": key, "skillKey": key, "source": "openclaw-workshop"},
            "scan": {"state": "clean", "scannedAt": at, "critical": 0, "warn": 0, "info": 0, "findings": []},
            f"{status}At": at,
        }
        rows.append(
            Proposal(
                id=record["id"],
                agent_id=agent_id,
                kind="create",
                status=status,
                title=record["title"],
                description=record["description"],
                skill_name=key,
                skill_key=key,
                target_dir=key,
                target_hash=lock_name(agent_id, key),
                draft_file=record["draftFile"],
                draft_hash=record["draftHash"],
                revision_hash=f"{number:064x}",
                created_by="gateway",
                created_at=from_iso(at),
                updated_at=from_iso(at),
                record_json=js_string(record),
                **{f"{status}_at": from_iso(at)},
            )
        )
    Proposal.objects.bulk_create(rows, batch_size=500)
    # The list's cache follows the ledger; these rows have no events, so it is moved on by hand.
    counter, _made = EventCounter.objects.get_or_create(pk=1)
    EventCounter.objects.filter(pk=1).update(last_sequence=counter.last_sequence + 1)
