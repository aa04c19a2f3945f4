"""Whatever is killed, doubled or run twice: one row for a due instant, one execution, never two."""

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import redis

from tests.plans.real_world import World

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
DUE = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)
AT = "at 2030-01-07T09:00:00+00:00 (UTC)"
BEFORE, NOW = "2030-01-07T08:00:00Z", "2030-01-07T09:00:10Z"


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


def carry_on(world: World) -> list[dict]:
    """After the crash: a fresh clock and a fresh cluster, until nothing is open any more."""
    world.do("tick", at=NOW)
    cluster = world.start("cluster", queue="turns", at=NOW)
    rows = world.wait_for_end()
    # A message may still lie there twice; give it time to do harm.
    world.do("enqueue_again")
    world.do("tick", at="2030-01-07T09:03:00Z")
    world.wait("the doubled messages to be worked off", lambda: world.do("facts")["queue"] == 0)
    world.kill(cluster)
    return rows


@pytest.mark.parametrize(
    ("fault", "in_the", "outcome", "executions"),
    [
        ("before rows are committed", "clock", "ok", 1),
        ("after rows", "clock", "ok", 1),
        ("after taking", "cluster", "interrupted", 0),
        ("after the program", "cluster", "interrupted", 1),
        ("before the end is written", "cluster", "interrupted", 1),
    ],
)
def test_killed_at_each_step(world, fault, in_the, outcome, executions):
    world.do("setup", at=BEFORE, schedule=AT)
    if in_the == "clock":
        assert world.do("tick", at=NOW, fault=fault) is None
    else:
        world.do("tick", at=NOW)
        cluster = world.start("cluster", queue="turns", at=NOW, fault=fault)
        cluster.wait(60)
    rows = carry_on(world)
    assert [(row["due"], row["outcome"]) for row in rows] == [("2030-01-07T09:00:00Z", outcome)]
    assert len(world.executions()) == executions


def test_killed_while_the_agent_works_leaves_interrupted_and_ends_the_program(world):
    world.environment["AGENT_SLEEP"] = "40"
    world.do("setup", at=BEFORE, schedule=AT)
    world.do("tick", at=NOW)
    cluster = world.start("cluster", queue="turns", at=NOW)
    world.wait("the program to start", lambda: len(world.executions()) == 1)
    world.kill(cluster)
    world.environment["AGENT_SLEEP"] = "0"
    rows = carry_on(world)
    assert [row["outcome"] for row in rows] == ["interrupted"]
    assert len(world.executions()) == 1
    # The program did not outlive its worker: 40 seconds later there is still no report of it.
    assert list((world.folder / "workspace").rglob("report.md")) == []


def test_a_worker_killed_alone_leaves_one_interrupted_run_and_the_cluster_goes_on(world):
    """As by the system when memory is short: only the busy worker dies."""
    world.environment["AGENT_SLEEP"] = "40"
    world.do("setup", at=BEFORE, schedule=AT)
    world.do("tick", at=NOW)
    cluster = world.start("cluster", queue="turns", at=NOW)
    world.wait("the program to start", lambda: len(world.executions()) == 1)
    os.kill(int(world.do("rows")[0]["owner"].split("/")[2]), signal.SIGKILL)
    world.do("tick", at=NOW)
    assert [row["outcome"] for row in world.do("rows")] == ["interrupted"]
    world.do("run_again", at="2030-01-07T09:01:00Z")
    world.wait("the next run to start", lambda: len(world.executions()) == 2)
    assert cluster.poll() is None


def test_where_the_plan_allows_it_an_interrupted_run_runs_again_once(world):
    world.do("setup", at=BEFORE, schedule=AT, settings={"rerun_interrupted": True})
    world.do("tick", at=NOW)
    world.start("cluster", queue="turns", at=NOW, fault="after taking").wait(60)
    rows = carry_on(world)
    assert [row["outcome"] for row in rows] == ["ok"]
    assert len(world.executions()) == 1


def test_a_clock_stepping_back_between_ticks_and_clusters(world):
    world.do("setup", at=BEFORE, schedule="cron 0 9 * * * (UTC)")
    for moment in (NOW, "2030-01-07T06:00:00Z", "2030-01-07T08:59:30Z", NOW, "2030-01-07T09:00:40Z"):
        world.do("tick", at=moment)
    # The message was sent at nine by a clock that now says five: the next tick sends it again.
    world.start("cluster", queue="turns", at="2030-01-07T05:00:00Z")
    world.do("tick", at="2030-01-07T05:00:30Z")
    world.wait("the run", lambda: [row["outcome"] for row in world.do("rows")] == ["ok"])
    world.do("tick", at=NOW)
    world.do("tick", at="2030-01-07T09:02:00Z")
    assert [row["due"] for row in world.do("rows")] == ["2030-01-07T09:00:00Z"]
    assert len(world.executions()) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("broker", ["orm", "redis"])
def test_messages_that_a_killed_cluster_had_in_its_memory_are_sent_again(tmp_path, broker):
    url = "redis://localhost:6379/2" if broker == "redis" else ""
    if url:
        redis.from_url(url).flushdb()
    world = World(tmp_path, broker=url, AGENT_SLEEP="30")
    try:
        world.do("setup", at=BEFORE, schedule=AT, count=6)
        world.do("tick", at=NOW)
        cluster = world.start("cluster", queue="turns", at=NOW)
        world.wait("both workers to be busy", lambda: len(world.executions()) == 2)
        world.kill(cluster)
        world.environment["AGENT_SLEEP"] = "0"
        world.do("tick", at="2030-01-07T09:01:00Z")
        world.do("tick", at="2030-01-07T09:04:00Z")
        world.start("cluster", queue="turns", at="2030-01-07T09:04:05Z")
        rows = world.wait_for_end()
        assert Counter(row["outcome"] for row in rows) == {"interrupted": 2, "ok": 4}
        assert sorted(Counter(world.executions()).values()) == [1] * 6
    finally:
        world.close()


