"""The agents there are: from openclaw.json, from the dashboard, or from the last time the file could be read.

What is read from disk is kept per process until one of the files (or variables) it came from changes; asking
costs a few `stat` calls and one query.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from django.utils.translation import gettext as _

from agents.config import ConfigProblem, Mark, mark_of, read_config
from agents.entries import Agent, Listing, Oddity, list_agents
from agents.errors import AgentsError
from agents.keeping import follow_roster, keep_roster, listing_of
from agents.models import GoodRoster, MadeAgent
from agents.variables import Variables
from openclaw_web.paths import config_path, state_dir
from openclaw_web.prepared import Prepared

__all__ = ["Agent", "Roster", "config_path", "forget_roster", "get_agent", "load_roster", "sync_workspaces"]


@dataclass(frozen=True)
class Roster:
    """All agents, in the order of openclaw.json, then those made in the dashboard.

    `error` is set where the file could not be read just now; `agents` are then those of `read_at`, the last
    time it could (None: never). `hidden` are agents of the dashboard that one of the file goes before.
    """

    agents: tuple[Agent, ...]
    default_id: str
    selection_required: bool
    ownership: str
    source: Path
    error: ConfigProblem | None = None
    read_at: datetime | None = None
    session_scope: str = "per-sender"
    oddities: tuple[Oddity, ...] = ()
    hidden: tuple[str, ...] = ()

    def find(self, agent_id: str) -> Agent | None:
        return next((agent for agent in self.agents if agent.id == agent_id), None)


@dataclass(frozen=True)
class _Reading:
    """What one look at openclaw.json gave, and what must be unchanged for it to hold."""

    listing: Listing | None
    problem: ConfigProblem | None
    marks: tuple[Mark, ...]
    variables: dict[str, str | None]
    read_at: datetime

    def still_holds(self) -> bool:
        return all(mark_of(mark[0]) == mark for mark in self.marks) and all(
            (os.environ.get(name) or None) == value for name, value in self.variables.items()
        )


_MADE = Prepared(lambda: MadeAgent.objects.values_list("agent_id", "name", "workspace", "description"))
_readings: dict[Path, _Reading] = {}
_lock = threading.Lock()


def load_roster() -> Roster:
    """Who the agents are now. Never raises for what the file holds: see `Roster.error`."""
    reading, is_new = _current_reading()
    source = config_path()
    if reading.listing is not None:
        if is_new:
            keep_roster(source, reading.listing, reading.read_at)
        listing = reading.listing
        read_at: datetime | None = reading.read_at
    else:
        listing, read_at = _fallback(source, reading.problem)
    roster = _with_made_agents(
        Roster(
            agents=listing.agents,
            default_id=listing.default_id,
            selection_required=listing.selection_required,
            ownership=listing.ownership,
            source=source,
            error=None
            if reading.listing is not None or _is_simply_absent(reading, read_at)
            else reading.problem,
            read_at=read_at,
            session_scope=listing.session_scope,
            oddities=listing.oddities,
        )
    )
    if is_new:
        follow_roster(roster.agents)
    return roster


def get_agent(agent_id: str) -> Agent:
    """One agent by its id. Raises AgentsError `unknown_agent`."""
    agent = load_roster().find(agent_id)
    if agent is None:
        raise AgentsError(
            _("There is no agent “%(agent)s”.") % {"agent": agent_id},
            code="unknown_agent",
            details={"agentId": agent_id},
        )
    return agent


def sync_workspaces() -> int:
    """Tells the archives where every agent works, now; returns how many workspaces they know."""
    return follow_roster(load_roster().agents)


def forget_roster() -> None:
    """Reads openclaw.json afresh at the next call, whatever its dates say."""
    with _lock:
        _readings.clear()


def _current_reading() -> tuple[_Reading, bool]:
    source = config_path()
    with _lock:
        known = _readings.get(source)
        if known is not None and known.still_holds():
            return known, False
        reading = _read(source)
        _readings[source] = reading
        return reading, True


def _read(source: Path) -> _Reading:
    variables = Variables(state_dir(), os.environ)
    env_file = mark_of(state_dir() / ".env")
    now = datetime.now(UTC)
    try:
        config = read_config(source)
    except ConfigProblem as problem:
        return _Reading(None, problem, problem.marks, {}, now)
    inline = config.data.get("env")
    variables.config = inline if isinstance(inline, dict) else {}
    listing = list_agents(config.data, variables)
    return _Reading(listing, None, (*config.marks, env_file), dict(variables.used), now)


def _fallback(source: Path, problem: ConfigProblem | None) -> tuple[Listing, datetime | None]:
    """The last good roster; without one, OpenClaw's own `main` where it has left traces and no file."""
    kept = GoodRoster.objects.filter(source=str(source)).first()
    if kept is not None:
        return listing_of(kept), kept.read_at
    root = state_dir()
    if problem is not None and problem.code == "missing":
        if (root / "workspace").is_dir() or (root / "agents" / "main").is_dir():
            return list_agents({}, Variables(root, os.environ)), None
    return Listing(agents=(), ownership="sole", default_id="", selection_required=False), None


def _is_simply_absent(reading: _Reading, read_at: datetime | None) -> bool:
    """No file and never one before: nothing is wrong, OpenClaw just has not been set up here."""
    return reading.problem is not None and reading.problem.code == "missing" and read_at is None


def _with_made_agents(roster: Roster) -> Roster:
    root = state_dir()
    # Nobody names a zone for them: they share the one that openclaw.json gives to all its agents.
    zone = next((agent.zone for agent in roster.agents), "")
    named = {agent.id for agent in roster.agents if agent.source != "implicit"}
    made = [
        Agent(
            id=agent_id,
            name=name,
            workspace=Path(workspace),
            agent_dir=root / "agents" / agent_id / "agent",
            source="dashboard",
            description=description,
            zone=zone,
        )
        for agent_id, name, workspace, description in _MADE.rows()
    ]
    if not made:
        return roster
    fresh = [agent for agent in made if agent.id not in named]
    fresh_ids = {agent.id for agent in fresh}
    agents = (*(agent for agent in roster.agents if agent.id not in fresh_ids), *fresh)
    return replace(
        roster,
        agents=agents,
        default_id=roster.default_id or agents[0].id,
        selection_required=roster.selection_required or len(agents) > 1,
        ownership=roster.ownership if len(agents) == 1 else "explicit" if fresh else roster.ownership,
        hidden=tuple(agent.id for agent in made if agent.id in named),
    )
