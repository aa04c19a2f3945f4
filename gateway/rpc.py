"""Methods of the gateway itself: health, the event ledger, and the delivery ledger."""

from typing import Any, Literal

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field

from gateway.callers import Caller
from gateway.deliveries import DeliveryError, acknowledge, fetch_inbox, report_attempt
from gateway.models import Delivery, LedgerEvent
from gateway.registry import READ, WRITE, Params, method


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


class ListParams(Params):
    session_key: str = Field("", max_length=512)
    agent_id: str = Field("", max_length=128)
    subject: str = Field("", max_length=300)
    open_only: bool = False
    limit: int = Field(50, ge=1, le=200)


class InboxParams(Params):
    session_key: str = Field(min_length=1, max_length=512)
    agent_id: str = Field("", max_length=128)
    limit: int = Field(20, ge=1, le=100)


class AcknowledgeParams(Params):
    ids: list[int] = Field(min_length=1, max_length=100)


class ReportParams(Params):
    id: int
    outcome: Literal["delivered", "failed", "unknown"]
    error: str = Field("", max_length=2000)


@method("deliveries.list", params=ListParams, scope=READ)
def list_deliveries(params: ListParams, caller: Caller) -> dict[str, Any]:
    """Messages to sessions, newest first, each with its three truths."""
    rows = Delivery.objects.all()
    if params.open_only:
        rows = rows.open()
    if caller.agent_ids is not None:
        rows = rows.filter(agent_id__in=caller.agent_ids)
    wanted = {"session_key": params.session_key, "agent_id": params.agent_id, "subject": params.subject}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value})
    return {"deliveries": [as_payload(row) for row in rows[: params.limit]]}


@method("deliveries.inbox", params=InboxParams, scope=WRITE)
def inbox(params: InboxParams, caller: Caller) -> dict[str, Any]:
    """What lies in a session's inbox, oldest first; it stays there until it is acknowledged."""
    agent_id = params.agent_id or _agent_of(params.session_key)
    found = fetch_inbox(params.session_key, caller=caller, agent_id=agent_id, limit=params.limit)
    return {"sessionKey": params.session_key, "messages": [as_payload(row) for row in found]}


@method("deliveries.acknowledge", params=AcknowledgeParams, scope=WRITE)
def acknowledge_deliveries(params: AcknowledgeParams, caller: Caller) -> dict[str, Any]:
    """The session has these messages; also late, when their outcome was unknown."""
    return {"deliveries": [as_payload(acknowledge(_find(pk, caller), caller=caller)) for pk in params.ids]}


@method("deliveries.report", params=ReportParams, scope=WRITE)
def report(params: ReportParams, caller: Caller) -> dict[str, Any]:
    """An agent's own try to send a message, with its outcome and reason."""
    delivery = _find(params.id, caller)
    return as_payload(report_attempt(delivery, outcome=params.outcome, error=params.error, caller=caller))


def as_payload(delivery: Delivery) -> dict[str, Any]:
    """A message on the wire: instants in ISO 8601 or null, `outcome` null where nothing was attempted."""

    def instant(value: Any) -> str | None:
        return value.isoformat() if value else None

    return {
        "id": delivery.pk,
        "agentId": delivery.agent_id,
        "sessionKey": delivery.session_key,
        "purpose": delivery.purpose,
        "subject": delivery.subject,
        "message": delivery.text,
        "dedupeKey": delivery.dedupe_key,
        "generatedAt": instant(delivery.generated_at),
        "attemptedAt": instant(delivery.attempted_at),
        "receivedAt": instant(delivery.received_at),
        "outcome": delivery.outcome or None,
        "attempts": delivery.attempt_count,
        "error": delivery.error or None,
        "transport": delivery.transport or None,
    }


def _find(pk: int, caller: Caller) -> Delivery:
    delivery = Delivery.objects.filter(pk=pk).first()
    if delivery is None or not caller.allows_agent(delivery.agent_id):
        # One answer for both: a stranger must not learn which numbers exist.
        raise DeliveryError(_("There is no message %(id)s for you.") % {"id": pk}, code="DELIVERY_UNKNOWN")
    return delivery


def _agent_of(session_key: str) -> str:
    parts = session_key.split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" else ""
