"""What is kept for how long. The audit trail is kept longest; nothing of the state dir is ever touched."""

from datetime import datetime, timedelta

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone
from django_q.models import Failure

from gateway.idempotency import forget_old_answers
from gateway.models import AuditEntry, Delivery, LedgerEvent

_BATCH = 1000


def forget_old(now: datetime | None = None) -> dict[str, int]:
    """Deletes what is past its time, in batches so that no writer waits long; returns how many of each."""
    now = now or timezone.now()

    def before(days: int) -> datetime:
        return now - timedelta(days=days)

    old: dict[str, QuerySet] = {
        "events": LedgerEvent.objects.filter(at__lt=before(settings.EVENT_DAYS)),
        # Messages of passing use, such as a task's short progresses; all others stay with what they are about.
        "messages": Delivery.objects.filter(expires_at__lt=before(settings.EVENT_DAYS)),
        "audit": AuditEntry.objects.filter(at__lt=before(settings.AUDIT_DAYS)),
        "failures": Failure.objects.filter(stopped__lt=before(settings.EVENT_DAYS)),
        "sessions": Session.objects.filter(expire_date__lt=now),
        "attempts": AccessAttempt.objects.filter(attempt_time__lt=before(settings.EVENT_DAYS)),
        "sign_ins": AccessLog.objects.filter(attempt_time__lt=before(settings.EVENT_DAYS)),
        "sign_in_failures": AccessFailureLog.objects.filter(attempt_time__lt=before(settings.EVENT_DAYS)),
    }
    gone = {name: _delete(rows) for name, rows in old.items()}
    gone["answers"] = forget_old_answers(now)
    return gone


def _delete(rows: QuerySet) -> int:
    total = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        rows.model._base_manager.filter(pk__in=keys).delete()
        total += len(keys)
    return total
