"""Recorded use of live skills, from trusted reports only."""

from __future__ import annotations

import os
import time

from django.db import transaction
from django.utils.translation import gettext as _

from gateway import events
from gateway.callers import ADMIN, Caller
from workshop import live, sentences
from workshop.desks import open_desk
from workshop.models import SkillUsage
from workshop.names import storable


def record_use(
    agent_id: str | None, *, skill_file: str, used_at_ms: int | None = None, caller: Caller
) -> SkillUsage:
    """Count one use of a member of this agent's Workshop, by its canonical absolute path.

    An agent's own token cannot report: that would not be a trusted source. Raises WorkshopError `no-skill`,
    `not-trusted`.
    """
    caller.require_scope(ADMIN)
    if caller.is_agent:
        raise sentences.refuse(
            "not-trusted", _("Use of a skill is reported by the runner, not by the agent.")
        )
    desk = open_desk(agent_id, caller)
    root = desk.root.resolve()
    path = os.path.realpath(skill_file)
    skill = next(
        (item for item in live.read_inventory(desk.root).skills if f"{root}/{item.file}" == path), None
    )
    if skill is None:
        raise sentences.no_skill(skill_file)
    at = used_at_ms if used_at_ms is not None else round(time.time() * 1000)
    with transaction.atomic():
        row, _made = SkillUsage.objects.select_for_update().get_or_create(
            skill_file=path,
            defaults={
                "skill_key": storable(skill.key),
                "skill_name": storable(skill.name),
                "first_used_at_ms": at,
                "last_used_at_ms": at,
            },
        )
        row.skill_key, row.skill_name = storable(skill.key), storable(skill.name)
        row.use_count += 1
        row.first_used_at_ms = min(row.first_used_at_ms, at)
        row.last_used_at_ms = max(row.last_used_at_ms, at)
        row.last_agent_id = desk.id
        row.save()
        events.publish("skill.used", agent_id=desk.id, subject=path[-300:], caller=caller)
    return row
