"""Earlier generations of decided proposals, as long as the setting keeps them."""

from __future__ import annotations

from itertools import groupby

from django.conf import settings
from django.utils import timezone

from openclaw_web.paths import state_dir
from workshop import store
from workshop.models import Generation, Proposal


def prune_generations() -> int:
    """Remove from the disk what is beyond `WORKSHOP_KEEP_GENERATIONS` earlier generations of each decided
    proposal; the last one always stays, and so does every row. Returns how many bundles were removed."""
    keep = settings.WORKSHOP_KEEP_GENERATIONS
    if keep <= 0:
        return 0
    rows = (
        Generation.objects.filter(removed_at=None)
        .exclude(proposal__status=Proposal.Status.PENDING)
        .exclude(uuid="")
        .order_by("proposal_id", "-version")
        .only("proposal_id", "uuid", "version")
    )
    removed = 0
    for _proposal, generations in groupby(rows.iterator(), key=lambda row: row.proposal_id):
        for row in list(generations)[keep + 1 :]:
            store.remove_generation(state_dir(), row.proposal_id, row.uuid)
            removed += Generation.objects.filter(pk=row.pk, removed_at=None).update(removed_at=timezone.now())
    return removed
