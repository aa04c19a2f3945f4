"""Entry points for Django-Q."""

from agents.roster import sync_workspaces


def follow_roster() -> int:
    """Keeps the archives' roots in step with the roster; every minute, so that no page need be opened for it."""
    return sync_workspaces()
