"""Proposals and skills for tests of pages, made through the services."""

from workshop.services.decisions import apply_proposal
from workshop.services.proposals import create_proposal, propose_update

TRIP = "# Trip\n\n## Book\n\n1. Compare three offers.\n2. Pay.\n\n## Pack\n\n- Bags.\n- Papers.\n\n## Go\n\n- Check in.\n"


def propose(caller, *, name="trip", description="Plan a trip", content=TRIP, agent="main", **more):
    return create_proposal(agent, name=name, description=description, content=content, caller=caller, **more)


def live_skill(caller, *, name="trip", content=TRIP, agent="main", **more):
    """A skill that was proposed and applied."""
    made = propose(caller, name=name, content=content, agent=agent, **more)
    return apply_proposal(
        agent, made.pk, expected_revision_hash=made.revision_hash, acknowledged=True, caller=caller
    )


def update(caller, *, name="trip", content=None, agent="main", **more):
    text = content or TRIP.replace("2. Pay.", "2. Ask for the seat.\n3. Pay.")
    return propose_update(agent, skill_name=name, content=text, caller=caller, **more)


def skill_file(state_dir, name="trip", agent="main"):
    return state_dir / "agents" / agent / "agent" / "workshop-skills" / name / "SKILL.md"
