"""One search box over everything: each app finds its own, here they stand together."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agents.roster import load_roster
from archives import queries as archives
from gateway.callers import Caller
from longrun.models import LongTask
from plans import queries as plans
from workshop.queries import desk as proposals
from workshop.queries import skills

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


Finder = Callable[[str, str | None, Caller], list[Hit]]


def _plans(query: str, agent_id: str | None, caller: Caller) -> list[Hit]:
    rows = plans.list_plans(agent_id=agent_id, text=query)[:FOUND]
    return [
        Hit(str(row), row.get_absolute_url(), row.get_state_display(), row.state_at, row.agent_id)
        for row in rows
    ]


def _proposals(query: str, agent_id: str | None, caller: Caller) -> list[Hit]:
    rows = proposals.find(agent_id, text=query)[:FOUND]
    return [
        Hit(
            row.title,
            reverse("workshop:proposal", args=[row.pk]),
            f"{row.get_status_display()} · {row.description}",
            row.created_at,
            row.agent_id,
        )
        for row in rows
    ]


def _skills(query: str, agent_id: str | None, caller: Caller) -> list[Hit]:
    wanted = query.casefold()
    return [
        Hit(
            row.skill.name,
            reverse("workshop:skill", args=[row.desk.id, row.skill.dir]),
            row.skill.description,
            row.changed_at,
            row.desk.id,
        )
        for row in skills.collection(caller, agent_id).skills
        if wanted in f"{row.skill.name} {row.skill.key} {row.skill.description}".casefold()
    ]


def _archived(query: str, agent_id: str | None, caller: Caller) -> list[Hit]:
    page = archives.search_files(archives.Filter(agent_id=agent_id or "", query=query), limit=FOUND)
    return [
        Hit(
            row.name,
            reverse("archives:file", args=[row.workspace.agent_id, row.path.archive_id, row.path.subpath]),
            str(row.path),
            row.modified_at,
            row.workspace.agent_id,
        )
        for row in page.rows
    ]


def _tasks(query: str, agent_id: str | None, caller: Caller) -> list[Hit]:
    rows = LongTask.objects.of_agent(agent_id or "").filter(
        Q(name__icontains=query) | Q(goal__icontains=query)
    )
    return [
        Hit(
            row.name,
            reverse("longrun:task", args=[row.pk]),
            f"{row.get_state_display()} · {row.goal}",
            row.updated_at,
            row.agent_id,
        )
        for row in rows.order_by("-updated_at")[:FOUND]
    ]


def _agents(query: str, agent_id: str | None, caller: Caller) -> list[Hit]:
    wanted = query.casefold()
    return [
        Hit(agent.name, reverse("agents:agent", args=[agent.id]), str(agent.workspace), agent_id=agent.id)
        for agent in load_roster().agents
        if (agent_id in (None, agent.id))
        and (wanted in agent.id.casefold() or wanted in agent.name.casefold())
    ]


# (heading, icon, finder), in the order of the rail; an app joins with a line here.
FINDERS: tuple[tuple[str | Promise, str, Finder], ...] = (
    (_("Plans"), "clipboard-check", _plans),
    (_("Skills"), "book-open", _skills),
    (_("Skill proposals"), "hammer", _proposals),
    (_("Archived files"), "archive", _archived),
    (_("Tasks"), "timer", _tasks),
    (_("Agents"), "bot", _agents),
)


def search_everywhere(query: str, agent_id: str | None, caller: Caller) -> list[Group]:
    """What every app finds for `query` within `agent_id` (None: every agent); empty groups are left out."""
    groups = [Group(title, icon, finder(query, agent_id, caller)[:FOUND]) for title, icon, finder in FINDERS]
    return [group for group in groups if group.hits]
