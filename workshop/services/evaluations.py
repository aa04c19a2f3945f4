"""Evaluate a proposal (contract §2.7): by hand, and as the first step of every apply."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from gateway.callers import WRITE, Caller
from workshop import bundle, drafts, evaluators, live, safefiles, sentences, targets
from workshop.desks import Desk, load_proposal, open_desk, target_lock
from workshop.errors import FileProblem
from workshop.ledger import GATEWAY, Author, commit, deep_storable
from workshop.models import Event, Proposal
from workshop.names import iso, trim
from workshop.records import now
from workshop.services import bound
from workshop.store import Bundle

MANUAL, APPLY = "manual", "apply"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the evaluators said about one revision; not stored yet. `tree` is empty without evaluators."""

    revision_hash: str
    started_at: datetime
    completed_at: datetime
    outcomes: list[dict[str, Any]]
    tree: str = ""


def evaluate_proposal(
    agent_id: str | None,
    proposal_id: str,
    *,
    expected_revision_hash: str | None = None,
    correlation_id: str | None = None,
    caller: Caller,
    door: str = GATEWAY,
) -> tuple[Proposal, dict[str, Any]]:
    """Run every evaluator and keep the result on the proposal. Returns it with the evaluation."""
    caller.require_scope(WRITE)
    desk, author = open_desk(agent_id, caller), Author(caller, door)
    drafts.check_words(correlation_id=correlation_id)
    proposal = load_proposal(desk, proposal_id)
    bound.require_pending(proposal, _("Evaluating"))
    bound.require_revision(proposal, expected_revision_hash)
    verdict = judge(desk, proposal, bound.load_bundle(desk, proposal))
    with target_lock(desk, proposal.target_dir):
        proposal = load_proposal(desk, proposal_id)
        bound.require_pending(proposal, _("Evaluating"))
        bound.require_revision(proposal, verdict.revision_hash)
        return proposal, keep(proposal, verdict, MANUAL, author, correlation_id)


def judge(desk: Desk, proposal: Proposal, stored: Bundle) -> Verdict:
    """Ask the evaluators; nothing is stored and no lock is held while foreign programs run."""
    started, found = now(), evaluators.evaluators()
    if not found:
        return Verdict(proposal.revision_hash, started, started, [])
    tree = targets.tree_digest(targets.tree_files(desk.root.resolve() / proposal.target_dir))
    outcomes = evaluators.evaluate(_request(desk, proposal, stored, tree), found)
    return Verdict(proposal.revision_hash, started, now(), deep_storable(outcomes), tree)


def has_drifted(desk: Desk, proposal: Proposal, verdict: Verdict) -> bool:
    """Whether the live skill is no longer the one that the evaluators saw."""
    if not verdict.tree:
        return False
    return verdict.tree != targets.tree_digest(targets.tree_files(desk.root.resolve() / proposal.target_dir))


def keep(
    proposal: Proposal, verdict: Verdict, trigger: str, author: Author, correlation_id: str | None
) -> dict[str, Any]:
    """Store a verdict; under the target's lock. Returns the evaluation object of the record."""
    correlation = trim(correlation_id or "")
    evaluation: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "proposedVersion": f"v{proposal.version}",
        "revisionHash": verdict.revision_hash,
        "trigger": trigger,
        "startedAt": iso(verdict.started_at),
        "completedAt": iso(verdict.completed_at),
        **({"correlationId": correlation} if correlation else {}),
        **({"targetTreeSha256": verdict.tree} if verdict.tree else {}),
        "outcomes": verdict.outcomes,
    }
    record = proposal.record | {"updatedAt": iso(verdict.completed_at), "evaluation": evaluation}
    payload = {"evaluationId": evaluation["id"], "trigger": trigger, "outcomeCount": len(verdict.outcomes)}
    commit(
        proposal,
        record,
        Event.Type.EVALUATION_COMPLETED,
        author,
        verdict.completed_at,
        correlation_id=correlation or None,
        payload=payload,
        evaluation=evaluation,
    )
    return evaluation


def require_not_blocked(evaluation: dict[str, Any]) -> None:
    who = evaluators.blockers(evaluation)
    if who:
        raise sentences.refuse(
            "evaluation-blocked",
            _("Blocked by the evaluation of %(who)s. Revise the proposal or reject it.")
            % {"who": ", ".join(who)},
        )


def _request(desk: Desk, proposal: Proposal, stored: Bundle, tree: str) -> dict[str, Any]:
    record = proposal.record
    file = targets.skill_file(proposal.target_dir)
    try:
        present = safefiles.read_file(desk.root, file, limit=live.MAX_SKILL_FILE_BYTES, links=None).data
    except (FileProblem, FileNotFoundError):
        # The request says "no live skill"; whether that may be applied is not the evaluator's question.
        present = None
    return {
        "schema": evaluators.REQUEST_SCHEMA,
        "agentId": desk.id,
        "proposal": {
            "id": proposal.pk,
            "kind": proposal.kind,
            "version": f"v{proposal.version}",
            "revisionHash": proposal.revision_hash,
            "skillName": record["target"]["skillName"],
            "skillKey": record["target"]["skillKey"],
            "description": record["description"],
            "goal": record.get("goal"),
            "evidence": record.get("evidence"),
        },
        "draft": stored.text,
        "skill": bundle.render_skill(stored.text),
        "supportFiles": [{"path": item.path, "content": item.text} for item in stored.support],
        "target": {
            "skill": present.decode(errors="replace") if present is not None else None,
            "treeSha256": tree,
        },
    }
