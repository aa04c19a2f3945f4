"""Entry points for Django-Q: ids only, safe to run twice."""

from __future__ import annotations

from agents.roster import load_roster
from gateway.callers import system_caller
from gateway.deliveries import attempt_delivery
from gateway.schedules import repeat
from openclaw_web.paths import state_dir
from workshop.desks import Desk
from workshop.models import LearningSession
from workshop.services import publishing, recovery, requests, retention, sessions

repeat("workshop.recover", "workshop.tasks.recover", minutes=5)
repeat("workshop.prune", "workshop.tasks.prune", minutes=60 * 24)


def send_message(delivery_id: int) -> str:
    """Try to send a request for a revision."""
    return attempt_delivery(requests.require_delivery(delivery_id), caller=system_caller("workshop")).outcome


def open_session(learning_session_id: int) -> str:
    """Open the session of a learning request and give it its first message."""
    return sessions.open_learning_session(LearningSession.objects.get(pk=learning_session_id))


def recover() -> dict[str, int]:
    """Finish or undo what dead processes left behind."""
    desks = [Desk(agent, state_dir()) for agent in load_roster().agents]
    return {
        "bundles": sum(publishing.sweep(desk) for desk in desks),
        "applies": sum(len(recovery.settle_all(desk)) for desk in desks),
    }


def prune() -> int:
    """Remove earlier generations of decided proposals, as far as the setting says."""
    return retention.prune_generations()
