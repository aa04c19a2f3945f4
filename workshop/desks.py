"""Whose desk a call is about: the agent, its folders and its rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.utils.translation import gettext as _

from agents.errors import AgentsError
from agents.roster import Agent, get_agent, load_roster
from gateway.callers import Caller
from openclaw_web.paths import state_dir
from openclaw_web.prepared import Prepared
from workshop import live, locks, sentences
from workshop.config import Rules, rules_of
from workshop.models import Proposal
from workshop.names import is_proposal_id, trim

_PROPOSAL = Prepared(lambda pk, agent_id: Proposal.objects.filter(pk=pk, agent_id=agent_id).order_by(), 2)


@dataclass(frozen=True)
class Desk:
    """One agent's Workshop. `root` is its `workshop-skills` folder, `state` the state folder."""

    agent: Agent
    state: Path

    @property
    def id(self) -> str:
        return self.agent.id

    @property
    def root(self) -> Path:
        return live.skills_root(self.agent.agent_dir)

    @cached_property
    def rules(self) -> Rules:
        """As they are when first asked for: a desk lives for one call."""
        return rules_of(self.agent.id)

    def skill_path(self, proposal: Proposal) -> str:
        return f"{proposal.legacy_dir or f'{self.root}/{proposal.target_dir}'}/SKILL.md"


def open_desk(agent_id: str | None, caller: Caller) -> Desk:
    """The desk of an agent. None is allowed while there is exactly one agent (contract §2.0).

    Raises WorkshopError `agent-not-selected` or `unknown-agent`; GatewayError when the caller's token is for
    other agents.
    """
    if agent_id is None:
        agents = load_roster().agents
        if len(agents) != 1:
            raise sentences.refuse(
                "agent-not-selected",
                _("There are several agents here (or none): say which one with agentId."),
            )
        agent = agents[0]
    else:
        try:
            agent = get_agent(trim(agent_id).lower())
        except AgentsError as error:
            raise sentences.refuse("unknown-agent", error.message) from error
    caller.require_agent(agent.id)
    return Desk(agent, state_dir())


def load_proposal(desk: Desk, proposal_id: str) -> Proposal:
    """One proposal of this agent; another agent's is not found. Raises WorkshopError `not-found`."""
    found = None
    if is_proposal_id(proposal_id):
        found = _PROPOSAL.first(proposal_id, desk.id)
    if found is None:
        raise sentences.not_found()
    return found


@contextmanager
def target_lock(desk: Desk, target_dir: str, *, wait: float = locks.WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of a live skill. Raises WorkshopError `busy` (retryable)."""
    name = locks.lock_name(desk.id, target_dir)
    try:
        with locks.hold(desk.state, name, wait=wait):
            yield
    except locks.LockBusy as error:
        raise sentences.busy() from error
