"""The contract's read methods: list, inspect, read, events, curator (§2.1, §2.8, §2.9).

`list` and `inspect` reconcile pending proposals, as the peer does; pages use `queries.desk`, which writes
nothing.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Min
from django.utils.translation import gettext as _

from agents.roster import load_roster
from gateway.callers import Caller
from gateway.registry import Encoded
from openclaw_web.paths import state_dir
from workshop import live, records, sentences, store
from workshop.desks import Desk, load_proposal
from workshop.errors import FileProblem
from workshop.hashes import js_string
from workshop.locks import lock_name
from workshop.models import Event, Proposal, ReviewState, SkillUsage
from workshop.names import iso, trim, utf8
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
    pending = Proposal.objects.of_agent(desk.id).pending()
    missing = set()
    for proposal in pending:
        try:
            fresh = recovery.reconcile(desk, proposal)
        except FileProblem:
            # A target that leads outside is inspect's and apply's to report; the list stays readable.
            fresh = proposal
        if fresh.is_pending and not store.has_draft(desk.state, fresh.pk, fresh.draft_file):
            missing.add(fresh.pk)
    installed = [
        {"name": skill.name, "skillKey": skill.key, "description": skill.description}
        for skill in inventory(desk).skills
    ]
    return answer(entries_of(desk), missing, installed, never=NEVER)


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


def curator_status(caller: Caller, *, live_inventory: bool) -> dict[str, Any]:
    """`skills.curator.status` over all agents that the caller may see, by file path.

    `live_inventory`: the connection declared `skill-curator-live-inventory`; without it only skills with a
    known creation date are listed and counted.
    """
    desks = [Desk(agent, state_dir()) for agent in load_roster().agents if caller.allows_agent(agent.id)]
    members = [(desk, skill) for desk in desks for skill in inventory(desk).skills]
    created = created_at_ms([lock_name(desk.id, skill.dir) for desk, skill in members])
    usage = {row.skill_file: row for row in SkillUsage.objects.all()}
    skills = []
    for desk, skill in members:
        at = created.get(lock_name(desk.id, skill.dir))
        if at is not None or live_inventory:
            used = usage.get(f"{desk.root.resolve()}/{skill.file}")
            skills.append(_curated(skill, f"{desk.root}/{skill.file}", at, used))
    skills.sort(key=lambda item: item["skillFile"])
    status = {
        "lastAttemptAtMs": None,
        "lastSuccessAtMs": None,
        "lastError": None,
        "collectionReview": {},
        "experienceReview": dict(ReviewState.objects.values_list("workspace", "data")),
        "counts": {"active": len(skills), "stale": 0, "archived": 0},
        "skills": skills,
        "overlaps": [],
    }
    return {"inventory": "live-workshop", **status} if live_inventory else status


def created_at_ms(target_hashes: list[str]) -> dict[str, int]:
    """When the earliest applied create of each target was applied: the only creation date that is known."""
    rows = (
        Proposal.objects.filter(
            target_hash__in=target_hashes, kind=Proposal.Kind.CREATE, status=Proposal.Status.APPLIED
        )
        .order_by()
        .values_list("target_hash")
        .annotate(first=Min("applied_at"))
    )
    return {target: round(first.timestamp() * 1000) for target, first in rows if first}


def _curated(skill: live.Skill, file: str, created: int | None, usage: SkillUsage | None) -> dict[str, Any]:
    return {
        "skillFile": file,
        "skillKey": skill.key,
        "skillName": skill.name,
        "createdAtMs": created,
        "state": "active",
        "pinned": False,
        "stateChangedAtMs": created,
        "lastUsedAtMs": usage.last_used_at_ms if usage else None,
        "useCount": usage.use_count if usage else 0,
        "archivedReason": None,
    }
