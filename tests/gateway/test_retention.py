from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django_q.models import Failure

from gateway.models import AuditEntry, Delivery, DeliveryAttempt, LedgerEvent
from gateway.retention import forget_old

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_events_go_after_90_days_and_the_audit_trail_after_730():
    for days in (1, 89, 91, 729, 731):
        LedgerEvent.objects.create(kind=f"e.{days}", at=NOW - timedelta(days=days))
        AuditEntry.objects.create(
            actor_kind="person", actor="lin", action=f"a.{days}", outcome="ok", at=NOW - timedelta(days=days)
        )
    gone = forget_old(NOW)
    assert (gone["events"], gone["audit"]) == (3, 1)
    assert sorted(LedgerEvent.objects.values_list("kind", flat=True)) == ["e.1", "e.89"]
    assert AuditEntry.objects.count() == 4


def test_expired_sessions_and_old_failures_go_and_a_second_pass_finds_nothing():
    Session.objects.create(session_key="old", session_data="", expire_date=NOW - timedelta(seconds=1))
    Session.objects.create(session_key="new", session_data="", expire_date=NOW + timedelta(days=1))
    Failure.objects.create(
        id="1" * 32,
        name="n",
        func="x.y",
        started=NOW,
        stopped=NOW - timedelta(days=91),
        success=False,
    )
    gone = forget_old(NOW)
    assert (gone["sessions"], gone["failures"]) == (1, 1)
    assert not any(forget_old(NOW).values())
    assert Session.objects.get().session_key == "new"


def test_more_rows_than_one_batch_all_go():
    LedgerEvent.objects.bulk_create(
        LedgerEvent(kind="e", at=NOW - timedelta(days=100)) for _number in range(2100)
    )
    assert forget_old(NOW)["events"] == 2100


def test_short_progresses_go_after_90_days_and_messages_that_matter_stay():
    def message(key, **values):
        made = Delivery.objects.create(
            agent_id="main", session_key="agent:main:main", text="x", purpose="p", dedupe_key=key, made_by="lin",
            generated_at=NOW - timedelta(days=100), **values,
        )  # fmt: skip
        DeliveryAttempt.objects.create(delivery=made, transport="inbox")

    message("old progress", expires_at=NOW - timedelta(days=91))
    message("young progress", expires_at=NOW - timedelta(days=89))
    message("request")
    assert forget_old(NOW)["messages"] == 1
    assert set(Delivery.objects.values_list("dedupe_key", flat=True)) == {"young progress", "request"}
    assert DeliveryAttempt.objects.count() == 2
