"""A real OpenClaw's `state/openclaw.sqlite`, read from a copy: proposals, events, rollbacks, use, reviews.

Contract §3.7. The peer's file is never opened for writing, not even by SQLite itself: opening a database in WAL
mode makes files beside it, so a copy is opened.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from gateway import faults
from workshop.doctor.base import Ward
from workshop.doctor.importing import NotARecord, checked, import_proposal, infer_owner
from workshop.hashes import sha256
from workshop.ledger import deep_storable
from workshop.models import CollectionReview, Event, ImportRun, Proposal, ReviewState, SkillUsage
from workshop.names import from_iso, storable

Rows = list[dict[str, Any]]
CURATOR_STATE = "skills.curatorState"


def database(ward: Ward) -> Path:
    return ward.state / "state" / "openclaw.sqlite"


def fingerprint(path: Path) -> str:
    """Changes whenever the database or its log does."""
    parts = []
    for part in (path, path.with_name(f"{path.name}-wal")):
        try:
            info = part.stat()
        except FileNotFoundError:
            continue
        parts.append(f"{part.name} {info.st_size} {info.st_mtime_ns}")
    return sha256("\n".join(parts).encode())


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy of the database and its log."""
    with tempfile.TemporaryDirectory(prefix="openclaw-state-") as folder:
        for suffix in ("", "-wal"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, Path(folder) / part.name)
        with closing(sqlite3.connect(Path(folder) / path.name)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("select 1 from sqlite_master where type = 'table' and name = ?", (name,))
    return found.fetchone() is not None


def rows_of(connection: sqlite3.Connection, table: str, order: str) -> Rows:
    """All rows of a table; none where it does not exist. `table` and `order` are our own words."""
    if not has_table(connection, table):
        return []
    return [dict(row) for row in connection.execute(f"select * from {table} order by {order}")]  # noqa: S608


def check_peer(ward: Ward) -> None:
    """Import what is new in the peer's database; unchanged since the last time, it is not read at all."""
    path = database(ward)
    if not path.is_file():
        return
    mark = fingerprint(path)
    if ImportRun.objects.filter(source=str(path), fingerprint=mark).exclude(finished_at=None).exists():
        return
    try:
        with opened(path) as connection:
            tables = {
                "proposals": rows_of(connection, "skill_workshop_proposals", "created_at, proposal_id"),
                "events": rows_of(connection, "skill_workshop_proposal_events", "sequence"),
                "rollbacks": rows_of(connection, "skill_workshop_proposal_rollbacks", "proposal_id"),
                "usage": rows_of(connection, "skill_usage", "skill_file"),
                "reviews": rows_of(connection, "skill_workshop_collection_reviews", "create_time"),
                "review_states": _curator_state(connection),
            }
    except (sqlite3.DatabaseError, OSError) as error:
        ward.note("peer-unreadable", _("OpenClaw's database cannot be read: %(why)s.") % {"why": error}, path)
        return
    if not any(tables.values()):
        return
    counts = {name: len(rows) for name, rows in tables.items()}
    if ward.note(
        "peer-database",
        _("OpenClaw's own database has %(proposals)s proposals and %(events)s events.") % counts,
        path,
        fix=_("Copy what is new of it into ours; the file itself is only read."),
    ):
        run = ImportRun.objects.create(source=str(path), fingerprint=mark)
        run.counts = dict(_import(ward, tables, str(path)))
        run.finished_at = timezone.now()
        run.save()


def _import(ward: Ward, tables: dict[str, Rows], source: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    rollbacks = {row["proposal_id"]: _rollback(row) for row in tables["rollbacks"]}
    events: dict[str, Rows] = {}
    for row in tables["events"]:
        events.setdefault(row["proposal_id"], []).append(_event(row))
    for row in _in_ledger_order(tables["proposals"], events):
        outcome = _import_row(ward, row, rollbacks, events.get(row["proposal_id"], []), source)
        counts[f"proposals_{outcome}"] += 1
        faults.reached("doctor.peer-proposal")
    counts["events"] = Event.objects.filter(proposal__imported_from=source).count()
    for row in tables["usage"]:
        counts["usage"] += _import_usage(row)
    for row in tables["reviews"]:
        counts["reviews"] += _import_review(row)
    for row in tables["review_states"]:
        counts["review_states"] += _import_review_state(row)
    return counts


def _in_ledger_order(rows: Rows, events: dict[str, Rows]) -> Rows:
    """By each proposal's first event, so that sequence numbers can stay."""
    return sorted(rows, key=lambda row: events.get(row["proposal_id"], [{"sequence": 0}])[0]["sequence"])


def _import_row(
    ward: Ward, row: dict[str, Any], rollbacks: dict[str, dict[str, Any]], events: Rows, source: str
) -> str:
    proposal_id = row["proposal_id"]
    try:
        record = checked(json.loads(row["record_json"]), proposal_id=proposal_id)
        _require_agreement(row, record)
    except (ValueError, NotARecord) as error:
        ward.note(
            "peer-row",
            _("The proposal %(id)s in OpenClaw's database is left out: %(why)s.")
            % {"id": storable(proposal_id), "why": error},
            source,
        )
        return "left_out"
    known = Proposal.objects.filter(pk=proposal_id).first()
    if known is not None and not _may_overwrite(known, record, events):
        if known.updated_at < from_iso(record["updatedAt"]):
            ward.note(
                "peer-both-changed",
                _("%(id)s was changed here and in OpenClaw; ours stays.") % {"id": proposal_id},
                source,
                agent_id=known.agent_id,
            )
        return "unchanged"
    agent_id, _candidates = infer_owner(ward, record, row["owner_agent_id"])
    import_proposal(
        ward, record, agent_id=agent_id, source=source, rollback=rollbacks.get(proposal_id), events=events
    )
    return "imported" if known is None else "updated"


def _require_agreement(row: dict[str, Any], record: dict[str, Any]) -> None:
    """A row whose columns contradict its record counts as not existing, as for the peer."""
    pairs = {
        "kind": record["kind"],
        "status": record["status"],
        "created_at": record["createdAt"],
        "updated_at": record["updatedAt"],
        "draft_hash": record["draftHash"],
    }
    wrong = [column for column, value in pairs.items() if row[column] != value]
    if wrong:
        raise NotARecord(f"{', '.join(wrong)} contradict its record")


def _may_overwrite(known: Proposal, record: dict[str, Any], events: Rows) -> bool:
    """Only what came from there, is newer there, and was not touched here since."""
    if not known.imported_from or known.updated_at >= from_iso(record["updatedAt"]):
        return False
    theirs = {event["event_id"] for event in events}
    return not known.events.exclude(event_id__in=theirs).exists()


def _event(row: dict[str, Any]) -> dict[str, Any]:
    payload = json.loads(row["payload_json"]) if row["payload_json"] else [1, None, None]
    return {
        "sequence": row["sequence"],
        "event_id": row["event_id"],
        "proposed_version": row["proposed_version"],
        "revision_hash": row["revision_hash"],
        "type": row["event_type"],
        "occurred_at": from_iso(row["occurred_at"]),
        "actor": json.loads(row["actor_json"]),
        "correlation_id": storable(row["correlation_id"] or ""),
        "payload": payload[1],
        "evaluation": payload[2] if len(payload) > 2 else None,
    }


def _rollback(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "writtenAt": row["written_at"],
        "targetSkillFile": row["target_skill_file"],
        "action": row["action"],
        "previousContent": row["previous_content"],
        "supportFiles": json.loads(row["support_files_json"]) if row["support_files_json"] else [],
    }


def _import_usage(row: dict[str, Any]) -> int:
    """Add what was counted there since the last import; returns whether anything was."""
    ours, _made = SkillUsage.objects.get_or_create(
        skill_file=storable(row["skill_file"]),
        defaults={
            "skill_key": storable(row["skill_key"]),
            "skill_name": storable(row["skill_name"]),
            "skill_source": row["skill_source"][:64],
            "first_used_at_ms": row["first_used_at_ms"],
            "last_used_at_ms": row["last_used_at_ms"],
        },
    )
    fresh = row["use_count"] - ours.imported_count
    if fresh <= 0:
        return 0
    ours.use_count += fresh
    ours.imported_count = row["use_count"]
    ours.first_used_at_ms = min(ours.first_used_at_ms, row["first_used_at_ms"])
    ours.last_used_at_ms = max(ours.last_used_at_ms, row["last_used_at_ms"])
    ours.last_agent_id = (row["last_agent_id"] or ours.last_agent_id)[:128]
    ours.save()
    return 1


def _import_review(row: dict[str, Any]) -> int:
    _row, made = CollectionReview.objects.get_or_create(
        review_id=row["review_id"],
        defaults={
            "owner_agent_id": row["owner_agent_id"],
            "backup_id": storable(row["backup_id"]),
            "create_time_ms": row["create_time"],
            "kept_names": json.loads(row["kept_names_json"]),
            "written_names": json.loads(row["written_names_json"]),
            "dropped": json.loads(row["dropped_json"]),
        },
    )
    return int(made)


def _curator_state(connection: sqlite3.Connection) -> Rows:
    """The curator's state as rows of `ReviewState`: the peer keeps it as one JSON text in a table of its own."""
    if not has_table(connection, "config_machine_state"):
        return []
    found = connection.execute(
        "select value_json from config_machine_state where state_key = ?", (CURATOR_STATE,)
    ).fetchone()
    try:
        state = json.loads(found["value_json"]) if found else None
    except ValueError:
        return []
    if not isinstance(state, dict):
        return []
    result = state.get("lastResult")
    result = result if isinstance(result, dict) else {}
    last = {name: state.get(name) for name in ("lastAttemptAtMs", "lastSuccessAtMs", "lastError")}
    rows: Rows = [{"kind": ReviewState.Kind.LAST, "key": "", "data": last}]
    kinds = {
        "collectionReviews": ReviewState.Kind.COLLECTION,
        "experienceReviews": ReviewState.Kind.EXPERIENCE,
    }
    for name, kind in kinds.items():
        reviews = result.get(name)
        for key, data in (reviews if isinstance(reviews, dict) else {}).items():
            if isinstance(data, dict):
                rows.append({"kind": kind, "key": key, "data": data})
    return rows


def _import_review_state(row: dict[str, Any]) -> int:
    """Take over what the peer says now; returns whether that is new."""
    data = deep_storable(row["data"])
    ours, made = ReviewState.objects.get_or_create(
        kind=row["kind"], key=storable(row["key"]), defaults={"data": data}
    )
    if made or ours.data == data:
        return int(made)
    ours.data, ours.updated_at = data, timezone.now()
    ours.save()
    return 1
