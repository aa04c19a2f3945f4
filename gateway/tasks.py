"""Entry points for Django-Q."""

from gateway.callers import system_caller
from gateway.deliveries import deliver_open
from gateway.retention import forget_old
from gateway.schedules import repeat

repeat("gateway.forget_old", "gateway.tasks.forget", minutes=60)
repeat("gateway.deliver", "gateway.tasks.deliver", minutes=1)


def forget() -> dict[str, int]:
    """Deletes what is older than its time; safe to run twice."""
    return forget_old()


def deliver() -> int:
    """Tries again what is still open in the delivery ledger."""
    return deliver_open(caller=system_caller("deliveries"))
