"""The contract's read methods: list, inspect, read, events, curator (§2.1, §2.8, §2.9).

`list` and `inspect` reconcile pending proposals, as the peer does; pages use `queries.desk`, which writes
nothing.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from gateway.registry import Encoded
from workshop import live, records, sentences, store
from workshop.desks import Desk, load_proposal
from workshop.errors import FileProblem
from workshop.hashes import js_string
from workshop.models import Event, Proposal
from workshop.names import iso, trim, utf8
from workshop.queries.curated import curator_status
from workshop.queries.manifest import answer, entries_of, forget_entries
from workshop.services import recovery

__all__ = [
    "curator_status",
    "event_page",
    "forget_entries",
    "inspect",
    "inventory",
    "manifest",
    "read_skill",
]
NEVER = "1970-01-01T00:00:00.000Z"
MAX_PAGE_BYTES = 2_097_152


def manifest(desk: Desk) -> Encoded:
    """`skills.proposals.list`. Raises WorkshopError when live skills cannot be read."""
    kept, missing = entries_of(desk), set()
    waiting = Proposal.objects.of_agent(desk.id).pending() if kept.pending else ()
    for proposal in waiting:
        try:
            fresh = recovery.reconcile(desk, proposal)
        except FileProblem:
            # A target that leads outside is inspect's and apply's to report; the list stays readable.
            fresh = proposal
        if fresh.is_pending and not store.has_draft(desk.state, fresh.pk, fresh.draft_file):
            missing.add(fresh.pk)
    if waiting:
        kept = entries_of(desk)
    return answer(kept, missing & kept.entries.keys(), inventory(desk), never=NEVER)


def inventory(desk: Desk) -> live.Inventory:
    try:
        return live.read_inventory(desk.root)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem


def inspect(desk: Desk, proposal_id: str, *, real_draft: bool = False) -> dict[str, Any]:
    """`skills.proposals.inspect`. With `real_draft` support files carry size and hash too (command line)."""
    proposal = load_proposal(desk, proposal_id)
    try:
        proposal = recovery.reconcile(desk, proposal)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    record = proposal.record
    entries = record.get("supportFiles", [])
    try:
        # A draft whose hash is wrong is still shown, with the recorded hashes (contract §2.10).
        draft = store.read_draft(desk.state, proposal.pk, proposal.draft_file)
        support = store.read_support(desk.state, proposal.pk, proposal.draft_file, entries)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="stored") from problem
    payload: dict[str, Any] = {
        "record": records.shown(proposal, desk.root, real_draft=real_draft),
        "revisionHash": proposal.revision_hash,
        "content": draft.decode(errors="replace"),
    }
    if support:
        payload["supportFiles"] = [
            {**(file.entry() if real_draft else {"path": file.path}), "content": file.text}
            for file in support
        ]
    return payload


def read_skill(desk: Desk, name: str) -> dict[str, Any]:
    """`skills.workshop.read`."""
    if not trim(name):
        raise sentences.refuse("name-blank", _("Say which skill: the name is blank."))
    skill = live.find_skill(inventory(desk), name)
    if skill is None:
        raise sentences.no_skill(trim(name))
    try:
        data = live.read_member(desk.root, skill)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    return {
        "name": skill.name,
        "skillKey": skill.key,
        "description": skill.description,
        "content": data.decode(errors="replace"),
    }


def event_page(
    desk: Desk, *, proposal_id: str | None = None, after: int = 0, limit: int = 100
) -> dict[str, Any]:
    """`skills.proposals.events.list`: ascending, cut at `limit` events or 2 MiB."""
    rows = Event.objects.filter(agent_id=desk.id, sequence__gt=after)
    if proposal_id is not None:
        rows = rows.filter(proposal_id=proposal_id)
    found = list(rows.order_by("sequence")[: limit + 1])
    page: list[dict[str, Any]] = []
    size = 0
    for row in found[:limit]:
        shown = shown_event(row)
        size += len(utf8(js_string(shown)))
        if page and size > MAX_PAGE_BYTES:
            break
        page.append(shown)
    more = len(page) < len(found)
    return {"events": page, **({"nextSequence": page[-1]["sequence"]} if more else {})}


def shown_event(row: Event) -> dict[str, Any]:
    shown = {
        "sequence": row.sequence,
        "eventId": row.event_id,
        "proposalId": row.proposal_id,
        "proposedVersion": row.proposed_version,
        "revisionHash": row.revision_hash,
        "type": row.type,
        "occurredAt": iso(row.occurred_at),
        "actor": row.actor,
    }
    optional = {"correlationId": row.correlation_id, "payload": row.payload, "evaluation": row.evaluation}
    return {**shown, **{key: value for key, value in optional.items() if value}}
