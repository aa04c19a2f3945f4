"""The peer's record object, and the columns that follow from it (contract §2, §3.7).

Stored records have the real `draftFile` and a target without absolute paths; `shown` puts the paths of today
in, so that a moved state folder does not leave proposals pointing nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from workshop.bundle import DRAFT_NAME, SKILL_NAME
from workshop.hashes import js_string, revision_hash
from workshop.models import Proposal
from workshop.names import from_iso, iso, storable

SCHEMA = "openclaw.skill-workshop.proposal.v1"
MANIFEST_SCHEMA = "openclaw.skill-workshop.proposals-manifest.v1"
SOURCE = "openclaw-workshop"


def now() -> datetime:
    """The present, in whole milliseconds, as everything here is stored."""
    at = timezone.now().astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def target(name: str, key: str, *, bound: str | None = None) -> dict[str, Any]:
    """`bound`: the hash of the live SKILL.md that an update is bound to."""
    plain = {"skillName": name, "skillKey": key, "source": SOURCE}
    return plain if bound is None else {**plain, "currentContentHash": bound}


def shown(proposal: Proposal, root: Path | str, *, real_draft: bool = False) -> dict[str, Any]:
    """The record as a method answers it; `root` is the agent's workshop-skills folder.

    `draftFile` is always "PROPOSAL.md", except where `real_draft` asks for the stored one (the command line).
    """
    record = proposal.record
    skill_dir = proposal.legacy_dir or f"{root}/{proposal.target_dir}"
    old = record["target"]
    record["target"] = {
        "skillName": old["skillName"],
        "skillKey": old["skillKey"],
        "skillDir": skill_dir,
        "skillFile": f"{skill_dir}/{SKILL_NAME}",
        "source": old["source"],
        **({"currentContentHash": old["currentContentHash"]} if "currentContentHash" in old else {}),
    }
    if not real_draft:
        record["draftFile"] = DRAFT_NAME
    return record


def columns(record: Mapping[str, Any], *, draft_size: int | None = None) -> dict[str, Any]:
    """What the row beside a record says. `draft_size` is left alone when it is not given."""
    support: Sequence[Mapping[str, Any]] = record.get("supportFiles", [])
    scan = record["scan"]
    origin = record.get("origin", {})
    values = {
        "kind": record["kind"],
        "status": record["status"],
        "title": storable(record["title"]),
        "description": storable(record["description"]),
        "skill_name": storable(record["target"]["skillName"]),
        "skill_key": storable(record["target"]["skillKey"]),
        "version": version_number(record["proposedVersion"]),
        "draft_file": storable(record["draftFile"]),
        "draft_hash": record["draftHash"],
        "revision_hash": revision_hash(record["proposedVersion"], record["draftHash"], support),
        "scan_state": scan["state"],
        "critical": scan["critical"],
        "warnings": scan["warn"],
        "support_count": len(support),
        "created_by": storable(record["createdBy"])[:64],
        "origin_session_key": storable(origin.get("sessionKey", "")),
        "origin_run_id": storable(origin.get("runId", "")),
        "origin_message_id": storable(origin.get("messageId", "")),
        "status_reason": storable(record.get("statusReason", "")),
        "created_at": from_iso(record["createdAt"]),
        "updated_at": from_iso(record["updatedAt"]),
        "record_json": js_string(record),
    }
    for key, column in (
        ("appliedAt", "applied_at"),
        ("rejectedAt", "rejected_at"),
        ("quarantinedAt", "quarantined_at"),
        ("staleAt", "stale_at"),
    ):
        values[column] = from_iso(record[key]) if key in record else None
    if draft_size is not None:
        values["size_bytes"] = draft_size + sum(item["sizeBytes"] for item in support)
    return values


def version_number(version: str) -> int:
    """`v12` → 12."""
    return int(version.removeprefix("v"))


def entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of the list method, from `record_json` and `revision_hash` of a row."""
    record = json.loads(row["record_json"])
    return {
        "id": record["id"],
        "kind": record["kind"],
        "status": record["status"],
        "title": record["title"],
        "description": record["description"],
        "skillName": record["target"]["skillName"],
        "skillKey": record["target"]["skillKey"],
        "createdAt": record["createdAt"],
        "updatedAt": record["updatedAt"],
        "scanState": record["scan"]["state"],
        "revisionHash": row["revision_hash"],
    }


def with_status(record: dict[str, Any], status: str, at: datetime, reason: str | None) -> dict[str, Any]:
    """A copy of `record` in its final state; the keys come in the order in which the peer appends them."""
    moved = {**record, "status": status, "updatedAt": iso(at)}
    stamp = {f"{status}At": iso(at)}
    why = {"statusReason": reason} if reason else {}
    moved.update(stamp | why if status in (Proposal.Status.APPLIED, Proposal.Status.STALE) else why | stamp)
    return moved
