"""Whether everything behind the pages works, each thing with a word, a colour and what to do about it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_q.models import Failure, Schedule, Task

from gateway.clusters import TURNS, ClusterState, read_cluster_state
from gateway.models import Delivery
from openclaw_web.health_host import Check, host_checks
from openclaw_web.templatetags.ui import duration

OVERDUE_AFTER = timedelta(minutes=2)


@dataclass(frozen=True)
class ScheduleLine:
    """One repeating job: when it runs next, how it ended last."""

    pk: int
    name: str
    every: str
    next_run: datetime | None
    last_at: datetime | None
    tone: str
    word: str


def run_checks(now: datetime | None = None) -> list[Check]:
    """Every check, what is not well first. None of them waits for another machine."""
    now = now or timezone.now()
    state = read_cluster_state(now)
    turns = read_cluster_state(now, name=TURNS)
    checks = [
        _cluster(_("Background cluster"), state),
        _queue(_("Queue"), state),
        _cluster(_("Cluster of agents' turns"), turns),
        _queue(_("Queue of agents' turns"), turns),
        _failures(state),
        _schedules(now, state),
        _messages(now),
        *host_checks(),
    ]
    worst = {"bad": 0, "warn": 1}
    return sorted(checks, key=lambda check: worst.get(check.tone, 2))


def schedule_lines(now: datetime | None = None) -> list[ScheduleLine]:
    """All repeating jobs, by name."""
    now = now or timezone.now()
    rows = list(Schedule.objects.order_by("name", "pk"))
    last = {
        task.id: task
        for task in Task.objects.filter(id__in=[row.task for row in rows if row.task]).only(
            "id", "stopped", "success"
        )
    }
    return [_schedule_line(row, last.get(row.task), now) for row in rows]


def recent_failures(limit: int = 5) -> list[dict[str, Any]]:
    """The newest failed background tasks: id, func, when, the last line of what went wrong."""
    rows = Failure.objects.order_by("-stopped")[:limit]
    return [
        {"id": row.id, "func": row.func, "at": row.stopped, "problem": _last_line(row.result)} for row in rows
    ]


def _last_line(result: Any) -> str:
    lines = [line.strip() for line in str(result or "").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _cluster(name: str, state: ClusterState) -> Check:
    facts: list[tuple[str, Any]] = [(_("last heartbeat"), state.last_seen)] if state.last_seen else []
    if state.alive:
        facts += [
            (_("host"), state.host),
            (_("worker processes"), state.workers),
        ]
        return Check(name, "ok", _("works"), _("Its heartbeat is fresh."), facts=facts)
    word = _("down") if state.status == "down" else _("never ran")
    says = (
        _("No heartbeat for more than half a minute.")
        if state.last_seen
        else _("No heartbeat was ever seen.")
    )
    return Check(name, "bad", word, says, state.sentence, facts)


def _queue(name: str, state: ClusterState) -> Check:
    if state.queued is None:
        return Check(
            name,
            "idle",
            _("not counted"),
            _("The queue is in Redis; its cluster tells what waits there, and is silent now."),
        )
    if not state.queued:
        return Check(name, "ok", _("empty"), _("No task waits for a worker."))
    says = ngettext(
        "%(n)d task waits, for %(time)s.", "%(n)d tasks wait, the oldest for %(time)s.", state.queued
    )
    says %= {"n": state.queued, "time": duration(state.oldest_wait)}
    if state.status == "stuck":
        return Check(
            name,
            "warn",
            _("slow"),
            says,
            _("Long tasks hold every worker. Raise Q_WORKERS, or look which task runs so long."),
        )
    if not state.alive:
        return Check(name, "bad", _("stands still"), says, _("It moves again once the cluster runs."))
    return Check(name, "ok", _("moves"), says)


def _failures(state: ClusterState) -> Check:
    name = _("Failed tasks")
    if not state.failures:
        return Check(name, "ok", _("none"), _("No background task failed in the last 24 hours."))
    says = ngettext(
        "%(n)d background task failed in the last 24 hours.",
        "%(n)d background tasks failed in the last 24 hours.",
        state.failures,
    ) % {"n": state.failures}
    word = _("%(n)d failed") % {"n": state.failures}
    todo = _("The newest are listed below with their reason.")
    return Check(name, "warn", word, says, todo, url="#failed")


def _schedules(now: datetime, state: ClusterState) -> Check:
    name = _("Repeating jobs")
    lines = schedule_lines(now)
    late = [line.name for line in lines if line.tone in ("warn", "bad")]
    if not lines:
        return Check(
            name,
            "warn",
            _("none yet"),
            _("They are made when the cluster starts."),
            "" if state.alive else _("Start the cluster."),
        )
    if late:
        return Check(
            name,
            "warn",
            _("%(n)d need a look") % {"n": len(late)},
            ", ".join(late),
            _(
                "A late one runs when the cluster works again; a paused or failed one is told in the list below."
            ),
        )
    says = ngettext("%(n)d job runs on time.", "%(n)d jobs run on time.", len(lines)) % {"n": len(lines)}
    return Check(name, "ok", _("on time"), says)


def _schedule_line(row: Schedule, last: Task | None, now: datetime) -> ScheduleLine:
    if row.repeats == 0:
        tone, word = "bad", _("paused")
    elif row.next_run and now - row.next_run > OVERDUE_AFTER:
        tone, word = "warn", _("late by %(time)s") % {"time": duration(now - row.next_run)}
    elif last is not None and not last.success:
        tone, word = "bad", _("failed last time")
    elif last is None:
        tone, word = "wait", _("not run yet")
    else:
        tone, word = "ok", _("on time")
    every = (
        duration((row.minutes or 1) * 60)
        if row.schedule_type == Schedule.MINUTES
        else row.get_schedule_type_display()
    )
    return ScheduleLine(
        row.pk, row.name or row.func, str(every), row.next_run, last.stopped if last else None, tone, word
    )


def _messages(now: datetime) -> Check:
    """Messages of the last day that no session has confirmed: an unknown outcome stays unknown."""
    name = _("Messages to sessions")
    recent = Delivery.objects.open(now).filter(generated_at__gt=now - timedelta(days=1))
    failed = recent.filter(outcome=Delivery.Outcome.FAILED).count()
    unknown = recent.filter(outcome=Delivery.Outcome.UNKNOWN).count()
    waiting = recent.filter(outcome=Delivery.Outcome.NONE).count()
    says = _(
        "Of the last day: %(waiting)d not sent yet, %(failed)d failed, %(unknown)d of unknown outcome."
    ) % {
        "waiting": waiting,
        "failed": failed,
        "unknown": unknown,
    }
    url = reverse("activity") + "?tab=events&kind=delivery."
    if failed or unknown:
        word = _("%(n)d failed") % {"n": failed} if failed else _("%(n)d unknown") % {"n": unknown}
        todo = _("The task or plan each belongs to shows the reason.")
        return Check(name, "warn", word, says, todo, url=url)
    if waiting:
        return Check(name, "idle", _("%(n)d wait") % {"n": waiting}, says, url=url)
    return Check(name, "ok", _("none open"), _("Every message of the last day was received."), url=url)
