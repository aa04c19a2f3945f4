"""What is remembered of a roster that was read: the last good one, and the roots the archives know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from django.db import transaction

from agents.entries import Agent, Listing
from agents.models import GoodRoster
from archives.models import Workspace


def keep_roster(source: Path, listing: Listing, read_at: datetime) -> None:
    """Remembers a roster that could be read, for the time when the file cannot be."""
    agents = [
        {**asdict(agent), "workspace": str(agent.workspace), "agent_dir": str(agent.agent_dir)}
        for agent in listing.agents
    ]
    GoodRoster.objects.update_or_create(
        source=str(source),
        defaults={
            "agents": agents,
            "default_id": listing.default_id,
            "ownership": listing.ownership,
            "selection_required": listing.selection_required,
            "session_scope": listing.session_scope,
            "read_at": read_at,
        },
    )


def listing_of(kept: GoodRoster) -> Listing:
    """The listing that was kept."""
    return Listing(
        agents=tuple(
            Agent(
                **{
                    **row,
                    "workspace": Path(row["workspace"]),
                    "agent_dir": Path(row["agent_dir"]),
                    "unset": tuple(row["unset"]),
                    "fallbacks": tuple(row.get("fallbacks", ())),
                }
            )
            for row in kept.agents
        ),
        ownership=kept.ownership,  # type: ignore[arg-type]
        default_id=kept.default_id,
        selection_required=kept.selection_required,
        session_scope=kept.session_scope,
    )


def follow_roster(agents: Iterable[Agent]) -> int:
    """Gives the archives one root per agent; agents whose path names an unset variable have none.

    Only rows that differ are written. Returns how many roots there are.
    """
    wanted = {agent.id: (str(agent.workspace), agent.name, agent.zone) for agent in agents if not agent.unset}
    known = {row.agent_id: (row.root, row.label, row.zone) for row in Workspace.objects.all()}
    if wanted == known:
        return len(wanted)
    with transaction.atomic():
        for agent_id, (root, label, zone) in wanted.items():
            if known.get(agent_id) != (root, label, zone):
                Workspace.objects.update_or_create(
                    agent_id=agent_id, defaults={"root": root, "label": label, "zone": zone}
                )
        Workspace.objects.exclude(agent_id__in=wanted).delete()
    return len(wanted)
