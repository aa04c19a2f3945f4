"""The process behind `manage.py cluster`: Django-Q's cluster, kept alive and telling that it lives.

What Django-Q2 leaves open, and what is done about it here:

- Its own status lives three seconds and is gone afterwards, so nobody can say since when a cluster is down.
  We write a heartbeat, only while sentinel and guard loop answer.
- A sentinel outlives a killed parent and works on, unseen and unstoppable. Every child here dies with its parent.
- A worker that is killed while it waits holds the queue's lock for ever: everything looks alive, nothing runs
  (Koed00/django-q issues 200 and 394). The sentinel then lets busy workers end, gives back what it had taken
  and is replaced.
- One schedule row that cannot be read rolls back the whole scheduler pass, every time. Such rows are paused
  by name before the pass meets them (`gateway.schedules.pause_broken_schedules`).
- The guard loop looks for due schedules every 30 s. The main cluster's command looks every half second.
"""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from multiprocessing import Event
from typing import Any
from uuid import uuid4

from django.db import DatabaseError, connections
from django.utils import timezone
from django_q.brokers import Broker, get_broker
from django_q.cluster import Cluster, Sentinel, get_mp_context
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import SignedPackage
from django_q.status import Stat
from redis.exceptions import RedisError

from gateway.clusters import BEAT_EVERY, beat
from gateway.events import publish
from gateway.schedules import pause_broken_schedules, pull_in_schedules, start_due
from gateway.tied import tie_to_parent

logger = logging.getLogger(__name__)

QUEUE_LOCKED = 70  # exit status of a sentinel whose queue a dead worker holds
GUARD_SILENT = 60.0  # seconds without a sign of the guard loop before the cluster counts as hung
LOOK_EVERY = 0.5  # seconds between two looks for schedules that are due
STOP_SECONDS = 25.0  # what a running task has to end when the cluster stops


class WatchedSentinel(Sentinel):
    """Django-Q's sentinel, noticing workers that died while they held the queue."""

    def reincarnate(self, process: Any) -> None:
        is_worker = process in self.pool
        died_idle = is_worker and int(process.timer.value) == -1
        died_busy = is_worker and process.timer.value > 0 and process.exitcode not in (0, None)
        super().reincarnate(process)
        if died_idle or died_busy:
            _tell("worker.died", {"pid": process.pid, "exit": process.exitcode, "idle": died_idle})
        if died_idle:
            self._leave()

    def _leave(self) -> None:
        """Ends this sentinel once no worker is busy; the command starts another."""
        logger.error("a worker died while it waited and may hold the queue: the cluster is replaced")
        self.pusher.terminate()
        self.pusher.join(5)
        while any(worker.timer.value > 0 and worker.is_alive() for worker in self.pool):
            if self.stop_event.wait(1):
                break
            Stat(self).save()
        deadline = time.monotonic() + 5
        while not self.result_queue.empty() and time.monotonic() < deadline:
            time.sleep(0.1)
        self._give_back()
        os._exit(QUEUE_LOCKED)

    def _give_back(self) -> None:
        """Puts tasks that were taken and not begun back where any cluster takes them from."""
        reader = self.task_queue._reader  # the lock beside it is what the dead worker holds
        try:
            while reader.poll(0.5):
                task = reader.recv()
                if not isinstance(task, dict):
                    continue
                taken = task.pop("ack_id", None)
                if Conf.ORM and taken:
                    OrmQ.objects.filter(pk=taken).update(lock=timezone.now())
                else:
                    self.broker.enqueue(SignedPackage.dumps(task))
        except (OSError, EOFError, DatabaseError):
            logger.exception("could not give back every task; the broker hands them out again later")


class WatchedCluster(Cluster):
    """Django-Q's cluster around our sentinel. Signals are the command's business."""

    def __init__(self) -> None:
        before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
        super().__init__()
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
        self.broker_of_status = get_broker()

    def start(self) -> int:
        """Forks the sentinel and returns at once."""
        self.stop_event, self.start_event = Event(), Event()
        # A connection must not be shared over a fork.
        connections.close_all()
        self.sentinel = get_mp_context().Process(
            target=WatchedSentinel,
            name=f"Process-{uuid4().hex}",
            args=(self.stop_event, self.start_event, self.cluster_id, None, self.timeout),
        )
        self.sentinel.start()
        return self.pid

    def guard(self) -> Stat | None:
        """The guard loop's last word about itself, or None where it has said nothing for three seconds."""
        told = Stat.get(pid=self.pid, cluster_id=self.cluster_id, broker=self.broker_of_status)
        return told if getattr(told, "sentinel", 0) else None


