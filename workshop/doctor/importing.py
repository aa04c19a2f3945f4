"""Foreign proposals into our tables: one transaction each, repeatable, nothing of the source is changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import transaction

from workshop import bundle, store
from workshop.doctor.base import Ward
from workshop.errors import FileProblem
from workshop.hashes import js_string, revision_hash, sha256
from workshop.ledger import append_event, last_sequence, next_sequence
from workshop.live import FOLDER
from workshop.locks import lock_name
from workshop.models import Event, EventCounter, Generation, Proposal, Rollback, RollbackFile
from workshop.names import from_iso, is_proposal_id, storable, utf8
from workshop.records import SCHEMA, columns, version_number

NEEDED = ("id", "kind", "status", "title", "description", "createdAt", "updatedAt", "createdBy")
NEEDED_TOO = ("proposedVersion", "draftFile", "draftHash", "target", "scan")


class NotARecord(Exception):
    """A stored record that cannot be read as one."""


def checked(record: Any, *, proposal_id: str) -> dict[str, Any]:
    """A record in its form. Raises NotARecord with what is wrong."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise NotARecord("unknown schema")
    missing = [key for key in (*NEEDED, *NEEDED_TOO) if key not in record]
    if missing:
        raise NotARecord(f"missing: {', '.join(missing)}")
    if record["id"] != proposal_id or not is_proposal_id(proposal_id):
        raise NotARecord("its id is not the one it is stored under")
    try:
        version_number(record["proposedVersion"])
        revision_hash(record["proposedVersion"], record["draftHash"], record.get("supportFiles", []))
        columns(record)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise NotARecord(f"unreadable: {error}") from error
    return record


def infer_owner(ward: Ward, record: dict[str, Any], row_owner: str | None) -> tuple[str, list[str]]:
    """`(agent id, candidates)`: from the row, the origin, or the only agent in whose folders the target lies.
    The id is empty when nothing says it for certain."""
    origin = record.get("origin") or {}
    session = str(origin.get("sessionKey", "")).split(":")
    named = (
        row_owner
        or origin.get("agentId")
        or (session[1] if len(session) > 2 and session[0] == "agent" else "")
    )
    if named:
        return str(named).strip().lower(), [str(named)]
    candidates = ward.owners_of(Path(record["target"].get("skillDir", "/")))
    return (candidates[0] if len(candidates) == 1 else ""), candidates


def place_of(ward: Ward, agent_id: str, record: dict[str, Any]) -> tuple[str, str]:
    """`(folder in workshop-skills, old folder)`; the old one is empty when the target lies in a Workshop.

    A path recorded under another state folder counts as inside by its `workshop-skills` part: state folders
    are moved and copied.
    """
    target = record["target"]
    recorded = Path(str(target.get("skillDir", "")))
    desk = ward.desk(agent_id)
    if desk and recorded.is_relative_to(desk.root):
        return recorded.relative_to(desk.root).as_posix(), ""
    if FOLDER in recorded.parts:
        place = len(recorded.parts) - 1 - recorded.parts[::-1].index(FOLDER)
        if recorded.parts[place + 1 :]:
            return "/".join(recorded.parts[place + 1 :]), ""
    return str(target["skillKey"]), str(recorded)


def import_proposal(
    ward: Ward,
    record: dict[str, Any],
    *,
    agent_id: str,
    source: str,
    rollback: dict[str, Any] | None = None,
    events: Sequence[dict[str, Any]] = (),
) -> Proposal:
    """Put one checked record with its rollback and events into our tables. Edit times stay as they are."""
    target_dir, legacy_dir = place_of(ward, agent_id, record)
    stored = {
        **record,
        "target": {k: v for k, v in record["target"].items() if k not in ("skillDir", "skillFile")},
    }
    stored["target"].setdefault("source", "openclaw-workshop")
    draft = _draft(ward, stored)
    values = columns(stored, draft_size=len(draft or b""))
    values |= {
        "agent_id": agent_id,
        "target_dir": target_dir,
        "legacy_dir": legacy_dir,
        "target_hash": lock_name(agent_id, target_dir),
        "imported_from": source,
    }
    with transaction.atomic():
        proposal, _made = Proposal.objects.update_or_create(pk=record["id"], defaults=values)
        _import_generation(proposal, stored)
        if rollback:
            _import_rollback(proposal, stored, rollback, draft)
        _import_events(proposal, events)
        if not proposal.events.exists():
            # Without any history of its own its first event says where it comes from; readers follow events.
            append_event(
                proposal, Event.Type.CREATED, ward.author, proposal.created_at, payload={"imported": True}
            )
    return proposal


def _draft(ward: Ward, record: dict[str, Any]) -> bytes | None:
    try:
        return store.read_draft(ward.state, record["id"], record["draftFile"])
    except FileProblem:
        return None


def _import_generation(proposal: Proposal, record: dict[str, Any]) -> None:
    Generation.objects.update_or_create(
        proposal=proposal,
        version=version_number(record["proposedVersion"]),
        defaults={
            "uuid": proposal.generation,
            "draft_hash": proposal.draft_hash,
            "revision_hash": proposal.revision_hash,
            "description": proposal.description,
            "support_json": js_string(record.get("supportFiles", [])),
            "size_bytes": proposal.size_bytes,
            "created_at": proposal.updated_at if proposal.is_pending else proposal.created_at,
            "person": storable(str(record["createdBy"]))[:200],
        },
    )


def _import_rollback(
    proposal: Proposal, record: dict[str, Any], rollback: dict[str, Any], draft: bytes | None
) -> None:
    written = {item["path"]: item["hash"] for item in record.get("supportFiles", [])}
    skill = sha256(utf8(bundle.render_skill(draft.decode(errors="replace")))) if draft is not None else ""
    Rollback.objects.filter(pk=proposal.pk).delete()
    row = Rollback.objects.create(
        proposal=proposal,
        written_at=from_iso(rollback["writtenAt"]),
        target_skill_file=rollback["targetSkillFile"],
        action=rollback["action"],
        state=Rollback.State.OPEN if proposal.is_pending else Rollback.State.APPLIED,
    )
    files = [
        *(
            (item["path"], item["existed"], item.get("previousContent"), written.get(item["path"], ""))
            for item in rollback.get("supportFiles") or []
        ),
        (
            bundle.SKILL_NAME,
            rollback.get("previousContent") is not None,
            rollback.get("previousContent"),
            skill,
        ),
    ]
    for position, (path, existed, text, digest) in enumerate(files):
        data = utf8(text) if existed and text is not None else None
        RollbackFile.objects.create(
            rollback=row,
            position=position,
            path=storable(path),
            existed=existed,
            previous=data,
            previous_hash=sha256(data) if data is not None else "",
            written_hash=digest,
        )


def _import_events(proposal: Proposal, events: Sequence[dict[str, Any]]) -> None:
    """Keep the peer's sequence numbers while our own ledger is empty; afterwards append in their order."""
    known = set(
        Event.objects.filter(event_id__in=[event["event_id"] for event in events]).values_list(
            "event_id", flat=True
        )
    )
    for event in events:
        if event["event_id"] in known:
            continue
        sequence = event["sequence"] if event["sequence"] > last_sequence() else next_sequence()
        EventCounter.objects.update_or_create(
            pk=1, defaults={"last_sequence": max(sequence, last_sequence())}
        )
        Event.objects.create(proposal=proposal, agent_id=proposal.agent_id, **event | {"sequence": sequence})
