"""Messages of runs, and the settings of the queues they lie in."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django_q.models import OrmQ

from gateway.schedules import repeats
from plans.models import Run
from plans.services import lifecycle
from plans.services.queue import enqueue_runs, enqueue_waiting


def test_no_queue_hands_a_task_out_again_while_it_may_still_run():
    """Django-Q runs a task twice when its retry comes before its time limit."""
    plain = settings.Q_CLUSTER
    turns = {**plain, **plain["ALT_CLUSTERS"]["turns"]}
    for cluster in (plain, turns):
        assert cluster["timeout"] < cluster["retry"]
        assert (cluster["max_attempts"], cluster["ack_failures"]) == (1, True)
    # The longest time limit a plan can have ends well before the worker's own.
    assert turns["timeout"] > 86400


def test_the_clock_is_a_schedule_of_minutes():
    clock = {one.name: (one.func, one.minutes) for one in repeats()}
    assert clock["plans.clock"] == ("plans.tasks.tick_plans", 1)
    assert clock["plans.follow"] == ("plans.tasks.follow_plans", 1)


@pytest.mark.django_db
class TestMessages:
    @pytest.fixture
    def run(self, confirmed, later) -> Run:
        return lifecycle.run_now(confirmed, caller=later())

    def test_while_redis_is_away_a_run_waits_for_the_next_tick(self, run, monkeypatch):
        with monkeypatch.context() as away:
            away.setattr("django_q.conf.Conf.ORM", None)
            away.setattr("django_q.conf.Conf.REDIS", "redis://127.0.0.1:1/0")
            assert enqueue_runs([run.pk]) == 0
        run.refresh_from_db()
        assert (run.status, run.enqueued_at) == (Run.Status.QUEUED, None)
        assert enqueue_waiting() == 1

    def test_one_message_for_a_run_and_its_moment_is_kept(self, run):
        now = datetime.now(UTC)
        assert enqueue_runs([run.pk], now=now) == 1
        run.refresh_from_db()
        assert run.enqueued_at == now and OrmQ.objects.get().key == "turns"

    def test_a_run_behind_its_back_off_waits(self, run):
        now = datetime.now(UTC)
        Run.objects.update(not_before=now + timedelta(seconds=30))
        assert enqueue_waiting(now=now) == 0
        assert enqueue_waiting(now=now + timedelta(seconds=31)) == 1

    def test_while_messages_wait_none_is_taken_for_lost(self, run, later):
        now = datetime.now(UTC)
        enqueue_runs([run.pk], now=now)
        assert enqueue_waiting(now=now + timedelta(hours=1)) == 0

    def test_a_message_from_the_future_is_none(self, run):
        now = datetime.now(UTC)
        enqueue_runs([run.pk], now=now + timedelta(hours=3))
        OrmQ.objects.update(lock=now + timedelta(hours=3))
        assert enqueue_waiting(now=now) == 1
