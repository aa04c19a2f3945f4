"""The rules of an agent's Workshop: `skills.workshop.*` of openclaw.json (contract §5) and our own desk rules.

Changes of the file are effective at the next call. A value that is not valid keeps the last good one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.config import ConfigProblem, Mark, mark_of, read_config
from agents.roster import config_path
from openclaw_web.prepared import Prepared
from workshop.models import AgentDesk

DEFAULT_MAX_PENDING, MAX_PENDING_CEILING = 50, 200
DEFAULT_MAX_SKILL_BYTES, MIN_SKILL_BYTES, MAX_SKILL_BYTES_CEILING = 40_000, 1024, 200_000
MAX_DESCRIPTION_BYTES = 160
AUTONOMOUS_MAX_CHARACTERS = 10_000
PENDING, AUTO = "pending", "auto"
MODES = ("off", "propose", "auto")


@dataclass(frozen=True, slots=True)
class Rules:
    """`approval_policy` is about agents only: `pending` leaves apply, reject and quarantine to people.

    Decided: without a word in openclaw.json it is `pending`, where the peer's default is `auto`.
    """

    max_pending: int = DEFAULT_MAX_PENDING
    max_skill_bytes: int = DEFAULT_MAX_SKILL_BYTES
    approval_policy: str = PENDING
    mode: str = "auto"
    two_person: bool = False


_OWN_RULES = Prepared(
    lambda agent_id: AgentDesk.objects.filter(pk=agent_id).values_list("approval_policy", "two_person"), 1
)
_kept: dict[Path, tuple[tuple[Mark, ...], Rules]] = {}


def _number(value: Any, low: int, high: int, otherwise: int) -> int:
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return min(max(value, low), high) if valid else otherwise


def rules_from(section: dict[str, Any], last: Rules) -> Rules:
    """Read the `skills.workshop` section; `last` gives what stands in for an invalid value."""
    autonomous = section.get("autonomous")
    mode = autonomous.get("mode", "auto") if isinstance(autonomous, dict) else "auto"
    policy = section.get("approvalPolicy", PENDING)
    return Rules(
        max_pending=_number(section["maxPending"], 1, MAX_PENDING_CEILING, last.max_pending)
        if "maxPending" in section
        else DEFAULT_MAX_PENDING,
        max_skill_bytes=_number(
            section["maxSkillBytes"], MIN_SKILL_BYTES, MAX_SKILL_BYTES_CEILING, last.max_skill_bytes
        )
        if "maxSkillBytes" in section
        else DEFAULT_MAX_SKILL_BYTES,
        approval_policy=policy if policy in (PENDING, AUTO) else last.approval_policy,
        mode=mode if mode in MODES else last.mode,
    )


def shared_rules() -> Rules:
    """What openclaw.json says for all agents, read again only when one of its files changed."""
    path = config_path()
    kept = _kept.get(path)
    if kept and all(mark_of(mark[0]) == mark for mark in kept[0]):
        return kept[1]
    last = kept[1] if kept else Rules()
    try:
        config = read_config(path)
        skills = config.data.get("skills")
        section = skills.get("workshop") if isinstance(skills, dict) else None
        rules = rules_from(section if isinstance(section, dict) else {}, last)
        marks = config.marks
    except ConfigProblem as problem:
        rules, marks = (last if problem.code != "missing" else Rules()), problem.marks
    _kept[path] = (marks, rules)
    return rules


def rules_of(agent_id: str) -> Rules:
    """The rules for one agent."""
    shared = shared_rules()
    stored = _OWN_RULES.first_row(agent_id)
    if stored is None:
        return shared
    approval_policy, two_person = stored
    return Rules(
        max_pending=shared.max_pending,
        max_skill_bytes=shared.max_skill_bytes,
        approval_policy=approval_policy or shared.approval_policy,
        mode=shared.mode,
        two_person=bool(two_person),
    )
