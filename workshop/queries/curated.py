"""`skills.curator.status` (contract §2.9): live skills over all agents by file, with their use and age.

What can only change with the disk or the ledger is kept per agent, each entry with its JSON, so that a call costs
the look at the disk, the use counts, and the joining of texts.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from django.db.models import Min

from agents.roster import load_roster
from gateway.callers import Caller
from gateway.registry import Encoded
from openclaw_web.paths import state_dir
from openclaw_web.prepared import Prepared
from workshop import live, sentences
from workshop.desks import Desk
from workshop.errors import FileProblem
from workshop.hashes import js_string
from workshop.ledger import position
from workshop.locks import lock_name
from workshop.models import Proposal, SkillUsage
from workshop.names import utf8
from workshop.queries.reviews import review_status

_USES = Prepared(
    lambda: SkillUsage.objects.order_by().values_list("skill_file", "last_used_at_ms", "use_count")
)


@dataclass(frozen=True, slots=True)
class _Line:
    """One skill without its use; `canonical` is the path that uses are recorded under."""

    file: str
    canonical: str
    entry: dict[str, Any]
    text: bytes

    @property
    def is_dated(self) -> bool:
        return self.entry["createdAtMs"] is not None


@dataclass(frozen=True, slots=True)
class _Kept:
    position: tuple[int, int]
    inventory: live.Inventory
    lines: list[_Line]


_kept: dict[tuple[str, str], _Kept] = {}
_guard = threading.Lock()


def curator_status(caller: Caller, *, live_inventory: bool) -> Encoded:
    """All skills of the agents that the caller may see.

    `live_inventory`: the caller declared `skill-curator-live-inventory`; without it only skills with a known
    creation date are listed and counted.
    """
    now = position()
    desks = [Desk(agent, state_dir()) for agent in load_roster().agents if caller.allows_agent(agent.id)]
    lines = [line for desk in desks for line in _lines(desk, now) if live_inventory or line.is_dated]
    lines.sort(key=lambda line: line.file)
    uses = {file: (last, count) for file, last, count in _USES.rows()}
    skills, texts = [], []
    for line in lines:
        used = uses.get(line.canonical)
        entry = line.entry if used is None else {**line.entry, "lastUsedAtMs": used[0], "useCount": used[1]}
        skills.append(entry)
        texts.append(line.text if used is None else utf8(js_string(entry)))
    head: dict[str, Any] = {"inventory": "live-workshop"} if live_inventory else {}
    head |= {
        **review_status(),
        "counts": {"active": len(skills), "stale": 0, "archived": 0},
    }
    return Encoded(
        head | {"skills": skills, "overlaps": []},
        utf8(js_string(head))[:-1] + b',"skills":[',
        b",".join(texts),
        b'],"overlaps":[]}',
    )


def _lines(desk: Desk, now: tuple[int, int]) -> list[_Line]:
    try:
        inventory = live.read_inventory(desk.root)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    key = (str(desk.root), desk.id)
    kept = _kept.get(key)
    if kept is None or kept.position != now or kept.inventory is not inventory:
        kept = _Kept(now, inventory, _made(desk, inventory))
        with _guard:
            if len(_kept) > 256:
                _kept.clear()
            _kept[key] = kept
    return kept.lines


def _made(desk: Desk, inventory: live.Inventory) -> list[_Line]:
    root, canonical = str(desk.root), str(desk.root.resolve())
    created = created_at_ms([lock_name(desk.id, skill.dir) for skill in inventory.skills])
    lines = []
    for skill in inventory.skills:
        file = f"{root}/{skill.file}"
        entry = _entry(skill, file, created.get(lock_name(desk.id, skill.dir)))
        lines.append(_Line(file, f"{canonical}/{skill.file}", entry, utf8(js_string(entry))))
    return lines


def created_at_ms(target_hashes: list[str]) -> dict[str, int]:
    """When the earliest applied create of each target was applied: the only creation date that is known."""
    rows = (
        Proposal.objects.filter(
            target_hash__in=target_hashes, kind=Proposal.Kind.CREATE, status=Proposal.Status.APPLIED
        )
        .order_by()
        .values_list("target_hash")
        .annotate(first=Min("applied_at"))
    )
    return {target: round(first.timestamp() * 1000) for target, first in rows if first}


def _entry(skill: live.Skill, file: str, created: int | None) -> dict[str, Any]:
    return {
        "skillFile": file,
        "skillKey": skill.key,
        "skillName": skill.name,
        "createdAtMs": created,
        "state": "active",
        "pinned": False,
        "stateChangedAtMs": created,
        "lastUsedAtMs": None,
        "useCount": 0,
        "archivedReason": None,
    }
