"""Reviews of skills that a real OpenClaw ran: what its curator reports of them, and what the page shows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agents.roster import Agent
from workshop.models import Proposal, ReviewState


def review_status() -> dict[str, Any]:
    """The part of `skills.curator.status` about reviews (contract §2.9), empty where none was ever run."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in ReviewState.Kind.values}
    for kind, key, data in ReviewState.objects.order_by("key").values_list("kind", "key", "data"):
        found[kind][key] = data
    last = found[ReviewState.Kind.LAST].get("", {})
    return {
        "lastAttemptAtMs": last.get("lastAttemptAtMs"),
        "lastSuccessAtMs": last.get("lastSuccessAtMs"),
        "lastError": last.get("lastError"),
        "collectionReview": found[ReviewState.Kind.COLLECTION],
        "experienceReview": found[ReviewState.Kind.EXPERIENCE],
    }


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """One review for the page. `agent` None: its workspace is none of today's. `outcome`: completed, applied,
    proposed, nothing, failed, running."""

    kind: str
    key: str
    agent: Agent | None
    outcome: str
    at: datetime | None
    error: str
    proposal: Proposal | None
    tokens: int


@dataclass(frozen=True, slots=True)
class LastTry:
    """When the peer's curator tried last and when it last came to its end."""

    tried: datetime | None = None
    done: datetime | None = None
    error: str = ""


def last_try(status: dict[str, Any]) -> LastTry:
    return LastTry(
        moment(status["lastAttemptAtMs"]), moment(status["lastSuccessAtMs"]), str(status["lastError"] or "")
    )


def review_lines(status: dict[str, Any], agents: Sequence[Agent]) -> list[ReviewLine]:
    """The state of every workspace's reviews, the latest first, from `review_status`; one query."""
    owners = {review_key(agent): agent for agent in agents}
    rows = [("collection", key, data) for key, data in status["collectionReview"].items()]
    rows += [("experience", key, data) for key, data in status["experienceReview"].items()]
    named = [str(data.get("proposalId", "")) for _kind, _key, data in rows]
    proposals = Proposal.objects.defer("record_json", "target_tree_json").in_bulk(named)
    lines = [_line(kind, key, data, owners.get(key), proposals) for kind, key, data in rows]
    never = datetime.fromtimestamp(0, UTC)
    return sorted(lines, key=lambda line: line.at or never, reverse=True)


def review_key(agent: Agent) -> str:
    """How the peer names the workspace of an agent in its curator's state."""
    return hashlib.sha256(f"{agent.id}\0{os.path.abspath(agent.workspace)}".encode()).hexdigest()  # noqa: PTH100


def _line(
    kind: str, key: str, data: dict[str, Any], agent: Agent | None, proposals: dict[str, Proposal]
) -> ReviewLine:
    error = str(data.get("error") or "")
    ended = "completed" if data.get("succeededAtMs") else "running"
    usage = data.get("usage") or {}
    return ReviewLine(
        kind=kind,
        key=key,
        agent=agent,
        outcome=str(data.get("outcome") or ("failed" if error else ended)),
        at=moment(data.get("attemptedAtMs")),
        error=error,
        proposal=proposals.get(str(data.get("proposalId", ""))),
        tokens=sum(
            int(usage.get(name) or 0) for name in ("inputTokens", "cachedInputTokens", "outputTokens")
        ),
    )


def moment(ms: Any) -> datetime | None:
    """Milliseconds since 1970 as an instant; None for what is none."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC) if ms else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None
