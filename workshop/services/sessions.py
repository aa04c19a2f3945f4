"""Open an ordinary session through whatever answers `sessions.create` here."""

from __future__ import annotations

from gateway import registry, transports
from gateway.callers import system_caller
from gateway.deliveries import acknowledge, attempt_delivery
from gateway.registry import RpcError
from workshop.models import LearningSession
from workshop.services.requests import LEARN_PURPOSE, require_delivery

CREATE = "sessions.create"
transports.begin_session_for(LEARN_PURPOSE)


def open_learning_session(session: LearningSession) -> str:
    """Create the session with its first message, and note its real key. Returns the delivery's outcome.

    Where nothing here answers `sessions.create`, the message goes the ledger's ways: the `openclaw` program makes
    the session first, the local inbox holds the message until the agent fetches it.
    """
    caller = system_caller("workshop")
    delivery = require_delivery(session.delivery_id or 0)
    if delivery.received_at or CREATE not in {method.name for method in registry.methods()}:
        return attempt_delivery(delivery, caller=caller).outcome
    params = {"agentId": session.agent_id, "key": session.session_key, "message": delivery.text}
    try:
        answer = registry.call(CREATE, params, caller)
    except RpcError:
        return attempt_delivery(delivery, caller=caller).outcome
    LearningSession.objects.filter(pk=session.pk).update(session_key=answer.get("key", session.session_key))
    return acknowledge(delivery, caller=caller).outcome
