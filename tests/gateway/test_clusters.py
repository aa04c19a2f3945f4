import uuid
from datetime import UTC, datetime, timedelta

import pytest
import redis
import time_machine
from django.utils import timezone
from django_q.brokers.redis_broker import Redis as RedisBroker
from django_q.models import Failure, OrmQ
from django_q.tasks import async_task

from gateway.cluster_process import waiting_in_redis
from gateway.clusters import beat, cluster_state, read_cluster_state, worst_cluster

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def beating(at):
    beat(cluster_id="c1", host="box", pid=7, workers=2, now=at)


def test_before_the_first_heartbeat_the_cluster_never_ran():
    state = read_cluster_state(NOON)
    assert (state.status, state.tone, state.last_seen) == ("never", "bad", None)
    assert "script/server" in state.sentence


def test_a_fresh_heartbeat_means_up():
    beating(NOON - timedelta(seconds=12))
    state = read_cluster_state(NOON)
    assert (state.status, state.host, state.workers, state.cluster_id) == ("up", "box", 2, "c1")


def test_36_seconds_without_a_heartbeat_mean_down_and_say_since_when():
    beating(NOON - timedelta(seconds=36))
    state = read_cluster_state(NOON)
    assert (state.status, state.last_seen, state.alive) == ("down", NOON - timedelta(seconds=36), False)


def test_work_that_waits_over_five_minutes_means_stuck_though_the_cluster_lives():
    beating(NOON)
    OrmQ.objects.create(key="openclaw", payload="x", lock=NOON - timedelta(minutes=6))
    OrmQ.objects.create(key="openclaw", payload="x", lock=NOON - timedelta(minutes=1))
    OrmQ.objects.create(key="openclaw", payload="x", lock=NOON + timedelta(minutes=30))  # being worked on
    state = read_cluster_state(NOON)
    assert (state.status, state.queued, state.oldest_wait) == ("stuck", 2, timedelta(minutes=6))


def test_five_minutes_exactly_are_not_stuck_yet():
    beating(NOON)
    OrmQ.objects.create(key="openclaw", payload="x", lock=NOON - timedelta(minutes=5))
    assert read_cluster_state(NOON).status == "up"


def test_each_cluster_is_told_in_its_own_words():
    assert read_cluster_state(NOON).word == "Background never ran"
    turns = read_cluster_state(NOON, name="turns")
    assert turns.word == "Agents' turns never ran"
    assert "Q_CLUSTER_NAME=turns" in turns.sentence


def test_failures_of_the_last_day_are_counted():
    for hours in (1, 23, 25):
        Failure.objects.create(
            id=f"{hours:032}",
            name=str(hours),
            func="x.y",
            started=NOON,
            stopped=NOON - timedelta(hours=hours),
            success=False,
        )
    assert read_cluster_state(NOON).failures == 2


def test_the_state_is_looked_up_once_in_three_seconds(django_assert_num_queries):
    beating(timezone.now())
    first = cluster_state()
    with django_assert_num_queries(0):
        assert cluster_state() == first


@pytest.mark.django_db(transaction=True)
def test_a_missing_cache_table_counts_as_never_seen(settings):
    settings.CACHES = {
        **settings.CACHES,
        "default": {
            "BACKEND": "django.core.cache.backends.db.DatabaseCache",
            "LOCATION": "no_such_table",
        },
    }
    assert read_cluster_state(NOON).status == "never"


def test_the_worst_cluster_is_told_first_and_the_main_one_before_others():
    assert worst_cluster(NOON).name == "openclaw"
    beating(NOON)
    assert (worst_cluster(NOON).name, worst_cluster(NOON).status) == ("turns", "never")
    beat(cluster_id="t", host="box", pid=8, workers=4, now=NOON, name="turns")
    assert worst_cluster(NOON).status == "up"
    late = NOON + timedelta(minutes=1)
    beating(late)
    assert (worst_cluster(late).name, worst_cluster(late).status) == ("turns", "down")


@pytest.fixture
def in_redis(monkeypatch):
    """A queue in Redis: the database knows nothing of it."""
    monkeypatch.setattr("gateway.clusters.Conf.ORM", None)


def test_what_waits_in_redis_is_known_from_the_heartbeat(in_redis, django_assert_num_queries):
    told = {"queued": 3, "oldest_at": NOON - timedelta(minutes=6)}
    beat(cluster_id="c1", host="box", pid=7, workers=2, now=NOON, **told)
    state = read_cluster_state(NOON + timedelta(seconds=5))
    assert (state.status, state.queued, state.oldest_wait) == ("stuck", 3, timedelta(minutes=6, seconds=5))
    beat(cluster_id="c1", host="box", pid=7, workers=2, now=NOON, queued=0)
    state = read_cluster_state(NOON)
    assert (state.status, state.queued, state.oldest_wait) == ("up", 0, None)


def test_a_silent_cluster_tells_nothing_of_its_queue_in_redis(in_redis):
    beat(cluster_id="c1", host="box", pid=7, workers=2, now=NOON, queued=3, oldest_at=NOON)
    state = read_cluster_state(NOON + timedelta(seconds=36))
    assert (state.status, state.queued, state.oldest_wait) == ("down", None, None)


@pytest.mark.postgres
def test_the_age_of_the_task_that_redis_gives_next_is_read_from_the_task():
    broker = RedisBroker(f"ages-{uuid.uuid4().hex}")
    broker.connection = redis.from_url("redis://127.0.0.1:6379/9")
    assert waiting_in_redis(broker) == (0, None)
    try:
        for moment in (NOON, NOON + timedelta(minutes=5)):
            with time_machine.travel(moment, tick=False):
                async_task("gateway.tasks.forget", broker=broker)
        assert waiting_in_redis(broker) == (2, NOON)
        broker.dequeue()
        assert waiting_in_redis(broker) == (1, NOON + timedelta(minutes=5))
    finally:
        broker.delete_queue()
