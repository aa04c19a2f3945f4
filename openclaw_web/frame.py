"""What every page's frame shows: rail, agent switch, background health."""

from typing import Any

from django.http import HttpRequest

from gateway.callers import role_of


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context for templates/base.html; nothing at all for a stranger."""
    role = role_of(getattr(request, "user", None))
    return {"role": role, "agent_id": getattr(request, "agent_id", "")} if role else {}
