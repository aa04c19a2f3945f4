"""Putting runs into the queue. A message is only a hint: the row decides, so a lost one is sent again and a
duplicated one finds the run taken."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django_q.brokers import get_broker

from gateway.schedules import hand_over
from plans.models import Run

QUEUE = "turns"
TASK = "plans.tasks.run_turn"
# A queued run whose message is older than this, while the queue is empty, has lost it.
LOST_AFTER = timedelta(minutes=2)


def enqueue_runs(runs: Iterable[int], *, now: datetime | None = None) -> int:
    """Send one message for each queued run (ids); returns how many. Safe to repeat.

    Where Redis cannot be reached the rest stays as it is: the next tick sends for them.
    """
    now = now or timezone.now()
    ids = list(runs)
    broker = get_broker(QUEUE)
    for start in range(0, len(ids), 250):
        chunk = ids[start : start + 250]
        with transaction.atomic():
            sent = []
            for run_id in chunk:
                if not hand_over(TASK, run_id, cluster=QUEUE, broker=broker, group="runs", save=False):
                    break
                sent.append(run_id)
            Run.objects.filter(pk__in=sent, status=Run.Status.QUEUED).update(enqueued_at=now)
        if len(sent) < len(chunk):
            return start + len(sent)
    return len(ids)


def enqueue_waiting(*, now: datetime | None = None) -> int:
    """Send messages for runs that need one: never sent, waited out their back-off, or lost theirs."""
    now = now or timezone.now()
    due = Run.objects.filter(status=Run.Status.QUEUED).filter(Q(not_before=None) | Q(not_before__lte=now))
    found = list(due.filter(enqueued_at=None).values_list("pk", flat=True)[:2000])
    if get_broker(QUEUE).queue_size() == 0:
        # Also where the clock stepped back: a message from the future is no message.
        stale = Q(enqueued_at__lte=now - LOST_AFTER) | Q(enqueued_at__gt=now + LOST_AFTER)
        found += due.filter(stale).values_list("pk", flat=True)[:2000]
    return enqueue_runs(found, now=now)
