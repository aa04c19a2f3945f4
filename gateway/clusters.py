"""Whether background work goes on: the cluster's heartbeat, the queue's age, yesterday's failures.

The heartbeat lies in the database cache, where web and cluster both see it. `manage.py cluster` writes it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings
from django.core.cache import caches
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _
from django_q.conf import Conf
from django_q.models import Failure, OrmQ

BEAT_KEY = "cluster:heartbeat"
BEAT_EVERY = 10.0  # seconds between two heartbeats
TURNS = "turns"  # the queue of agents' turns (settings.Q_CLUSTER)
DOWN_AFTER = timedelta(seconds=35)  # three missed beats and a little; below the promised minute
STUCK_AFTER = timedelta(minutes=5)  # a task that waits longer although the cluster lives
_KEPT = 400 * 86400
_LOOKED_AT_MOST_EVERY = 3  # seconds


@dataclass(frozen=True)
class ClusterState:
    """What is known about background work.

    `status`: `up`, `stuck` (alive, but the oldest task waits over five minutes), `down`, `never`.
    `queued` and `oldest_wait` are None where it is not known: of a queue in Redis only a living cluster tells,
    so that no page waits for Redis.
    """

    status: Literal["up", "stuck", "down", "never"]
    name: str = Conf.PREFIX
    last_seen: datetime | None = None
    cluster_id: str = ""
    host: str = ""
    pid: int = 0
    workers: int = 0
    queued: int | None = None
    oldest_wait: timedelta | None = None
    failures: int = 0

    @property
    def alive(self) -> bool:
        return self.status in ("up", "stuck")

    @property
    def tone(self) -> str:
        return {"up": "ok", "stuck": "warn", "down": "bad", "never": "bad"}[self.status]

    @property
    def word(self) -> str:
        if self.name == TURNS:
            return {
                "up": _("Agents' turns run"),
                "stuck": _("Agents' turns wait"),
                "down": _("Agents' turns stand still"),
                "never": _("Agents' turns never ran"),
            }[self.status]
        return {
            "up": _("Background works"),
            "stuck": _("Background is stuck"),
            "down": _("Background is down"),
            "never": _("Background never ran"),
        }[self.status]

    @property
    def brief(self) -> str:
        """The word where there is room for one only."""
        return {"up": _("OK"), "stuck": _("stuck"), "down": _("down"), "never": _("down")}[self.status]

    @property
    def sentence(self) -> str:
        """What it means and the one thing to do."""
        if self.status == "up":
            return _("The cluster answers.")
        if self.status == "stuck":
            return _("The cluster answers, but work waits for minutes. Look at the queue on the health page.")
        if self.name == TURNS:
            return _(
                "Plans come due, but no agent is started. Start its cluster with “script/server”, "
                "or alone with “Q_CLUSTER_NAME=turns manage.py cluster”."
            )
        return _(
            "Schedules, runs and watchdogs stand still. Start it with “script/server”, "
            "or alone with “manage.py cluster”."
        )


def beat(
    *,
    cluster_id: str,
    host: str,
    pid: int,
    workers: int,
    now: datetime | None = None,
    name: str = Conf.CLUSTER_NAME,
    queued: int | None = None,
    oldest_at: datetime | None = None,
) -> None:
    """Writes the heartbeat of the cluster of queue `name`. Called only while the sentinel is alive.

    `queued` and `oldest_at` tell what waits in Redis; what waits in the database is asked of the database.
    """
    caches["default"].set(
        beat_key(name),
        {
            "at": now or timezone.now(),
            "cluster_id": cluster_id,
            "host": host,
            "pid": pid,
            "workers": workers,
            "queued": queued,
            "oldest_at": oldest_at,
        },
        _KEPT,
    )


def beat_key(name: str) -> str:
    """Each queue's cluster has a heartbeat of its own: one that lives must not hide another that is down."""
    return BEAT_KEY if name == Conf.PREFIX else f"{BEAT_KEY}:{name}"


def cluster_state() -> ClusterState:
    """The worst cluster's state now; looked up at most every three seconds in one process."""
    known: ClusterState | None = caches["local"].get("cluster:state")
    if known is None:
        known = worst_cluster()
        caches["local"].set("cluster:state", known, _LOOKED_AT_MOST_EVERY)
    return known


def cluster_names() -> list[str]:
    """Every queue that needs a cluster, the main one first."""
    return [Conf.PREFIX, *settings.Q_CLUSTER.get("ALT_CLUSTERS", {})]


def worst_cluster(now: datetime | None = None) -> ClusterState:
    """The cluster that people must hear of first: down before stuck before up, the main one before others."""
    states = [read_cluster_state(now, name=name) for name in cluster_names()]
    return min(states, key=lambda state: ("down", "never", "stuck", "up").index(state.status))


def read_cluster_state(now: datetime | None = None, *, name: str = Conf.PREFIX) -> ClusterState:
    """The state as the database tells it at `now`; `name` is that of the cluster's queue."""
    now = now or timezone.now()
    try:
        last: dict[str, Any] = caches["default"].get(beat_key(name)) or {}
    except DatabaseError:
        last = {}  # the cache table comes with `manage.py createcachetable`
    queued, oldest = _queue(now, name) if Conf.ORM else _queue_told(now, last)
    facts = {
        "name": name,
        "last_seen": last.get("at"),
        "cluster_id": last.get("cluster_id", ""),
        "host": last.get("host", ""),
        "pid": last.get("pid", 0),
        "workers": last.get("workers", 0),
        "queued": queued,
        "oldest_wait": oldest,
        "failures": Failure.objects.filter(stopped__gt=now - timedelta(days=1)).count(),
    }
    if not last:
        return ClusterState("never", **facts)
    if now - last["at"] > DOWN_AFTER:
        return ClusterState("down", **facts)
    if oldest is not None and oldest > STUCK_AFTER:
        return ClusterState("stuck", **facts)
    return ClusterState("up", **facts)


def _queue(now: datetime, name: str) -> tuple[int | None, timedelta | None]:
    """How many tasks wait for a worker, and how long the oldest has. A taken task is locked into the future."""
    waiting = OrmQ.objects.filter(key=name, lock__lte=now)
    count = waiting.count()
    first = waiting.order_by("lock").values_list("lock", flat=True).first() if count else None
    return count, (now - first if first else None)


def _queue_told(now: datetime, last: dict[str, Any]) -> tuple[int | None, timedelta | None]:
    """The same of a queue in Redis, as the cluster told with its last heartbeat; nothing once that is too old."""
    if not last or now - last["at"] > DOWN_AFTER:
        return None, None
    oldest_at = last.get("oldest_at")
    return last.get("queued"), (now - oldest_at if oldest_at else None)
