"""Revise a pending proposal (contract §2.7): a new generation, never a change of the old one."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from gateway import faults
from gateway.callers import WRITE, Caller
from workshop import bundle, drafts, sentences, targets
from workshop.desks import Desk, load_proposal, open_desk, target_lock
from workshop.drafts import Draft
from workshop.errors import FileProblem
from workshop.hashes import sha256
from workshop.ledger import GATEWAY, Author, append_event, audit_made, save_record
from workshop.models import Event, Proposal, Rollback
from workshop.names import blank_to_none, iso, trim
from workshop.records import now
from workshop.services import bound, livefiles, publishing, recovery
from workshop.services.proposals import SupportItems, bound_entry
from workshop.store import Bundle, draft_file
from workshop.supportpaths import SupportFile


def revise_proposal(
    agent_id: str | None,
    proposal_id: str,
    *,
    content: str | None = None,
    support_files: SupportItems | None = None,
    description: str | None = None,
    goal: str | None = None,
    evidence: str | None = None,
    expected_revision_hash: str | None = None,
    correlation_id: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> Proposal:
    """Publish a new revision. What is None is kept; `support_files=[]` removes them all; a blank goal or
    evidence deletes it. Without `expected_revision_hash` the last writer wins.

    Raises WorkshopError: `nothing-to-revise`, `not-pending`, `SKILL_PROPOSAL_REVISION_CHANGED`, `stale`, limits.
    """
    caller.require_scope(WRITE)
    desk, author = open_desk(agent_id, caller), Author(caller, door)
    proposal = load_proposal(desk, proposal_id)
    if all(value is None for value in (content, support_files, description, goal, evidence)):
        raise sentences.refuse(
            "nothing-to-revise", _("Say what to revise: text, files, description, goal or evidence.")
        )
    drafts.check_words(correlation_id=correlation_id)
    publishing.sweep(desk)
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        bound.require_pending(proposal, _("Revising"))
        bound.require_revision(proposal, expected_revision_hash)
        recovery.settle_quietly(desk, proposal)
        bound.require_pending(proposal, _("Revising"))
        bound.require_moved(proposal)
        _require_target(desk, proposal, author)
        before = bound.load_bundle(desk, proposal)
        if content is not None:
            drafts.check_autonomous(bundle.read(content), caller, _live_body(desk, proposal))
        record, draft = _compose(desk, proposal, before, content, support_files, description, goal, evidence)
        return _store(desk, proposal, record, draft, author, correlation_id)


def _live_body(desk: Desk, proposal: Proposal) -> str | None:
    """The body of the live skill that an update would change."""
    if proposal.kind == Proposal.Kind.CREATE:
        return None
    data = livefiles.read_live(desk, targets.skill_file(proposal.target_dir))
    return bundle.read(data.decode(errors="replace")).body


def _require_target(desk: Desk, proposal: Proposal, author: Author) -> None:
    try:
        state = bound.target_state(desk, proposal)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    if state == bound.MISSING:
        raise sentences.target_missing(desk.skill_path(proposal))
    if state is not None:
        bound.become_stale(proposal, state, author)
        raise bound.stale_error(desk, proposal)


def _compose(
    desk: Desk,
    proposal: Proposal,
    before: Bundle,
    content: str | None,
    support_files: SupportItems | None,
    description: str | None,
    goal: str | None,
    evidence: str | None,
) -> tuple[dict[str, Any], Draft]:
    """The new record (without draftFile) and the new draft."""
    label = trim(description or "")
    drafts.check_description(label)
    # Without new text the stored draft is measured, its block included, as the peer does.
    drafts.check_content(before.text if content is None else content, desk.rules)
    support = before.support if support_files is None else drafts.check_support(support_files)
    old = bundle.read(before.text)
    source = old if content is None else bundle.read(content)
    is_create = proposal.kind == Proposal.Kind.CREATE
    at, version = now(), f"v{proposal.version + 1}"
    words = (label if is_create else "") or source.description or old.description
    text = bundle.render_draft(
        source,
        name=old.name,
        description=words,
        version=version,
        date=iso(at),
        fallback=old,
    )
    record = proposal.record
    record.pop("evaluation", None)
    record |= {
        "description": label or record["description"],
        "updatedAt": iso(at),
        "proposedVersion": version,
    }
    for key, value in (("goal", goal), ("evidence", evidence)):
        if value is not None:
            record.pop(key, None)
            record |= {key: kept} if (kept := blank_to_none(value)) else {}
    if support_files is not None:
        record.pop("supportFiles", None)
        if support:
            record["supportFiles"] = [_entry(desk, proposal, file) for file in support]
    draft = drafts.finish(
        text,
        support,
        name=record["target"]["skillName"],
        description=record["description"],
        skill_description=words,
        goal=record.get("goal"),
        evidence=record.get("evidence"),
    )
    return record | {"draftHash": sha256(draft.data), "scan": draft.scan}, draft


def _entry(desk: Desk, proposal: Proposal, file: SupportFile) -> dict[str, Any]:
    if proposal.kind == Proposal.Kind.CREATE:
        return file.entry()
    return bound_entry(desk, proposal.target_dir, file)


def _store(
    desk: Desk,
    proposal: Proposal,
    record: dict[str, Any],
    draft: Draft,
    author: Author,
    correlation_id: str | None,
) -> Proposal:
    size = len(draft.data) + sum(len(file.data) for file in draft.support)
    with publishing.published(desk, proposal.pk, proposal.target_dir, draft) as generation:
        record["draftFile"] = draft_file(generation)
        faults.reached("revise.before-commit")
        with transaction.atomic():
            save_record(proposal, record, size_bytes=size)
            Rollback.objects.filter(pk=proposal.pk).delete()
            publishing.claim(proposal, generation, author)
            append_event(
                proposal,
                Event.Type.REVISED,
                author,
                proposal.updated_at,
                correlation_id=trim(correlation_id or "") or None,
            )
            audit_made(proposal, Event.Type.REVISED, author)
        faults.reached("revise.committed")
    proposal.draft_text, proposal.live_root = draft.text, str(desk.root)
    return proposal
