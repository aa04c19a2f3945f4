"""Entry points for Django-Q."""

from gateway.retention import forget_old
from gateway.schedules import repeat

repeat("gateway.forget_old", "gateway.tasks.forget", minutes=60)


def forget() -> dict[str, int]:
    """Deletes what is older than its time; safe to run twice."""
    return forget_old()
