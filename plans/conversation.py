"""What was said about a plan, in order: people's requests with what became of them, and the texts that answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from plans.models import ChangeRequest, Plan, Revision

LIMIT = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of the conversation: a request, or a text that came."""

    at: datetime
    request: ChangeRequest | None = None
    revision: Revision | None = None


def conversation_of(plan: Plan) -> list[Turn]:
    """Oldest first, in two queries; empty while nobody has asked for anything."""
    asked = plan.requests.select_related("delivery", "revision").defer("revision__content", "revision__text")
    turns = [Turn(request.created_at, request=request) for request in asked.order_by("-id")[:LIMIT]]
    if not turns:
        return []
    texts = plan.revisions.select_related("confirmation__person").defer("content", "text")
    turns += [Turn(text.created_at, revision=text) for text in texts.order_by("-number")[:LIMIT]]
    return sorted(turns, key=lambda turn: turn.at)
