"""Findings, and what every check is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from agents.roster import Agent, load_roster
from gateway.callers import system_caller
from openclaw_web.paths import state_dir
from workshop import live
from workshop.desks import Desk
from workshop.ledger import Author


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` says what `--fix` does (empty: a person has to); `done` that it was done in this run."""

    code: str
    sentence: str
    path: str = ""
    agent_id: str = ""
    fix: str = ""
    done: bool = False


@dataclass(slots=True)
class Report:
    findings: list[Finding] = field(default_factory=list)

    @property
    def open(self) -> list[Finding]:
        """What is left after this run."""
        return [finding for finding in self.findings if not finding.done]


@dataclass(slots=True)
class Ward:
    """The state folder, its agents, whether to mend, and the report that grows."""

    fix: bool
    state: Path = field(default_factory=state_dir)
    agents: tuple[Agent, ...] = field(default_factory=lambda: load_roster().agents)
    report: Report = field(default_factory=Report)
    author: Author = field(default_factory=lambda: Author(system_caller("workshop doctor")))

    def desk(self, agent_id: str) -> Desk | None:
        agent = next((agent for agent in self.agents if agent.id == agent_id), None)
        return Desk(agent, self.state) if agent else None

    def note(
        self, code: str, sentence: str, path: Path | str = "", *, agent_id: str = "", fix: str = ""
    ) -> bool:
        """Report a finding. Returns whether it is to be mended now; it then counts as done."""
        mend = self.fix and bool(fix)
        self.report.findings.append(Finding(code, sentence, str(path), agent_id, fix, mend))
        return mend

    def failed(self, sentence: str) -> None:
        """The last finding could not be mended after all."""
        last = self.report.findings.pop()
        self.report.findings.append(
            Finding(last.code, f"{last.sentence} {sentence}", last.path, last.agent_id, "", False)
        )

    def owners_of(self, folder: Path) -> list[str]:
        """Agents in whose workspace or Workshop a folder lies."""
        return sorted(
            agent.id
            for agent in self.agents
            if any(
                folder.is_relative_to(root) for root in (agent.workspace, live.skills_root(agent.agent_dir))
            )
        )
