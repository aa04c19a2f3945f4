from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from gateway.models import Delivery
from longrun.machine import NO_ADVANCE, OPEN, STARTED, WORKING
from longrun.machine import State as Life

LOOP_EVERY = timedelta(minutes=3)
SCAN_EVERY = timedelta(minutes=5)


class Boundary(models.Model):
    """Where a kind of work belongs: the session that takes over when a task is handed off."""

    name = models.CharField(_("name"), max_length=120, unique=True)
    session_key = models.CharField(_("session"), max_length=512)
    about = models.TextField(_("what belongs there"), blank=True)

    class Meta:
        verbose_name = _("boundary")
        verbose_name_plural = _("boundaries")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class LongTaskQuerySet(models.QuerySet["LongTask"]):
    def open(self) -> Self:
        return self.filter(state__in=OPEN)

    def of_agent(self, agent_id: str) -> Self:
        return self.filter(agent_id=agent_id) if agent_id else self

    def due_for_watchdog(self, now: datetime) -> Self:
        """The one indexed query of a watchdog pass."""
        return self.filter(watch_at__lte=now).order_by("watch_at", "id")

    def silent_since(self, moment: datetime) -> Self:
        """The one indexed query of a keepalive pass: at work, and without any sign after `moment`."""
        return self.filter(idle_since__lt=moment).order_by("idle_since", "id")

    def due_for_progress(self, now: datetime) -> Self:
        """The one indexed query of a foreground scan."""
        return self.filter(progress_due_at__lte=now).order_by("progress_due_at", "id")


