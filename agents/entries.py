"""Who the agents of a configuration are, and where each lives.

Source: spec/agents.md §1, contract §5 and the recorded `config-variant-*` exchanges: `agents.entries` before the
retired `agents.list`; ids normalised; the sole agent (or the one with the retired `default` marker) has
`<state-dir>/workspace`, the others `<state-dir>/workspace-<id>`; `agentDir` is `<state-dir>/agents/<id>/agent`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agents.variables import Variables

IMPLICIT_ID = "main"
MAX_AGENTS = 500

_VALID_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z", re.IGNORECASE)
_BAD_RUN = re.compile(r"[^a-z0-9_-]+")

Ownership = Literal["sole", "explicit", "legacy"]


@dataclass(frozen=True)
class Agent:
    """One agent: `id` is normal (`[a-z0-9][a-z0-9_-]{0,63}`), `name` what people call it (else its id).

    `source` tells who names it: `config` (openclaw.json), `implicit` (OpenClaw's own `main` where nobody is
    named) or `dashboard`. `unset` are variables its paths name that have no value: such paths lead nowhere.
    `identity` holds what the entry says of `name`, `emoji` and `theme`, `fallbacks` the models after the first.
    `zone` is the IANA zone its times are written in; empty: the local time of its host.
    """

    id: str
    name: str
    workspace: Path
    agent_dir: Path
    source: Literal["config", "implicit", "dashboard"] = "config"
    unset: tuple[str, ...] = ()
    description: str = ""
    model: str = ""
    fallbacks: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict, hash=False)
    zone: str = ""


@dataclass(frozen=True)
class Oddity:
    """An entry that was passed over or changed: `code` is bad_id | renamed | duplicate | not_an_object | too_many |
    bad_zone."""

    code: str
    entry: str


@dataclass(frozen=True)
class Listing:
    """The agents of one configuration, in its order."""

    agents: tuple[Agent, ...]
    ownership: Ownership
    default_id: str
    selection_required: bool
    session_scope: str = "per-sender"
    oddities: tuple[Oddity, ...] = ()


def normal_id(value: str) -> str | None:
    """An agent id in its normal form, or None where nothing of it can be kept (`运维` → None)."""
    bare = value.strip()
    if _VALID_ID.match(bare):
        return bare.lower()
    return _BAD_RUN.sub("-", bare.lower()).strip("-")[:64].strip("-") or None


def list_agents(data: Mapping[str, Any], variables: Variables) -> Listing:
    """The agents of a configuration that was read. Never raises: an odd entry is told, the rest stands."""
    block = _mapping(data.get("agents"))
    defaults = _mapping(block.get("defaults"))
    entries, oddities = _entries(block)
    marked = [agent_id for agent_id, entry in entries.items() if entry.get("default") is True]
    sole = next(iter(entries)) if len(entries) == 1 else None
    legacy = marked[0] if len(marked) == 1 and block.get("ownership") != "explicit" else None
    owner = legacy or sole
    zone, bad_zone = _zone(defaults)
    if bad_zone:
        oddities.append(Oddity("bad_zone", bad_zone))
    agents = tuple(
        replace(_agent(agent_id, entry, owner, defaults, variables), zone=zone)
        for agent_id, entry in entries.items()
    )
    return Listing(
        agents=agents,
        ownership="sole" if sole else "legacy" if legacy else "explicit",
        default_id=owner or (agents[0].id if agents else ""),
        selection_required=len(agents) > 1 and owner is None,
        session_scope=_text(_mapping(data.get("session")).get("scope"))[:40] or "per-sender",
        oddities=tuple(oddities),
    )


def default_workspace(variables: Variables) -> Path:
    """The workspace of a sole agent that names none: OPENCLAW_WORKSPACE_DIR, else `<state-dir>/workspace`."""
    return variables.path(variables.get("OPENCLAW_WORKSPACE_DIR") or "workspace")[0]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _entries(block: Mapping[str, Any]) -> tuple[dict[str, Mapping[str, Any]], list[Oddity]]:
    """Normal id → entry, from either form; the first of two equal ids stands, as in OpenClaw."""
    if block.get("entries") is not None:
        pairs: list[tuple[Any, Any]] = list(_mapping(block["entries"]).items())
    elif isinstance(block.get("list"), list):
        pairs = [(_mapping(item).get("id"), item) for item in block["list"]]
    else:
        return {IMPLICIT_ID: {"_implicit": True}}, []
    found: dict[str, Mapping[str, Any]] = {}
    oddities = []
    for raw, entry in pairs[:MAX_AGENTS]:
        shown = str(raw if raw is not None else "")[:80]
        agent_id = normal_id(raw) if isinstance(raw, str) else None
        if not isinstance(entry, Mapping):
            oddities.append(Oddity("not_an_object", shown))
        elif agent_id is None:
            oddities.append(Oddity("bad_id", shown))
        elif agent_id in found:
            oddities.append(Oddity("duplicate", shown))
        else:
            found[agent_id] = entry
            if agent_id != raw:
                oddities.append(Oddity("renamed", shown))
    if len(pairs) > MAX_AGENTS:
        oddities.append(Oddity("too_many", str(len(pairs))))
    return found, oddities


def _agent(
    agent_id: str,
    entry: Mapping[str, Any],
    owner: str | None,
    defaults: Mapping[str, Any],
    variables: Variables,
) -> Agent:
    own, shared = _text(entry.get("workspace")), _text(defaults.get("workspace"))
    missing: list[str] = []
    if own:
        workspace, missing = variables.path(own)
    elif shared:
        workspace, missing = variables.path(shared)
        workspace = workspace if agent_id == owner else workspace / agent_id
    elif agent_id == owner:
        workspace = default_workspace(variables)
    else:
        workspace = variables.state_dir / f"workspace-{agent_id}"
    folder = _text(entry.get("agentDir"))
    agent_dir, missing_too = (
        variables.path(folder) if folder else (variables.state_dir / "agents" / agent_id / "agent", [])
    )
    said = _mapping(entry.get("identity"))
    identity = {key: _text(said.get(key))[:200] for key in ("name", "emoji", "theme") if _text(said.get(key))}
    name = _text(entry.get("name")) or identity.get("name") or agent_id
    return Agent(
        id=agent_id,
        name=name[:200],
        workspace=workspace,
        agent_dir=agent_dir,
        source="implicit" if entry.get("_implicit") else "config",
        unset=tuple(dict.fromkeys([*missing, *missing_too])),
        description=_text(entry.get("description"))[:1000],
        model=_model(entry) or _model(defaults),
        fallbacks=_fallbacks(entry if _model(entry) else defaults),
        identity=identity,
    )


def _zone(defaults: Mapping[str, Any]) -> tuple[str, str]:
    """`agents.defaults.userTimezone`, which is one for all agents, and its text where that is no zone.

    An unknown one counts as not set, as in OpenClaw.
    """
    named = _text(defaults.get("userTimezone"))
    if not named:
        return "", ""
    try:
        return ZoneInfo(named).key, ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "", named[:80]


def _model(block: Mapping[str, Any]) -> str:
    """`provider/model` of a block's `model`, which is a string or `{primary, fallbacks}`."""
    model = block.get("model")
    return (_text(model) or _text(_mapping(model).get("primary")))[:200]


def _fallbacks(block: Mapping[str, Any]) -> tuple[str, ...]:
    named = _mapping(block.get("model")).get("fallbacks")
    return tuple(_text(one)[:200] for one in named[:20] if _text(one)) if isinstance(named, list) else ()


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
