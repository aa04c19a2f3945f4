"""Real clusters as processes of their own, on a database of their own: started, killed, hurt, stopped."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]


def wait_for(told: Callable[[], object], seconds: float) -> object:
    """What `told` says as soon as it is true; fails after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := told():
            return value
        time.sleep(0.25)
    raise AssertionError(f"it did not happen within {seconds} s")


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class World:
    """A data dir with its own database, and the cluster that runs on it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.env = {
            **os.environ,
            "OPENCLAW_WEB_DATA_DIR": str(data),
            "OPENCLAW_STATE_DIR": str(data / "state"),
            "Q_WORKERS": "2",
            "Q_TASK_SECONDS": "60",
        }
        self.env.pop("DATABASE_URL", None)
        self.process: subprocess.Popen[bytes] | None = None

    def python(self, code: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v0", "-c", code],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def rows(self, sql: str) -> list[tuple]:
        with closing(sqlite3.connect(self.data / "openclaw-web.sqlite3", timeout=10)) as connection:
            return connection.execute(sql).fetchall()

    def start(self) -> None:
        self.log = (self.data / "cluster.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "cluster"],
            cwd=ROOT,
            env=self.env,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        wait_for(lambda: len(self.children()) == 5, 30)
        wait_for(
            lambda: self.rows("SELECT 1 FROM openclaw_web_cache WHERE cache_key LIKE '%cluster:heartbeat'"),
            30,
        )

    def children(self) -> list[int]:
        """Every process below the command: the sentinel, two workers, pusher, monitor."""
        table = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    state, parent = (entry / "stat").read_text().rsplit(") ", 1)[1].split()[:2]
                except OSError:
                    continue
                if state != "Z":
                    table.append((int(entry.name), int(parent)))
        found, parents = [], [self.process.pid]
        while parents:
            parents = [pid for pid, parent in table if parent in parents and pid not in found]
            found += parents
        return found

    def workers(self) -> list[int]:
        """The workers, as the guard loop last told."""
        told = self.python("from django_q.status import Stat; print(*Stat.get_all()[0].workers)")
        return [int(pid) for pid in told.split()]

    def busy(self, seconds: int) -> int:
        """Gives a worker something to do for so long; returns that worker, once it works."""
        note = self.data / "busy"
        self.python(
            f"from django_q.tasks import async_task; "
            f"async_task('os.system', 'echo $PPID > {note}.new && mv {note}.new {note}; sleep {seconds}', group='busy')"
        )
        wait_for(note.exists, 20)
        return int(note.read_text())

    def stop(self) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.log.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    world = World(tmp_path_factory.mktemp("template"))
    world.python(
        "from django.core.management import call_command as c; c('migrate', verbosity=0); c('createcachetable'); "
        "c('collectstatic', interactive=False, verbosity=0)"
    )
    return world.data


@pytest.fixture
def world(template: Path, tmp_path: Path) -> Iterator[World]:
    data = tmp_path / "world"
    shutil.copytree(template, data)
    world = World(data)
    yield world
    world.stop()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize(
    "broker", ["", pytest.param("redis://127.0.0.1:6379/9", marks=pytest.mark.postgres)], ids=["orm", "redis"]
)
def test_it_runs_work_beats_and_ends_cleanly_with_all_its_children(world, broker):
    world.env["Q_BROKER_URL"] = broker
    world.start()
    world.python("from django_q.tasks import async_task; async_task('gateway.tasks.forget')")
    wait_for(
        lambda: world.rows("SELECT 1 FROM django_q_task WHERE func = 'gateway.tasks.forget' AND success"), 20
    )
    told = world.python(
        "from gateway.clusters import *; s = read_cluster_state(); print(s.status, s.pid, s.workers, s.queued is not None)"
    )
    assert told == f"up {world.process.pid} 2 True"
    children = world.children()
    world.process.send_signal(signal.SIGTERM)
    assert world.process.wait(20) == 0
    assert all(gone(pid) for pid in children)


@pytest.mark.postgres
def test_redis_may_go_away_for_a_while(world):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    world.env["Q_BROKER_URL"] = f"redis://127.0.0.1:{port}/0"
    command = ["redis-server", "--port", str(port), "--save", "", "--dir", str(world.data)]
    redis = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        world.start()
        redis.kill()
        redis.wait(10)
        log = world.data / "cluster.log"
        wait_for(lambda: "the cluster could not do its own work" in log.read_text(), 30)
        redis = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(lambda: answers(port), 10)
        world.python("from django_q.tasks import async_task; async_task('gateway.tasks.forget')")
        wait_for(lambda: world.rows("SELECT 1 FROM django_q_task WHERE func = 'gateway.tasks.forget'"), 40)
        assert world.process.poll() is None
    finally:
        redis.kill()


def test_a_running_task_may_end_before_the_cluster_does(world):
    world.start()
    world.busy(4)
    world.process.send_signal(signal.SIGTERM)
    assert world.process.wait(20) == 0
    assert world.rows("SELECT success FROM django_q_task WHERE func = 'os.system'") == [(1,)]
    assert world.rows("SELECT count(*) FROM django_q_ormq") == [(0,)]


def test_killed_it_leaves_no_child_behind_and_the_home_page_says_so_within_a_minute(world):
    world.start()
    world.python(
        "from gateway.models import User; User.objects.create_superuser('lin', password='x'); "
        "from gateway.clusters import beat; beat(cluster_id='t', host='h', pid=1, workers=1, name='turns')"
    )
    ask = (
        "from django.test import Client; from gateway.models import User; c = Client(SERVER_NAME='localhost'); "
        "c.force_login(User.objects.get(username='lin')); print(c.get('/').content.decode())"
    )
    assert "Background is down" not in world.python(ask)
    children = world.children()
    world.process.kill()
    world.process.wait(10)
    killed = time.monotonic()
    wait_for(lambda: all(gone(pid) for pid in children), 10)
    while "Background is down" not in (html := world.python(ask)):
        assert time.monotonic() - killed < 60, "the home page kept silent"
        time.sleep(4)
    assert time.monotonic() - killed < 60
    assert "script/server" in html


def test_a_worker_killed_while_it_waited_does_not_stop_the_queue(world):
    world.start()
    for pid in world.workers():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: "another starts" in (world.data / "cluster.log").read_text(), 20)
    world.python("from django_q.tasks import async_task; async_task('gateway.tasks.forget', group='after')")
    wait_for(lambda: world.rows("SELECT 1 FROM django_q_task WHERE \"group\" = 'after' AND success"), 30)
    kinds = {kind for (kind,) in world.rows("SELECT kind FROM gateway_ledgerevent")}
    assert {"worker.died", "cluster.restarted"} <= kinds


def test_work_under_way_ends_and_work_taken_is_given_back_when_the_cluster_is_replaced(world):
    world.start()
    busy = world.busy(8)
    (idle,) = [pid for pid in world.workers() if pid != busy]
    os.kill(idle, signal.SIGKILL)
    world.python(
        "from django_q.tasks import async_task\nfor n in range(3): async_task('gateway.tasks.forget', group='later')"
    )
    wait_for(
        lambda: (
            world.rows("SELECT count(*) FROM django_q_task WHERE \"group\" = 'later' AND success") == [(3,)]
        ),
        40,
    )
    assert world.rows("SELECT success FROM django_q_task WHERE \"group\" = 'busy'") == [(1,)]


def test_one_unreadable_schedule_is_paused_and_the_others_run(world):
    world.python(
        "from django_q.models import Schedule; from django.utils import timezone as t; "
        "Schedule.objects.create(name='bad', func='x.y', args='(1,', schedule_type='I', minutes=1, next_run=t.now()); "
        "Schedule.objects.create(name='good', func='time.time', schedule_type='I', minutes=1, next_run=t.now())"
    )
    world.start()
    wait_for(lambda: world.rows("SELECT 1 FROM django_q_task WHERE func = 'time.time' AND success"), 60)
    assert world.rows("SELECT repeats FROM django_q_schedule WHERE name = 'bad'") == [(0,)]
