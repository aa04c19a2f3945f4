"""What waits for a person, gathered from every app that has something to say.

The list of sources is written out: an app joins by having `waiting` and `waiting_count` in its queries
and a line here.
"""

from dataclasses import dataclass, field

from agents import queries as agents
from gateway.waiting import Waiting

# (path in the rail, heading, queries module), in the order of the page
SOURCES: tuple = ()


@dataclass(frozen=True)
class Section:
    """One heading of the Inbox. `total` may be more than the `lines` that are shown."""

    title: str
    url: str
    total: int
    lines: list[Waiting] = field(default_factory=list)


def waiting_counts(agent_id: str | None) -> dict[str, int]:
    """How much waits, by the path of the room in the rail; the Inbox itself (``""``) has the sum."""
    counts = {path: queries.waiting_count(agent_id) for path, _title, queries in SOURCES}
    return counts | {"": sum(counts.values())}


def agent_choices() -> list[tuple[str, str]]:
    """`(id, name)` of every agent that the switch offers."""
    return agents.agent_choices()
