"""The list method's answer, kept per process so that listing does not grow with history.

Every change of a proposal is an event (or begins an epoch), so what is kept holds until the ledger moves, and then
only the proposals that the new events name are read again. Each entry's JSON text is kept beside it, and the whole
answer until an entry or a live skill changes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from gateway.registry import Encoded
from workshop import records
from workshop.desks import Desk
from workshop.hashes import js_string
from workshop.ledger import position
from workshop.live import Inventory
from workshop.models import Event, Proposal
from workshop.names import utf8

FIELDS = ("id", "record_json", "revision_hash")
# With more changes than this, reading everything again is as quick.
MAX_CHANGES = 500


@dataclass(slots=True)
class Kept:
    """Entries and their JSON by id, and the ids in the list's order; never changed once made. `last` is the last
    answer and the live skills that it names."""

    position: tuple[int, int] = (-1, -1)
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    pending: frozenset[str] = frozenset()
    last: tuple[Inventory, Encoded] | None = None


_kept: dict[tuple[str, str], Kept] = {}
_guard = threading.Lock()


def forget_entries() -> None:
    """For tests, which change databases under a running process."""
    with _guard:
        _kept.clear()


def entries_of(desk: Desk) -> Kept:
    """All entries of an agent as they are now."""
    now = position()
    key = (str(desk.state), desk.id)
    with _guard:
        kept = _kept.get(key)
        if kept is None or kept.position != now:
            kept = _refreshed(desk, kept, now)
            _kept[key] = kept
        return kept


def _refreshed(desk: Desk, kept: Kept | None, now: tuple[int, int]) -> Kept:
    changed = _changed_since(kept.position, now) if kept else None
    rows = Proposal.objects.of_agent(desk.id)
    if kept is None or changed is None:
        fresh = Kept(now)
    else:
        # A new object: a reader of the old one is not disturbed.
        fresh = Kept(now, dict(kept.entries), dict(kept.texts))
        rows = rows.filter(pk__in=changed)
    read = {row["id"]: records.entry(row) for row in rows.values(*FIELDS).iterator(chunk_size=2000)}
    fresh.entries |= read
    fresh.texts |= {pk: utf8(js_string(entry)) for pk, entry in read.items()}
    before = [pk for pk in kept.order if pk not in read] if kept and changed is not None else []
    fresh.order = _ordered(before, read, fresh.entries)
    still = kept.pending - read.keys() if kept and changed is not None else frozenset()
    fresh.pending = still | {pk for pk, entry in read.items() if entry["status"] == Proposal.Status.PENDING}
    return fresh


def _ordered(before: list[str], read: Iterable[str], entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """`updatedAt` descending, then id. What was read goes among what is in order already, from the front, where
    changes of this moment belong."""
    new = sorted(read)
    new.sort(key=lambda pk: entries[pk]["updatedAt"], reverse=True)
    if not before:
        return new
    place = 0
    for pk in new:
        at = entries[pk]["updatedAt"]
        while place < len(before):
            other = entries[before[place]]["updatedAt"]
            if at > other or (at == other and pk < before[place]):
                break
            place += 1
        before.insert(place, pk)
        place += 1
    return before


def _changed_since(before: tuple[int, int], now: tuple[int, int]) -> set[str] | None:
    """The proposals that events since name; None when the ledger cannot say (too many, a gap, an epoch)."""
    behind = now[1] - before[1]
    if before[0] != now[0] or not 0 < behind <= MAX_CHANGES:
        return None
    found = Event.objects.filter(Q(sequence__gt=before[1]) & Q(sequence__lte=now[1]))
    rows = list(found.values_list("sequence", "proposal_id"))
    return {proposal_id for _sequence, proposal_id in rows} if len(rows) == behind else None


def answer(kept: Kept, missing: set[str], inventory: Inventory, *, never: str) -> Encoded:
    """The manifest with its JSON. `missing`: pending proposals whose draft is gone. Whoever gets it may only
    read it: it is kept."""
    if missing:
        return _composed(kept, missing, inventory, never)
    last = kept.last
    if last is None or last[0] is not inventory:
        last = kept.last = (inventory, _composed(kept, missing, inventory, never))
    return last[1]


def _composed(kept: Kept, missing: set[str], inventory: Inventory, never: str) -> Encoded:
    entries, texts = kept.entries, kept.texts
    if missing:
        gone = {pk: {**entries[pk], "degradedState": "draft-missing"} for pk in missing}
        entries, texts = entries | gone, texts | {pk: utf8(js_string(entry)) for pk, entry in gone.items()}
    installed = [
        {"name": skill.name, "skillKey": skill.key, "description": skill.description}
        for skill in inventory.skills
    ]
    updated = entries[kept.order[0]]["updatedAt"] if kept.order else never
    head = {"schema": records.MANIFEST_SCHEMA, "updatedAt": updated}
    return Encoded(
        head | {"proposals": [entries[pk] for pk in kept.order], "installedSkills": installed},
        utf8(js_string(head))[:-1] + b',"proposals":[',
        b",".join([texts[pk] for pk in kept.order]),
        b'],"installedSkills":' + utf8(js_string(installed)) + b"}",
    )
