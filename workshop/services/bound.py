"""What revise and apply check about the live side, and how a proposal becomes stale."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from workshop import sentences, store, targets
from workshop.bundle import SKILL_NAME
from workshop.desks import Desk
from workshop.errors import FileProblem, WorkshopError
from workshop.ledger import Author, commit
from workshop.models import Event, Proposal
from workshop.records import now, with_status

APPEARED = "appeared"
CHANGED = "changed"
SUPPORT_CHANGED = "support-changed"
TREE_CHANGED = "tree-changed"
MISSING = "missing"


def stale_reason(code: str) -> str:
    """The reason kept with a proposal that became stale by itself."""
    return {
        APPEARED: _("A skill appeared at the place of this new one."),
        CHANGED: _("The live SKILL.md is no longer what the proposal was made against."),
        SUPPORT_CHANGED: _("A live support file that the proposal replaces changed, vanished or appeared."),
        TREE_CHANGED: _("Another file of the live skill changed, vanished or appeared."),
    }[code]


def load_bundle(desk: Desk, proposal: Proposal) -> store.Bundle:
    """The stored bundle, verified against the record. Raises WorkshopError `stored-…`."""
    entries = proposal.record.get("supportFiles", [])
    try:
        return store.read_bundle(desk.state, proposal.pk, proposal.draft_file, proposal.draft_hash, entries)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="stored") from problem


def require_pending(proposal: Proposal, action: str) -> None:
    if not proposal.is_pending:
        raise sentences.not_pending(proposal, action)


def require_moved(proposal: Proposal) -> None:
    """Refuse to touch a skill that still lies in its old place (`needs-doctor`)."""
    if proposal.legacy_dir:
        raise sentences.needs_doctor(proposal.legacy_dir)


def require_revision(proposal: Proposal, expected: str | None) -> None:
    """`expected` None leaves it open; the comparison is case-sensitive, as the contract's is."""
    if expected is not None and expected != proposal.revision_hash:
        raise sentences.revision_changed(expected, proposal.revision_hash)


def target_state(desk: Desk, proposal: Proposal) -> str | None:
    """What stands against a pending proposal at its target: `appeared` (create), `missing`, `changed`,
    `support-changed`, `tree-changed` (update); None when nothing does. Writes nothing.

    An update is bound to the whole live skill (spec/workshop.md §2.1). With `WORKSHOP_BIND_WHOLE_TARGET` off
    it is bound as the peer binds it: to SKILL.md and the files it names (contract §2.6).

    Raises FileProblem when the target leads outside or cannot be read.
    """
    file = targets.skill_file(proposal.target_dir)
    targets.require_inside(desk.root, file)
    if proposal.kind == Proposal.Kind.CREATE:
        return APPEARED if targets.exists(desk.root, file) else None
    record = proposal.record
    present = targets.live_hash(desk.root, file)
    if present is None:
        return MISSING
    if present != record["target"].get("currentContentHash"):
        return CHANGED
    if changed_support(desk, proposal, record):
        return SUPPORT_CHANGED
    return TREE_CHANGED if settings.WORKSHOP_BIND_WHOLE_TARGET and drift(desk, proposal) else None


def drift(desk: Desk, proposal: Proposal) -> list[str]:
    """Live files outside an update's own that changed, vanished or appeared since it was made.

    Empty for imported proposals, of which nobody noted the whole tree.
    """
    if not proposal.target_tree_json:
        return []
    own = {item["path"] for item in proposal.record.get("supportFiles", [])} | {SKILL_NAME}
    present = targets.tree_hashes(desk.root, proposal.target_dir)
    return targets.changed_paths(json.loads(proposal.target_tree_json), present, own)


def changed_support(desk: Desk, proposal: Proposal, record: dict[str, Any]) -> str | None:
    """The first support file of an update whose live counterpart is not the bound one."""
    for item in record.get("supportFiles", []):
        rel = f"{proposal.target_dir}/{item['path']}"
        targets.require_inside(desk.root, rel)
        if targets.live_hash(desk.root, rel) != item.get("targetContentHash"):
            return str(item["path"])
    return None


def become_stale(proposal: Proposal, code: str, author: Author) -> None:
    """Commit the stale state; the reason says why by itself."""
    at, reason = now(), stale_reason(code)
    record = with_status(proposal.record, "stale", at, reason)
    commit(proposal, record, Event.Type.STALE, author, at, reason=reason)


def stale_error(desk: Desk, proposal: Proposal) -> WorkshopError:
    return sentences.became_stale(desk.skill_path(proposal))
