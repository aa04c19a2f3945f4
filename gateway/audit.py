"""The audit trail: who decided what, from where, on which text, with which outcome. Append only."""

from typing import Any, Literal

from gateway.callers import Caller
from gateway.models import AuditEntry

Outcome = Literal["ok", "refused", "failed"]


def record(
    caller: Caller,
    action: str,
    *,
    subject: str = "",
    outcome: Outcome = "ok",
    agent_id: str = "",
    digest: str = "",
    reason: str = "",
    detail: dict[str, Any] | None = None,
) -> AuditEntry:
    """Appends one entry.

    `action` is `<noun>.<verb>` (`plan.confirm`); `subject` names the object; `digest` is the SHA-256
    of the text that was decided on; `detail` holds small JSON-able facts and never a secret.
    Source: spec/gateway.md §5.
    """
    return AuditEntry.objects.create(
        actor_kind=caller.kind,
        actor=caller.label[:200],
        address=caller.address,
        request_id=caller.request_id,
        action=action,
        subject=subject[:300],
        outcome=outcome,
        agent_id=agent_id[:128],
        digest=digest,
        reason=reason[:4000],
        detail=detail or {},
    )
