"""The event ledger: what happened, in one order, for pages (Activity), for SSE and for apps above."""

from typing import Any

from gateway.callers import Caller
from gateway.models import LedgerEvent


def publish(
    kind: str,
    *,
    agent_id: str = "",
    subject: str = "",
    data: dict[str, Any] | None = None,
    caller: Caller | None = None,
) -> LedgerEvent:
    """Appends one event and returns it with its sequence number (`id`, ascending).

    `kind` is `<noun>.<past participle>` (`archive.written`); `subject` is the object's id or path;
    `data` holds small JSON-able facts. Readers learn of it within about a second (`gateway.stream`).
    """
    return LedgerEvent.objects.create(
        kind=kind,
        agent_id=agent_id[:128],
        subject=subject[:300],
        actor=caller.label[:200] if caller else "",
        data=data or {},
    )
