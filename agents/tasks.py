"""Entry points for Django-Q."""

from agents.roster import sync_workspaces
from gateway.schedules import repeat

# So that no page need be opened before the archives of a new agent are found.
repeat("agents.follow_roster", "agents.tasks.follow_roster", minutes=1)


def follow_roster() -> int:
    """Keeps the archives' roots in step with the roster; returns how many there are."""
    return sync_workspaces()