class LongTask(models.Model):
    """One long-run task, as its agent reports it and as we see it.

    What the agent says: `state` and the texts. What we saw: the moments. `updated_at` is the agent's own
    newest report; nothing that a person or this dashboard does moves it, since that is no sign of life.
    `activity_at`, `idle_since`, `progress_due_at` and `watch_at` are derived for the scans by `longrun.clock.refresh`.
    """

    class State(models.TextChoices):
        ANALYZING = "analyzing", pgettext_lazy("task state", "analyzing")
        EXECUTING = "executing", pgettext_lazy("task state", "executing")
        WAITING = "waiting", pgettext_lazy("task state", "waiting")
        BLOCKED = "blocked", pgettext_lazy("task state", "blocked")
        HANDOFF = "handoff", pgettext_lazy("task state", "handed off")
        DONE = "done", pgettext_lazy("task state", "done")

    class WaitingKind(models.TextChoices):
        NONE = "", "–"
        BACKGROUND = "background", _("work in the background")
        WAKEUP = "wakeup", _("a set wake-up time")
        EXTERNAL = "external", _("something outside")

    class Finding(models.TextChoices):
        NONE = "", "–"
        LOST = "lost", _("lost")
        OVERDUE = "overdue", _("overdue")
        STUCK = "stuck", _("stuck")
        CHECKPOINT_DUE = "checkpoint_due", _("checkpoint due")

    agent_id = models.CharField(_("agent"), max_length=128)
    name = models.CharField(_("task"), max_length=200)
    round = models.PositiveIntegerField(_("round"), default=1)
    session = models.CharField(_("session label"), max_length=200, blank=True)
    origin_session_key = models.CharField(_("session key"), max_length=512, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=State)
    goal = models.TextField(_("goal"), blank=True)
    done_when = models.TextField(_("done when"), blank=True)
    blocked_when = models.TextField(_("blocked when"), blank=True)
    boundary = models.CharField(_("boundary"), max_length=120, blank=True)
    next_check = models.CharField(_("next check, as written"), max_length=200, blank=True)
    next_check_at = models.DateTimeField(_("next check"), null=True, blank=True)
    note = models.TextField(_("next step"), blank=True)
    focus = models.TextField(_("being looked at"), blank=True)
    confirmed = models.TextField(_("just confirmed"), blank=True)
    progress_every = models.DurationField(_("progress every"), null=True, blank=True)
    quiet_limit = models.DurationField(
        _("quiet limit"), null=True, blank=True, help_text=_("Empty: 10 minutes without advance or any sign.")
    )

    waiting_kind = models.CharField(_("way of waiting"), max_length=10, choices=WaitingKind, blank=True)
    waiting_for = models.TextField(_("waits for"), blank=True)
    stuck_at = models.TextField(_("stuck at"), blank=True)
    missing = models.TextField(_("missing"), blank=True)
    suggestion = models.TextField(_("suggested next step"), blank=True)
    block_reason = models.CharField(_("blocked by"), max_length=20, blank=True)
    target_session_key = models.CharField(_("handed off to"), max_length=512, blank=True)

    created_at = models.DateTimeField(_("registered"), default=timezone.now)
    started_at = models.DateTimeField(_("at work since"), null=True, blank=True)
    updated_at = models.DateTimeField(_("last report"), default=timezone.now)
    last_visible_reply_at = models.DateTimeField(_("last visible reply"), null=True, blank=True)
    last_tool_result_at = models.DateTimeField(_("last tool result"), null=True, blank=True)
    last_advance_at = models.DateTimeField(_("last advance"), null=True, blank=True)
    last_progress_at = models.DateTimeField(_("last progress received"), null=True, blank=True)
    last_progress_sent_at = models.DateTimeField(_("that progress was sent"), null=True, blank=True)
    last_progress_attempt_at = models.DateTimeField(_("last progress attempt"), null=True, blank=True)
    last_progress_error = models.TextField(_("its error"), blank=True)
    last_resume_at = models.DateTimeField(_("last resume"), null=True, blank=True)
    quiet_until = models.DateTimeField(_("quiet tool call until"), null=True, blank=True)
    validated_at = models.DateTimeField(_("start validated"), null=True, blank=True)

    tool_failures = models.PositiveIntegerField(_("tool failures in a row"), default=0)
    undelivered = models.PositiveIntegerField(_("undelivered heartbeats in a row"), default=0)
    heartbeat = models.PositiveIntegerField(_("heartbeats generated"), default=0)
    progress = models.ForeignKey(
        Delivery,
        verbose_name=_("open heartbeat"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    last_delivery = models.ForeignKey(
        Delivery,
        verbose_name=_("last message"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    finding = models.CharField(_("finding"), max_length=16, choices=Finding, blank=True)
    finding_at = models.DateTimeField(pgettext_lazy("task", "found"), null=True, blank=True)
    evidence = models.JSONField(_("evidence"), default=dict, blank=True)
    sign_seen_at = models.DateTimeField(_("sign seen again"), null=True, blank=True)

    activity_at = models.DateTimeField(_("last sign of life"), null=True, blank=True)
    idle_since = models.DateTimeField(_("at work, silent since"), null=True, blank=True)
    progress_due_at = models.DateTimeField(_("progress due"), null=True, blank=True)
    watch_at = models.DateTimeField(_("watchdog looks"), null=True, blank=True)

    objects = LongTaskQuerySet.as_manager()

    class Meta:
        verbose_name = _("long task")
        verbose_name_plural = _("long tasks")
        ordering = ["-updated_at", "-id"]
        indexes = [
            models.Index(fields=["state", "-updated_at", "-id"], name="longrun_board"),
            models.Index(
                fields=["watch_at", "id"], name="longrun_watch", condition=Q(watch_at__isnull=False)
            ),
            models.Index(
                fields=["idle_since", "id"], name="longrun_idle", condition=Q(idle_since__isnull=False)
            ),
            models.Index(
                fields=["progress_due_at", "id"],
                name="longrun_progress",
                condition=Q(progress_due_at__isnull=False),
            ),
            models.Index(fields=["finding", "finding_at"], name="longrun_finding"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["agent_id", "name"], name="longrun_one_task_a_name"),
            models.CheckConstraint(
                name="longrun_started_has_session",
                condition=~Q(state__in=sorted(state.value for state in STARTED)) | ~Q(origin_session_key=""),
            ),
            models.CheckConstraint(
                name="longrun_known_state", condition=Q(state__in=[state.value for state in Life])
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def life(self) -> Life:
        return Life(self.state)

    @property
    def is_working(self) -> bool:
        return self.life in WORKING

    @property
    def limit(self) -> timedelta:
        """How long it may be quiet or without advance."""
        return self.quiet_limit or NO_ADVANCE

    @property
    def last_visible_at(self) -> datetime | None:
        """The newest moment at which the person could see that it lives."""
        return newest(self.last_visible_reply_at, self.last_progress_at)

    @property
    def subject(self) -> str:
        """What its messages in the delivery ledger are about."""
        return f"longtask:{self.pk}"

    def signals(self) -> dict[str, datetime | None]:
        """The four signs of life, by the seed's names."""
        return {
            "last_visible_reply_at": self.last_visible_reply_at,
            "last_tool_result_at": self.last_tool_result_at,
            "last_progress_at": self.last_progress_at,
            "updated_at": self.updated_at,
        }


class TaskEvent(models.Model):
    """One change of a long task: who, when, from, to, why. Rows are only ever added."""

    task = models.ForeignKey(
        LongTask, verbose_name=_("task"), on_delete=models.CASCADE, related_name="events"
    )
    at = models.DateTimeField(_("at"), default=timezone.now)
    kind = models.CharField(_("kind"), max_length=24)
    actor = models.CharField(_("actor"), max_length=200)
    from_state = models.CharField(pgettext_lazy("change of state", "from"), max_length=10, blank=True)
    to_state = models.CharField(pgettext_lazy("change of state", "to"), max_length=10, blank=True)
    why = models.TextField(_("why"), blank=True)
    data = models.JSONField(_("data"), default=dict, blank=True)

    class Meta:
        verbose_name = _("task event")
        verbose_name_plural = _("task events")
        ordering = ["-id"]
        indexes = [models.Index(fields=["task", "-id"], name="longrun_event_of_task")]

    def __str__(self) -> str:
        return f"{self.kind} {self.from_state}→{self.to_state}"


def newest(*moments: datetime | None) -> datetime | None:
    """The newest of the moments that are there."""
    return max((moment for moment in moments if moment is not None), default=None)


def instant(moment: Any) -> str | None:
    """ISO 8601 or None, as it goes over the wire."""
    return moment.isoformat() if moment else None
