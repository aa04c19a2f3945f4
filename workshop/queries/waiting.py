"""What of the Workshop waits for a person: for the Inbox and the rail's counts. Writes nothing."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from gateway.waiting import Waiting
from workshop.models import Proposal, Rollback


def waiting_count(agent_id: str | None) -> int:
    """How many proposals wait for a decision."""
    return Proposal.objects.of_agent(agent_id).pending().count()


def waiting(agent_id: str | None, limit: int) -> list[Waiting]:
    """Pending proposals, the longest waiting first; what was cut off stands before all."""
    rows = list(Proposal.objects.of_agent(agent_id).pending().order_by("created_at", "id")[:limit])
    stuck = set(
        Rollback.objects.unfinished().filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True)
    )
    return [_line(row, row.pk in stuck) for row in rows]


def _line(row: Proposal, stuck: bool) -> Waiting:
    if stuck:
        why, tone = _("An apply was cut off: open it to settle the files."), "bad"
    elif row.critical:
        why, tone = _("%(count)s critical findings") % {"count": row.critical}, "bad"
    elif row.warnings:
        why, tone = _("%(count)s warnings") % {"count": row.warnings}, "warn"
    else:
        why, tone = row.description, "info"
    return Waiting(
        kind="proposal",
        title=row.title,
        why=why,
        url=reverse("workshop:proposal", args=[row.pk]),
        at=row.created_at,
        word=row.get_kind_display(),
        tone=tone,  # type: ignore[arg-type]
        urgent=stuck,
        agent_id=row.agent_id,
    )
