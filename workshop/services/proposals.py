"""Make and revise proposals (contract §2.2, §2.4, §2.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from gateway import faults
from gateway.callers import WRITE, Caller
from openclaw_web.prepared import Prepared
from workshop import bundle, drafts, live, sentences, targets
from workshop.config import MAX_DESCRIPTION_BYTES
from workshop.desks import Desk, open_desk, target_lock
from workshop.drafts import Draft
from workshop.errors import FileProblem
from workshop.hashes import js_string, sha256
from workshop.ledger import GATEWAY, Author, append_event, audit_made
from workshop.locks import lock_name
from workshop.models import AgentDesk, Event, Proposal
from workshop.names import blank_to_none, cut_utf8, iso, new_proposal_id, skill_key, trim
from workshop.records import SCHEMA, columns, now, target
from workshop.services import publishing
from workshop.store import draft_file
from workshop.supportpaths import SupportFile

SupportItems = Sequence[Mapping[str, str]]
_LOCKED_DESK = Prepared(
    lambda agent_id: AgentDesk.objects.select_for_update().filter(pk=agent_id).values_list("pk"), 1
)
_COUNTS = Prepared(
    lambda agent_id: (
        Proposal.objects.filter(agent_id=agent_id)
        .counted()
        .order_by()
        .values_list("status")
        .annotate(Count("pk"))
    ),
    1,
)


def create_proposal(
    agent_id: str | None,
    *,
    name: str,
    description: str,
    content: str,
    support_files: SupportItems = (),
    goal: str | None = None,
    evidence: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """Propose a new skill. Nothing live is touched.

    `support_files`: ``{"path", "content"}`` each. Raises WorkshopError; the order of checks is the contract's.
    """
    caller.require_scope(WRITE)
    desk, author = open_desk(agent_id, caller), Author(caller, door)
    title, label = trim(name), trim(description)
    if not title:
        raise sentences.refuse("name-blank", _("The skill needs a name."))
    if not label:
        raise sentences.refuse("description-blank", _("The skill needs a description."))
    key = skill_key(title)
    if not key:
        raise sentences.refuse(
            "name-without-key", _("The name needs at least one letter a–z or digit: it becomes a folder.")
        )
    _refuse_existing(desk, key)
    drafts.check_description(label)
    drafts.check_content(content, desk.rules)
    support = drafts.check_support(support_files)
    source = bundle.read(content)
    drafts.check_autonomous(source, caller)
    at = now()
    words = source.description or label
    text = bundle.render_draft(source, name=key, description=words, version="v1", date=iso(at))
    goal, evidence = blank_to_none(goal), blank_to_none(evidence)
    draft = drafts.finish(
        text, support, name=title, description=label, skill_description=words, goal=goal, evidence=evidence
    )
    record = _record(
        "create", title, key, label, draft, target(title, key), author, desk, iso(at), goal, evidence
    )
    return _store(desk, author, record, draft, target_dir=key, key=key)


def propose_update(
    agent_id: str | None,
    *,
    skill_name: str,
    content: str,
    description: str | None = None,
    support_files: SupportItems = (),
    goal: str | None = None,
    evidence: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """Propose a change of a live skill, bound to what stands there now. Nothing live is touched."""
    caller.require_scope(WRITE)
    desk, author = open_desk(agent_id, caller), Author(caller, door)
    skill, before = _live_skill(desk, skill_name)
    label = trim(description or "") or cut_utf8(skill.description, MAX_DESCRIPTION_BYTES)
    drafts.check_description(label)
    drafts.check_content(content, desk.rules)
    support = drafts.check_support(support_files)
    source, old = bundle.read(content), bundle.read(before.decode(errors="replace"))
    drafts.check_autonomous(source, caller, old.body)
    at = now()
    words = source.description or skill.description
    text = bundle.render_draft(
        source,
        name=skill.name,
        description=words,
        version="v1",
        date=iso(at),
        fallback=old,
    )
    goal, evidence = blank_to_none(goal), blank_to_none(evidence)
    draft = drafts.finish(
        text,
        support,
        name=skill.name,
        description=label,
        skill_description=words,
        goal=goal,
        evidence=evidence,
    )
    where = target(skill.name, skill.key, bound=sha256(before))
    key = skill_key(skill.key) or skill_key(skill.dir)
    record = _record("update", skill.name, key, label, draft, where, author, desk, iso(at), goal, evidence)
    if support:
        record["supportFiles"] = [bound_entry(desk, skill.dir, file) for file in support]
    tree = js_string(targets.tree_hashes(desk.root, skill.dir))
    return _store(desk, author, record, draft, target_dir=skill.dir, key=key, target_tree_json=tree)


def _refuse_existing(desk: Desk, target_dir: str) -> None:
    file = targets.skill_file(target_dir)
    try:
        targets.require_inside(desk.root, file)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    if targets.exists(desk.root, file):
        raise sentences.target_exists(f"{desk.root}/{file}")


def _live_skill(desk: Desk, skill_name: str) -> tuple[live.Skill, bytes]:
    if not trim(skill_name):
        raise sentences.refuse("name-blank", _("Say which skill: the name is blank."))
    skill = live.find_skill(live.read_inventory(desk.root), skill_name)
    if skill is None:
        raise sentences.no_skill(trim(skill_name))
    return skill, live.read_member(desk.root, skill)


def bound_entry(desk: Desk, target_dir: str, file: SupportFile) -> dict[str, Any]:
    """The record's entry of an update's support file, bound to the live file of the same path."""
    try:
        existing = targets.live_hash(desk.root, f"{target_dir}/{file.path}")
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    bound = {"targetExisted": existing is not None}
    return {**file.entry(), **bound, **({"targetContentHash": existing} if existing else {})}


def _record(
    kind: str,
    name: str,
    key: str,
    label: str,
    draft: Draft,
    where: dict[str, Any],
    author: Author,
    desk: Desk,
    at: str,
    goal: str | None,
    evidence: str | None,
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "id": "",
        "kind": kind,
        "status": "pending",
        "title": f"{kind.capitalize()} {name}",
        "description": label,
        "createdAt": at,
        "updatedAt": at,
        "createdBy": author.created_by,
        "origin": author.origin(desk.id),
        "proposedVersion": "v1",
        "draftFile": "",
        "draftHash": sha256(draft.data),
        "target": where,
        "scan": draft.scan,
    }
    if draft.support:
        record["supportFiles"] = [file.entry() for file in draft.support]
    return {
        **record,
        **({"goal": goal} if goal else {}),
        **({"evidence": evidence} if evidence else {}),
    }


def _store(
    desk: Desk,
    author: Author,
    record: dict[str, Any],
    draft: Draft,
    *,
    target_dir: str,
    key: str,
    target_tree_json: str = "",
) -> Proposal:
    at = now()
    record["id"] = new_proposal_id(key, at)
    with (
        target_lock(desk, target_dir),
        publishing.published(desk, record["id"], target_dir, draft) as generation,
    ):
        record["draftFile"] = draft_file(generation)
        faults.reached("create.before-commit")
        with transaction.atomic():
            _lock_count(desk)
            _refuse_when_full(desk)
            proposal = Proposal.objects.create(
                id=record["id"],
                agent_id=desk.id,
                target_dir=target_dir,
                target_hash=lock_name(desk.id, target_dir),
                person=author.label,
                target_tree_json=target_tree_json,
                **columns(record, draft_size=len(draft.data)),
            )
            publishing.claim(proposal, generation, author)
            append_event(proposal, Event.Type.CREATED, author, now())
            audit_made(proposal, Event.Type.CREATED, author)
        faults.reached("create.committed")
    proposal.draft_text, proposal.live_root = draft.text, str(desk.root)
    return proposal


def _lock_count(desk: Desk) -> None:
    """Whoever counts and adds proposals of one agent does so alone until the transaction ends."""
    if not _LOCKED_DESK.rows(desk.id):
        AgentDesk.objects.get_or_create(pk=desk.id)
        _LOCKED_DESK.rows(desk.id)


def _refuse_when_full(desk: Desk) -> None:
    limit = desk.rules.max_pending
    counts = dict(_COUNTS.rows(desk.id))
    pending, quarantined = counts.get("pending", 0), counts.get("quarantined", 0)
    if pending + quarantined >= limit:
        raise sentences.over_max_pending(pending, quarantined, limit, desk.id)
