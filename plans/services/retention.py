"""What is kept of runs: everything for RUN_DAYS, and the newest twenty of each plan for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from plans.models import Run

KEPT_ANYWAY = 20
_BATCH = 1000


def forget_old_runs(*, now: datetime | None = None) -> int:
    """Delete old ended runs in batches, so that no writer waits long; returns how many."""
    before = (now or timezone.now()) - timedelta(days=settings.RUN_DAYS)
    old = Run.objects.filter(status=Run.Status.ENDED, ended_at__lt=before)
    gone = 0
    for plan_id in list(old.order_by().values_list("plan_id", flat=True).distinct()):
        newest = Run.objects.filter(plan_id=plan_id).order_by("-due_at").values_list("due_at", flat=True)
        edge = list(newest[KEPT_ANYWAY : KEPT_ANYWAY + 1])
        if not edge:
            continue
        passed = old.filter(plan_id=plan_id, due_at__lte=edge[0]).order_by("pk")
        while keys := list(passed.values_list("pk", flat=True)[:_BATCH]):
            gone += Run.objects.filter(pk__in=keys).delete()[0]
    return gone
