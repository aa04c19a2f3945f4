"""What waits for a person, gathered from every app that has something to say.

The list of sources is written out: an app joins by having `waiting` and `waiting_count` in its queries
and a line here.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from agents.queries import agent_choices
from gateway.waiting import Waiting
from longrun import queries as longrun
from plans import queries as plans
from workshop import queries as workshop

__all__ = ["Inbox", "Section", "Source", "agent_choices", "load_inbox", "waiting_counts"]
LINES = 12  # of each source on the home page; the rest is one click away


class Queries(Protocol):
    """What an app's `queries` module offers the Inbox."""

    def waiting(self, agent_id: str | None, limit: int) -> list[Waiting]: ...

    def waiting_count(self, agent_id: str | None) -> int: ...


@dataclass(frozen=True)
class Source:
    """`path` is the room in the rail that shows all of it."""

    path: str
    title: str | Promise
    queries: Queries


SOURCES: tuple[Source, ...] = (
    Source("tasks/", gettext_lazy("Long tasks that need you"), longrun),
    Source("plans/", gettext_lazy("Plans and runs"), plans),
    Source("workshop/", gettext_lazy("Skill proposals"), workshop),
)


@dataclass(frozen=True)
class Section:
    """One heading of the Inbox. `more`: not all of its `total` stand on the page."""

    title: str | Promise
    path: str
    total: int
    lines: list[Waiting] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True)
class Inbox:
    """Everything that waits. `urgent` lines stand first, whatever their source."""

    total: int
    urgent: list[Waiting]
    sections: list[Section]

    @property
    def lines(self) -> list[Waiting]:
        return [*self.urgent, *(line for section in self.sections for line in section.lines)]

    @property
    def digest(self) -> str:
        """Changes when anything on the page would; an open page asks with it whether it is still right."""
        told = repr([(line.url, line.word, line.title, line.why) for line in self.lines]) + str(self.total)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def load_inbox(agent_id: str | None) -> Inbox:
    """What waits for the people who look at `agent_id` (None: every agent), oldest first."""
    urgent: list[Waiting] = []
    sections = []
    total = 0
    for source in SOURCES:
        count = source.queries.waiting_count(agent_id)
        total += count
        if not count:
            continue
        lines = source.queries.waiting(agent_id, LINES)
        urgent += [line for line in lines if line.urgent]
        calm = [line for line in lines if not line.urgent]
        if calm:
            sections.append(Section(source.title, source.path, count, calm, count > len(lines)))
    return Inbox(total, sorted(urgent, key=lambda line: line.at), sections)


def waiting_counts(agent_id: str | None) -> dict[str, int]:
    """How much waits, by the path of the room in the rail; the Inbox itself (an empty path) has the sum."""
    counts = {source.path: source.queries.waiting_count(agent_id) for source in SOURCES}
    return counts | {"": sum(counts.values())}
