"""The rules of an agent's desk that openclaw.json does not know."""

from __future__ import annotations

from django.utils.translation import gettext as _

from gateway import audit
from gateway.callers import ADMIN, Caller
from workshop import sentences
from workshop.desks import open_desk
from workshop.models import AgentDesk


def set_desk_rules(
    agent_id: str | None, *, approval_policy: str, two_person: bool, caller: Caller
) -> AgentDesk:
    """Keep who decides about this agent's proposals. `approval_policy`: `pending`, `auto`, or empty for what
    openclaw.json says. Raises WorkshopError `unknown-policy`, `unknown-agent`."""
    caller.require_scope(ADMIN)
    desk = open_desk(agent_id or None, caller)
    if approval_policy not in AgentDesk.Policy.values:
        raise sentences.refuse(
            "unknown-policy", _("There is no rule “%(rule)s”.") % {"rule": approval_policy[:40]}
        )
    kept, _made = AgentDesk.objects.update_or_create(
        pk=desk.id, defaults={"approval_policy": approval_policy, "two_person": two_person}
    )
    audit.record(
        caller,
        "workshop.rules",
        subject=desk.id,
        agent_id=desk.id,
        detail={"approvalPolicy": approval_policy, "twoPerson": two_person},
    )
    return kept
