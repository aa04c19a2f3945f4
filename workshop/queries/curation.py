"""The curator's page: use, overlaps, limits, reviews and learning. Writes nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count

from agents.roster import Agent
from gateway.callers import Caller
from gateway.models import Delivery
from workshop.config import Rules, shared_rules
from workshop.models import AgentDesk, CollectionReview, LearningSession, Proposal
from workshop.queries.desk import visible_agents
from workshop.queries.reviews import LastTry, ReviewLine, last_try, review_lines, review_status
from workshop.queries.skills import Collection, SkillRow, collection

ALIKE = 0.5
MAX_OVERLAPS = 50
MAX_REVIEWS = 20
_WORD = re.compile(r"[a-z0-9]{3,}|[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]{2}")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two skills of one agent whose names and descriptions say nearly the same. `share` is from 0 to 1."""

    left: SkillRow
    right: SkillRow
    share: float


@dataclass(frozen=True, slots=True)
class AgentLine:
    """One agent's limits and rules; `stored` is what the dashboard keeps beside openclaw.json."""

    agent: Agent
    rules: Rules
    stored: AgentDesk | None
    pending: int
    quarantined: int
    skills: int

    @property
    def counted(self) -> int:
        return self.pending + self.quarantined


@dataclass(frozen=True, slots=True)
class Curation:
    """`used` first by last use, then what has no recorded use."""

    collection: Collection
    used: list[SkillRow]
    overlaps: list[Overlap]
    lines: list[AgentLine]
    reviews: list[CollectionReview] = field(default_factory=list)
    last: LastTry = field(default_factory=LastTry)
    states: list[ReviewLine] = field(default_factory=list)
    sessions: list[tuple[LearningSession, Delivery | None]] = field(default_factory=list)


def curation(caller: Caller, agent_id: str | None) -> Curation:
    """Everything the page shows, in a fixed number of queries."""
    found = collection(caller, agent_id)
    agents = visible_agents(caller, agent_id)
    ids = [agent.id for agent in agents]
    sessions = list(LearningSession.objects.filter(agent_id__in=ids)[:10])
    status = review_status()
    ledger = Delivery.objects.in_bulk([item.delivery_id for item in sessions if item.delivery_id])
    return Curation(
        collection=found,
        used=sorted(found.skills, key=_by_use),
        overlaps=overlaps(found.skills),
        lines=_lines(agents, found.skills),
        reviews=list(CollectionReview.objects.filter(owner_agent_id__in=ids)[:MAX_REVIEWS]),
        last=last_try(status) if agent_id is None else LastTry(),
        states=[line for line in review_lines(status, agents) if line.agent or agent_id is None][
            :MAX_REVIEWS
        ],
        sessions=[(item, ledger.get(item.delivery_id or 0)) for item in sessions],
    )


def _by_use(row: SkillRow) -> tuple[bool, float, str]:
    last = row.last_used_at.timestamp() if row.last_used_at else 0.0
    return (row.last_used_at is None, -last, row.skill.name)


def _lines(agents: Iterable[Agent], skills: Iterable[SkillRow]) -> list[AgentLine]:
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    rows = Proposal.objects.counted().order_by().values_list("agent_id", "status").annotate(n=Count("pk"))
    for owner, status, number in rows:
        counts[owner][status] = number
    stored = AgentDesk.objects.in_bulk()
    shared = shared_rules()
    members: dict[str, int] = defaultdict(int)
    for row in skills:
        members[row.desk.id] += 1
    return [
        AgentLine(
            agent,
            shared,
            stored.get(agent.id),
            counts[agent.id].get("pending", 0),
            counts[agent.id].get("quarantined", 0),
            members[agent.id],
        )
        for agent in agents
    ]


def overlaps(skills: Iterable[SkillRow]) -> list[Overlap]:
    """Pairs of one agent's skills that share at least half of their words, the most alike first.

    Only skills with a word in common are compared, and words of more than 40 skills tell nothing apart.
    """
    found: list[Overlap] = []
    by_agent: dict[str, list[SkillRow]] = defaultdict(list)
    for row in skills:
        by_agent[row.desk.id].append(row)
    for rows in by_agent.values():
        bags = [_words(f"{row.skill.name} {row.skill.description}") for row in rows]
        holders: dict[str, list[int]] = defaultdict(list)
        for at, bag in enumerate(bags):
            for word in bag:
                holders[word].append(at)
        pairs = {
            (i, j)
            for at in holders.values()
            if len(at) <= 40
            for place, i in enumerate(at)
            for j in at[place + 1 :]
        }
        for i, j in pairs:
            share = len(bags[i] & bags[j]) / len(bags[i] | bags[j])
            if share >= ALIKE:
                found.append(Overlap(rows[i], rows[j], share))
    found.sort(key=lambda item: (-item.share, item.left.skill.name, item.right.skill.name))
    return found[:MAX_OVERLAPS]


def _words(text: str) -> frozenset[str]:
    lower: Any = text.lower()
    words = set(_WORD.findall(lower))
    # Han text has no spaces: every two neighbouring characters count as a word.
    for run in re.findall(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+", lower):
        words |= {run[at : at + 2] for at in range(len(run) - 1)}
    return frozenset(words)