@pytest.mark.postgres
@pytest.mark.parametrize("broker", ["orm", "redis"])
def test_two_clusters_two_clocks_and_doubled_messages_on_postgresql(tmp_path, broker):
    if not shutil.which("createdb"):
        pytest.fail("the PostgreSQL programs are missing on this host")
    name = f"ocw_plans_{uuid.uuid4().hex[:8]}"
    subprocess.run(["createdb", "-h", "localhost", name], check=True)
    url = "redis://localhost:6379/2" if broker == "redis" else ""
    if broker == "redis":
        redis.from_url(url).flushdb()
    world = World(tmp_path, database=f"postgres://root@localhost/{name}", broker=url)
    try:
        plans = world.do("setup", at=BEFORE, schedule=AT, count=20)
        clusters = [world.start("cluster", queue="turns", at=NOW) for _number in range(2)]
        ticks = [world.start("tick", at=NOW) for _number in range(3)]
        assert [tick.wait(60) for tick in ticks] == [0, 0, 0]
        for _number in range(3):
            world.do("enqueue_again")
        rows = world.wait_for_end(seconds=120)
        assert all(cluster.poll() is None for cluster in clusters)
        assert Counter(row["plan"] for row in rows) == Counter(plans)
        assert {(row["due"], row["outcome"]) for row in rows} == {("2030-01-07T09:00:00Z", "ok")}
        assert sorted(Counter(world.executions()).values()) == [1] * 20
    finally:
        world.close()
        subprocess.run(["dropdb", "-h", "localhost", "--force", name], check=True)


def _live(tmp_path, *, zone: str, start: datetime) -> World:
    """A whole dashboard's background: the clock's cluster and the turns' cluster, started at `start`."""
    world = World(tmp_path)
    before = (start - timedelta(hours=2)).isoformat()
    world.do(
        "setup",
        at=before,
        schedule=f"cron 30 2 * * * ({zone})" if start.month == 3 else f"cron 30 1 * * * ({zone})",
    )
    world.start("cluster", at=start.isoformat())
    world.start("cluster", queue="turns", at=start.isoformat())
    return world


def test_a_live_cluster_over_the_spring_gap_runs_once_at_the_first_instant_after_it(tmp_path):
    # New York, 8 March 2026: 01:59:40 EST; at 02:00 it is 03:00 EDT, 07:00 UTC.
    world = _live(tmp_path, zone="America/New_York", start=datetime(2026, 3, 8, 6, 59, 40, tzinfo=UTC))
    try:
        world.wait("the run", lambda: [row["outcome"] for row in world.do("rows")] == ["ok"], seconds=150)
        (row,) = world.do("rows")
        assert row["due"] == "2026-03-08T07:00:00Z" and row["late"] < 120
        facts = world.do("facts")
        assert facts["ticks"] <= 4
        assert set(facts["schedules"].values()) == {"I"}  # minutes; never Django-Q's CRON type
        assert len(world.executions()) == 1
    finally:
        world.close()


def test_a_live_cluster_over_the_autumn_repeat_runs_once_at_the_first_occurrence(tmp_path):
    # New York, 1 November 2026: 01:29:45 EDT, 05:29:45 UTC; 01:30 comes again an hour later, at 06:30 UTC.
    world = _live(tmp_path, zone="America/New_York", start=datetime(2026, 11, 1, 5, 29, 45, tzinfo=UTC))
    try:
        world.wait("the run", lambda: [row["outcome"] for row in world.do("rows")] == ["ok"], seconds=150)
        for process in list(world.processes):
            world.kill(process)
        # The same clusters an hour later, when the wall shows 01:29:45 again.
        again = datetime(2026, 11, 1, 6, 29, 45, tzinfo=UTC).isoformat()
        world.start("cluster", at=again)
        world.wait("two ticks after the repeat", lambda: world.do("facts")["ticks"] >= 3, seconds=150)
        assert [row["due"] for row in world.do("rows")] == ["2026-11-01T05:30:00Z"]
        assert len(world.executions()) == 1 and world.do("facts")["ticks"] <= 8
    finally:
        world.close()


def test_two_live_clusters_start_each_due_second_once_and_within_it(tmp_path):
    """Off every half minute, where Django-Q itself would look: each start is seconds, not a minute, behind its time."""
    start = datetime(2030, 1, 7, 8, 59, 48, tzinfo=UTC)
    world = World(tmp_path)
    try:
        world.do("setup", at=BEFORE, schedule="cron 8,19 0 9 * * * (UTC)", count=2)
        # One process a cluster, all of them with the same shifted clock.
        began = time.monotonic()
        for queue in ("", "", "turns", "turns"):
            now = start + timedelta(seconds=time.monotonic() - began)
            world.start("cluster", queue=queue, at=now.isoformat())
        world.wait("four runs", lambda: len(world.executions()) == 4, seconds=120)
        rows = world.wait_for_end()
        due = ["2030-01-07T09:00:08Z", "2030-01-07T09:00:19Z"]
        assert sorted(row["due"] for row in rows) == sorted(due * 2)
        assert {row["outcome"] for row in rows} == {"ok"}
        assert sorted(Counter(world.executions()).values()) == [1] * 4
        assert max(row["late"] for row in rows) < 5, [row["late"] for row in rows]
    finally:
        world.close()
