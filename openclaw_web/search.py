"""One search box over everything: each app finds its own, here they stand together."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agents.roster import load_roster

FOUND = 8  # of each kind


@dataclass(frozen=True)
class Hit:
    """One thing that was found. `excerpt` is plain text around the words."""

    title: str
    url: str
    excerpt: str = ""
    at: datetime | None = None
    agent_id: str = ""


@dataclass(frozen=True)
class Group:
    title: str | Promise
    icon: str
    hits: list[Hit]
    more_url: str = ""


Finder = Callable[[str, str | None], list[Hit]]


def _agents(query: str, agent_id: str | None) -> list[Hit]:
    wanted = query.casefold()
    return [
        Hit(agent.name, reverse("agents:agent", args=[agent.id]), str(agent.workspace), agent_id=agent.id)
        for agent in load_roster().agents
        if (agent_id in (None, agent.id))
        and (wanted in agent.id.casefold() or wanted in agent.name.casefold())
    ]


# (heading, icon, finder), in the order of the rail; an app joins with a line here.
FINDERS: tuple[tuple[str | Promise, str, Finder], ...] = ((_("Agents"), "bot", _agents),)


def search_everywhere(query: str, agent_id: str | None) -> list[Group]:
    """What every app finds for `query` within `agent_id` (None: every agent); empty groups are left out."""
    groups = [Group(title, icon, finder(query, agent_id)[:FOUND]) for title, icon, finder in FINDERS]
    return [group for group in groups if group.hits]
