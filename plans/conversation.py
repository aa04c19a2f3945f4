"""What was said about a plan, in order: people's requests with what became of them, and the texts that answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from plans.models import ChangeRequest, Plan, Revision
from plans.queries import requests_of, revisions_of

LIMIT = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of the conversation: a request, or a text that came."""

    at: datetime
    request: ChangeRequest | None = None
    revision: Revision | None = None


def conversation_of(plan: Plan) -> list[Turn]:
    """Oldest first, in two queries; empty while nobody has asked for anything."""
    asked = requests_of(plan).order_by("-id")[:LIMIT]
    turns = [Turn(request.created_at, request=request) for request in asked]
    if not turns:
        return []
    turns += [Turn(text.created_at, revision=text) for text in revisions_of(plan)[:LIMIT]]
    return sorted(turns, key=lambda turn: turn.at)
