"""Methods of the gateway itself."""

from typing import Any

from django.utils import timezone

from gateway.callers import Caller
from gateway.models import LedgerEvent
from gateway.registry import READ, Params, method


class NoParams(Params):
    pass


class EventsParams(Params):
    after_sequence: int = 0
    kinds: list[str] | None = None
    agent_id: str | None = None
    limit: int = 100


@method("health", params=NoParams, scope=READ)
def health(params: NoParams, caller: Caller) -> dict[str, Any]:
    """Whether this process answers, and its clock in milliseconds."""
    return {"ok": True, "ts": int(timezone.now().timestamp() * 1000)}


@method("events.list", params=EventsParams, scope=READ)
def events_list(params: EventsParams, caller: Caller) -> dict[str, Any]:
    """Events after a sequence, oldest first; `nextSequence` only while there are more."""
    rows = LedgerEvent.objects.filter(id__gt=params.after_sequence).order_by("id")
    if params.kinds is not None:
        rows = rows.filter(kind__in=params.kinds)
    if params.agent_id is not None:
        caller.require_agent(params.agent_id)
        rows = rows.filter(agent_id=params.agent_id)
    elif caller.agent_ids is not None:
        rows = rows.filter(agent_id__in=caller.agent_ids)
    limit = min(max(params.limit, 1), 200)
    found = list(rows[: limit + 1])
    page = {
        "events": [
            {
                "sequence": event.id,
                "kind": event.kind,
                "agentId": event.agent_id,
                "subject": event.subject,
                "at": event.at.isoformat(),
                "actor": event.actor,
                "data": event.data,
            }
            for event in found[:limit]
        ]
    }
    if len(found) > limit:
        page["nextSequence"] = found[limit - 1].id  # type: ignore[assignment]
    return page
