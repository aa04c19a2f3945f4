"""What pages and methods show about agents: words for files and faults, the switch's choices."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from agents.config import ConfigProblem
from agents.entries import Agent, Oddity
from agents.roster import Roster, load_roster
from agents.store import FILE_NAMES, MAX_BYTES, WorkspaceFile, list_files
from gateway.callers import Caller

# Read by the OpenClaw of the seeds; 2026.9 has retired both.
RETIRED_FILES = ("TOOLS.md", "HEARTBEAT.md")
PAGE = 24


@dataclass(frozen=True)
class AgentRow:
    """One line of the roster page."""

    agent: Agent
    present: int
    refused: int
    folder: str  # there | missing | not_a_folder | no_permission | unset

    @property
    def total(self) -> int:
        return len(FILE_NAMES)


@dataclass(frozen=True)
class Fault:
    """A broken configuration for a page: a sentence, the place, and the lines around it with a caret under it."""

    problem: ConfigProblem
    place: str
    lines: tuple[tuple[int, str, str], ...]


def agent_choices(caller: Caller | None = None) -> list[tuple[str, str]]:
    """`(id, name)` of every agent for a switch; with a caller, only those it may see."""
    return [
        (agent.id, agent.name)
        for agent in load_roster().agents
        if caller is None or caller.allows_agent(agent.id)
    ]


def agent_rows(roster: Roster, after: str = "") -> tuple[list[AgentRow], str]:
    """A page of agents behind the one with the id `after`, with what is in their workspaces; no file is opened.

    The second value is the `after` of the next page, empty at the end. An id that is gone begins anew.
    """
    ids = [agent.id for agent in roster.agents]
    start = ids.index(after) + 1 if after in ids else 0
    shown = roster.agents[start : start + PAGE]
    return [_row(agent) for agent in shown], shown[-1].id if start + PAGE < len(ids) else ""


def folder_state(agent: Agent, files: list[WorkspaceFile]) -> str:
    """`there`, or why the workspace cannot be looked into."""
    if agent.unset:
        return "unset"
    failed = next((file.reason for file in files if file.status == "failed"), "")
    if failed in ("not_a_folder", "no_permission"):
        return failed
    return "there" if agent.workspace.is_dir() else "missing"


def _row(agent: Agent) -> AgentRow:
    files = list_files(agent.workspace)
    return AgentRow(
        agent=agent,
        present=sum(file.status == "found" for file in files),
        refused=sum(file.status in ("refused", "failed") for file in files),
        folder=folder_state(agent, files),
    )


def fault_of(roster: Roster) -> Fault | None:
    """The roster's fault, ready to be shown; None where all is well."""
    problem = roster.error
    if problem is None:
        return None
    try:
        place = str(problem.path.relative_to(roster.source.parent))
    except ValueError:
        place = str(problem.path)
    lines = tuple(
        (number, text, _caret(text, problem.column) if number == problem.line else "")
        for number, text in problem.excerpt
    )
    return Fault(problem, place, lines)


def _caret(line: str, column: int) -> str:
    """Space as wide as what stands before the column, then the caret."""
    before = line[: column - 1]
    wide = {"W": "\u3000", "F": "\u3000"}
    return (
        "".join("\t" if c == "\t" else wide.get(unicodedata.east_asian_width(c), " ") for c in before) + "▲"
    )


def oddity_sentence(oddity: Oddity) -> str:
    """What was done about an odd entry of the configuration."""
    return {
        "bad_id": _("“%(entry)s” is left out: an id needs at least one letter a–z or digit."),
        "renamed": _(
            "“%(entry)s” is shown under its normal id; OpenClaw 2026.9 refuses to start with such a key."
        ),
        "duplicate": _("“%(entry)s” is left out: an earlier entry has the same id."),
        "not_an_object": _("“%(entry)s” is left out: an agent must be an object in braces."),
        "bad_zone": _(
            "“%(entry)s” (agents.defaults.userTimezone) is no time zone; the local time of this host is used."
        ),
        "too_many": _("Only the first 500 of %(entry)s agents are shown."),
    }[oddity.code] % {"entry": oddity.entry}


def file_purpose(name: str) -> str:
    """What a workspace file is for, in one sentence."""
    return {
        "AGENTS.md": _("How the agent works: its rules and habits."),
        "SOUL.md": _("The agent's soul: who it is, how it speaks, what it will not do."),
        "IDENTITY.md": _("Name, nature and sign of the agent."),
        "USER.md": _("Whom it helps, and what it knows about them."),
        "TOOLS.md": _("Notes on this environment: hosts, devices, conventions."),
        "HEARTBEAT.md": _("What it looks after when it wakes by itself."),
        "BOOTSTRAP.md": _("The first conversation of a new workspace; it removes the file afterwards."),
        "MEMORY.md": _("What it keeps in mind from one session to the next."),
    }[name]


def file_note(file: WorkspaceFile) -> str:
    """What a reader must know about this file before relying on it; empty where nothing."""
    if file.name == "SOUL.md":
        return _(
            "This is the agent's soul. Whoever changes it changes who the agent is; the agent and its people should know."
        )
    if file.name in RETIRED_FILES and file.status in ("found", "read"):
        return {
            "TOOLS.md": _(
                "OpenClaw 2026.1 reads this file. 2026.9 no longer does: there its content belongs into AGENTS.md, and `openclaw doctor --fix` moves it."
            ),
            "HEARTBEAT.md": _(
                "OpenClaw 2026.1 reads this file. 2026.9 no longer does: there heartbeats are automations, and `openclaw doctor --fix` moves it."
            ),
        }[file.name]
    return ""


def file_state(file: WorkspaceFile) -> tuple[str, str, str]:
    """`(tone, word, sentence)` for a file that was looked at or read."""
    if file.status == "read":
        return "ok", _("read"), ""
    if file.status == "found":
        return "ok", _("there"), ""
    if file.status == "missing":
        return "idle", _("not there"), ""
    word = _("refused") if file.status == "refused" else _("not readable")
    return ("bad" if file.status == "failed" else "warn"), word, refusal_sentence(file.reason)


def refusal_sentence(reason: str) -> str:
    """Why a file was not opened or not read."""
    return {
        "link": _("It is a link. Links in a workspace are not followed."),
        "not_regular": _("It is no regular file (a folder, a pipe, a socket or a device)."),
        "hard_link": _(
            "It has a second name elsewhere (a hard link), so what it shows may not be the agent's own."
        ),
        "too_large": _("It is larger than %(mib)s MiB.") % {"mib": MAX_BYTES // 1024 // 1024},
        "no_permission": _("This dashboard's user may not read it."),
        "not_a_folder": _("The workspace is no folder."),
        "changing": _("It was being written while it was read, twice. Try again."),
        "io": _("The disk answered with an error."),
    }.get(reason, reason)


def folder_sentence(state: str, agent: Agent) -> str:
    """Why a workspace cannot be looked into; empty where it can."""
    return {
        "there": "",
        "missing": _("The folder does not exist yet. The agent makes it when it first runs."),
        "not_a_folder": _("There is a file in the place of the folder."),
        "no_permission": _("This dashboard's user may not look into the folder."),
        "unset": _("The path names %(names)s, which is not set here.")
        % {"names": ", ".join(f"${name}" for name in agent.unset)},
    }[state]


def is_git(workspace: Path) -> bool:
    """True where the workspace, or a folder around it, is a Git checkout: what a Gateway answers too."""
    # os.path.exists, not Path.exists: a folder that may not be looked into is "no", not an error.
    return any(os.path.exists(folder / ".git") for folder in (workspace, *workspace.parents))  # noqa: PTH110