class Keeper:
    """Runs one cluster after another until it is told to stop."""

    def __init__(self, say: Callable[[str], Any] = logger.info) -> None:
        self.say = say
        self.stopping = threading.Event()
        self.host = socket.gethostname()

    def stop(self, *_signal: object) -> None:
        self.stopping.set()

    def run(self) -> None:
        """Returns once it was stopped; a cluster that dies or hangs is replaced, ever more slowly."""
        pause = 1.0
        while not self.stopping.is_set():
            cluster = WatchedCluster()
            cluster.start()
            began = time.monotonic()
            why = self._watch(cluster)
            if self.stopping.is_set():
                break
            _kill(cluster)
            self.say(f"the cluster ended ({why}); another starts in {pause:.0f} s")
            _tell("cluster.restarted", {"why": why, "host": self.host})
            pause = 1.0 if time.monotonic() - began > 300 else min(pause * 2, 60.0)
            self.stopping.wait(pause if why != f"exit status {QUEUE_LOCKED}" else 0)
        _end(cluster)

    def _watch(self, cluster: WatchedCluster) -> str:
        """Beats while all is well; returns why it no longer is."""
        heard = time.monotonic()
        next_beat = next_look = 0.0
        while not self.stopping.is_set():
            if not cluster.sentinel.is_alive():
                return f"exit status {cluster.sentinel.exitcode}"
            now = time.monotonic()
            if now >= next_beat:
                told = self._safely(cluster.guard)
                if told is not None:
                    heard = now
                    self._safely(partial(self._beat, cluster, told))
                    self._safely(pause_broken_schedules)
                    self._safely(pull_in_schedules)
                elif now - heard > GUARD_SILENT:
                    return "the guard loop does not answer"
                # The first beat comes as soon as the guard loop speaks.
                next_beat = now + (BEAT_EVERY if told is not None else 0.5)
            if now >= next_look and Conf.CLUSTER_NAME == Conf.PREFIX:  # schedules are the main cluster's
                self._safely(start_due)
                next_look = now + LOOK_EVERY
            self.stopping.wait(0.25)
        return "stopped"

    def _beat(self, cluster: WatchedCluster, told: Stat) -> None:
        queued, oldest_at = (None, None) if Conf.ORM else waiting_in_redis(cluster.broker_of_status)
        beat(
            cluster_id=str(cluster.cluster_id),
            host=self.host,
            pid=cluster.pid,
            workers=len(told.workers),
            queued=queued,
            oldest_at=oldest_at,
        )

    def _safely(self, work: Callable[[], Any]) -> Any:
        """A database or Redis that is away for a moment must not end the cluster."""
        try:
            return work()
        except (DatabaseError, OSError, RedisError) as error:
            logger.error("the cluster could not do its own work, and tries again: %s", error)
            connections.close_all()
            return None


def waiting_in_redis(broker: Broker) -> tuple[int, datetime | None]:
    """How many tasks wait in Redis, and when the one that is taken next was put there (it says so itself)."""
    first = broker.connection.lindex(broker.list_key, 0)
    if first is None:
        return 0, None
    return broker.queue_size(), SignedPackage.loads(first).get("started")


def die_with_parent() -> None:
    """Makes every process forked from here on end when its parent does, however that ended (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    forking = [os.getpid()]

    def in_parent() -> None:
        forking[0] = os.getpid()

    def in_child() -> None:
        tie_to_parent()
        if os.getppid() != forking[0]:  # it died between the fork and this line
            os._exit(1)

    os.register_at_fork(before=in_parent, after_in_child=in_child)


def _end(cluster: WatchedCluster) -> None:
    """Lets running tasks end within STOP_SECONDS, then ends them."""
    cluster.stop_event.set()
    cluster.sentinel.join(STOP_SECONDS)
    _kill(cluster)


def _kill(cluster: WatchedCluster) -> None:
    if cluster.sentinel.is_alive():
        cluster.sentinel.kill()
    cluster.sentinel.join(5)


def _tell(kind: str, data: dict[str, Any]) -> None:
    try:
        publish(kind, data=data)
    except DatabaseError:
        logger.exception("could not write %s to the event ledger", kind)
