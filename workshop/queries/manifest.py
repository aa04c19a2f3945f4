"""The list method's entries, kept per process so that listing does not grow with history.

Every change of a proposal is an event, so what is kept holds until the ledger moves, and then only the proposals
that the new events name are read again. Each entry's JSON text is kept beside it: an answer is put together from
texts, not serialised anew.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from gateway.registry import Encoded
from workshop import records
from workshop.desks import Desk
from workshop.hashes import js_string
from workshop.ledger import last_sequence
from workshop.models import Event, Proposal

FIELDS = ("id", "record_json", "revision_hash")
# With more changes than this, reading everything again is as quick.
MAX_CHANGES = 500


@dataclass(slots=True)
class Kept:
    """Entries and their texts by id; `listed` and `body` are both in the list's order. Never changed once made."""

    sequence: int = -1
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    listed: list[dict[str, Any]] = field(default_factory=list)
    body: bytes = b""


_kept: dict[tuple[str, str], Kept] = {}
_guard = threading.Lock()


def forget_entries() -> None:
    """For whoever changes proposals without an event."""
    with _guard:
        _kept.clear()


def entries_of(desk: Desk) -> Kept:
    """All entries of an agent as they are now."""
    sequence = last_sequence()
    key = (str(desk.state), desk.id)
    with _guard:
        kept = _kept.get(key)
        if kept is None or kept.sequence != sequence:
            kept = _refreshed(desk, kept, sequence)
            _kept[key] = kept
        return kept


def _refreshed(desk: Desk, kept: Kept | None, sequence: int) -> Kept:
    changed = _changed_since(kept.sequence, sequence) if kept and kept.sequence < sequence else None
    rows = Proposal.objects.of_agent(desk.id)
    if kept is None or changed is None:
        fresh = Kept(sequence)
    else:
        # A new object: a reader of the old one is not disturbed.
        fresh = Kept(sequence, dict(kept.entries), dict(kept.texts))
        rows = rows.filter(pk__in=changed)
    for row in rows.values(*FIELDS).iterator(chunk_size=2000):
        entry = records.entry(row)
        fresh.entries[row["id"]] = entry
        fresh.texts[row["id"]] = js_string(entry)
    order = sorted(fresh.entries)
    order.sort(key=lambda pk: fresh.entries[pk]["updatedAt"], reverse=True)
    fresh.listed = [fresh.entries[pk] for pk in order]
    fresh.body = ",".join([fresh.texts[pk] for pk in order]).encode()
    return fresh


def _changed_since(before: int, now: int) -> set[str] | None:
    """The proposals that events since name; None when the ledger cannot say (too many, or a gap)."""
    if now - before > MAX_CHANGES:
        return None
    found = Event.objects.filter(Q(sequence__gt=before) & Q(sequence__lte=now))
    rows = list(found.values_list("sequence", "proposal_id"))
    return {proposal_id for _sequence, proposal_id in rows} if len(rows) == now - before else None


def answer(kept: Kept, missing: set[str], installed: list[dict[str, str]], *, never: str) -> Encoded:
    """The manifest, with its JSON text. `missing`: pending proposals whose draft is gone."""
    listed, body = kept.listed, kept.body
    if missing:
        listed = [{**e, "degradedState": "draft-missing"} if e["id"] in missing else e for e in listed]
        body = ",".join(
            [js_string(e) if e["id"] in missing else kept.texts[e["id"]] for e in listed]
        ).encode()
    updated = listed[0]["updatedAt"] if listed else never
    head = {"schema": records.MANIFEST_SCHEMA, "updatedAt": updated}
    payload = Encoded(head | {"proposals": listed, "installedSkills": installed})
    before, after = js_string(head)[:-1].encode(), js_string(installed).encode()
    payload.json = b"".join((before, b',"proposals":[', body, b'],"installedSkills":', after, b"}"))
    return payload
