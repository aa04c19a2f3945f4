from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from gateway.models import LedgerEvent
from gateway.schedules import (
    ensure_schedule,
    ensure_schedules,
    hand_over,
    pause_broken_schedules,
    pull_in_schedules,
    repeat,
    repeats,
    start_due,
    wake,
)

pytestmark = pytest.mark.django_db


def test_a_schedule_is_made_once_however_often_it_is_asked_for():
    first = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=5)
    again = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=5)
    assert first.pk == again.pk
    assert Schedule.objects.filter(name="gateway.test").count() == 1
    assert (first.minutes, first.repeats, first.schedule_type) == (5, -1, Schedule.MINUTES)


def test_a_due_time_ahead_survives_a_restart():
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    ahead = timezone.now() + timedelta(minutes=40)
    Schedule.objects.filter(pk=row.pk).update(next_run=ahead)
    ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    assert Schedule.objects.get(pk=row.pk).next_run == ahead


def test_a_paused_or_changed_row_is_put_right_and_a_double_goes():
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    Schedule.objects.filter(pk=row.pk).update(repeats=0, minutes=1)
    Schedule.objects.create(name="gateway.test", func="x.y", schedule_type=Schedule.DAILY)
    ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    (only,) = Schedule.objects.filter(name="gateway.test")
    assert (only.pk, only.repeats, only.minutes) == (row.pk, -1, 60)


def test_two_declarations_under_one_name_are_refused():
    with pytest.raises(ValueError, match="declared twice"):
        repeat("gateway.forget_old", "gateway.tasks.forget", minutes=7)


def test_everything_declared_gets_its_row():
    ensure_schedules()
    assert set(Schedule.objects.values_list("name", flat=True)) == {one.name for one in repeats()}
    assert "gateway.forget_old" in {one.name for one in repeats()}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"args": "(1,"}, "SyntaxError"),
        ({"args": "open('x')"}, "ValueError"),
        ({"schedule_type": Schedule.CRON, "cron": "0 0 30 2 *"}, "ImportError"),
    ],
)
def test_a_row_that_would_stop_every_other_is_paused_and_named(fields, problem):
    past = timezone.now() - timedelta(minutes=1)
    good = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=5)
    bad = Schedule(
        name="bad",
        func="x.y",
        **{"schedule_type": Schedule.MINUTES, "minutes": 1, "next_run": past, **fields},
    )
    Schedule.objects.bulk_create([bad])  # as a raw row: saving a CRON one already raises
    assert pause_broken_schedules() == ["bad"]
    assert Schedule.objects.get(name="bad").repeats == 0
    assert Schedule.objects.get(pk=good.pk).repeats == -1
    event = LedgerEvent.objects.get(kind="schedule.paused")
    assert event.subject == "bad"
    assert problem in event.data["problem"]
    assert pause_broken_schedules() == []


def test_a_clock_that_was_set_back_does_not_stop_a_schedule_until_it_catches_up():
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=1)
    now = timezone.now()
    Schedule.objects.filter(pk=row.pk).update(next_run=now + timedelta(hours=3))
    assert pull_in_schedules(now) == 1
    assert Schedule.objects.get(pk=row.pk).next_run == now
    assert LedgerEvent.objects.filter(kind="schedule.pulled_in", subject="gateway.test").count() == 1
    assert pull_in_schedules(now) == 0


def test_a_new_row_has_its_second_of_the_minute_and_runs_at_once():
    now = timezone.now()
    for second in (0, 30):
        row = ensure_schedule(f"gateway.at_{second}", "gateway.tasks.forget", minutes=1, second=second)
        assert row.next_run.second == second
        assert now - timedelta(minutes=1) <= row.next_run <= timezone.now()


def test_a_row_is_pulled_in_for_an_earlier_moment_and_never_pushed_out():
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    now = timezone.now()
    Schedule.objects.filter(pk=row.pk).update(next_run=now + timedelta(minutes=40))
    sooner = now + timedelta(seconds=17)
    assert wake("gateway.test", sooner)
    assert not wake("gateway.test", now + timedelta(minutes=5))
    assert Schedule.objects.get(pk=row.pk).next_run == sooner
    Schedule.objects.filter(pk=row.pk).update(repeats=0)
    assert not wake("gateway.test", now)  # a paused row stays paused


@pytest.mark.django_db(transaction=True)  # the scheduler closes connections that are in a transaction
def test_what_is_due_is_sent_once_at_its_second():
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    due = timezone.now() - timedelta(seconds=1)
    Schedule.objects.filter(pk=row.pk).update(next_run=due)
    assert not start_due(due)
    assert start_due()
    assert not start_due()
    assert OrmQ.objects.count() == 1
    assert Schedule.objects.get(pk=row.pk).next_run == due + timedelta(minutes=60)


@pytest.mark.django_db(transaction=True)  # the scheduler closes connections that are in a transaction
def test_a_row_that_cannot_be_read_does_not_hold_up_what_is_due_beside_it():
    past = timezone.now() - timedelta(minutes=1)
    bad = Schedule(
        name="bad", func="x.y", args="(1,", schedule_type=Schedule.MINUTES, minutes=1, next_run=past
    )
    Schedule.objects.bulk_create([bad])
    ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=60)
    assert start_due()
    assert OrmQ.objects.count() == 1
    assert not start_due()


@pytest.fixture
def no_redis(monkeypatch):
    """The queue is in a Redis that is away."""
    monkeypatch.setattr("django_q.conf.Conf.ORM", None)
    monkeypatch.setattr("django_q.conf.Conf.REDIS", "redis://127.0.0.1:1/0")


def test_what_a_row_stands_for_is_asked_for_though_redis_is_away(no_redis, caplog):
    assert hand_over("gateway.tasks.forget") is False
    assert "gateway.tasks.forget was not put into the queue" in caplog.text


def test_work_that_is_handed_over_lies_in_the_queue():
    assert hand_over("gateway.tasks.forget") is True
    assert OrmQ.objects.get().func() == "gateway.tasks.forget"
