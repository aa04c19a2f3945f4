import uuid

from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from plans.models.plans import Confirmation, Plan


class RunQuerySet(models.QuerySet["Run"]):
    def open(self) -> "RunQuerySet":
        return self.filter(status__in=[Run.Status.QUEUED, Run.Status.RUNNING])


class Run(models.Model):
    """One due instant of one plan. The row is claimed before any work: (plan, due instant) is unique.

    `status` moves queued → running → ended by conditional updates only; `outcome` is empty until it ended.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        ENDED = "ended", _("ended")

    class Outcome(models.TextChoices):
        NONE = "", _("not yet")
        OK = "ok", _("ok")
        ERROR = "error", _("error")
        TIMEOUT = "timeout", _("timeout")
        HELD = "held", _("held")
        SKIPPED = "skipped", _("skipped")
        MISSED = "missed", _("missed")
        INTERRUPTED = "interrupted", _("interrupted")
        STOPPED = "stopped", _("stopped")

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule", _("on schedule")
        CATCH_UP = "catch_up", _("made up for")
        MANUAL = "manual", _("by hand")

    uid = models.UUIDField(_("id"), default=uuid.uuid4, unique=True, editable=False)
    plan = models.ForeignKey(Plan, models.PROTECT, related_name="runs", verbose_name=_("plan"))
    confirmation = models.ForeignKey(
        Confirmation, models.PROTECT, null=True, related_name="runs", verbose_name=_("confirmation")
    )
    trigger = models.CharField(_("why"), max_length=8, choices=Trigger, default=Trigger.SCHEDULE)
    due_at = models.DateTimeField(_("due"))
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    status = models.CharField(_("status"), max_length=7, choices=Status, default=Status.QUEUED)
    outcome = models.CharField(_("outcome"), max_length=11, choices=Outcome, blank=True, default=Outcome.NONE)
    # Why it came out so: a stable code and a sentence.
    code = models.CharField(max_length=60, blank=True)
    reason = models.TextField(_("reason"), blank=True)

    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    # When a message for it was last put into the queue; a lost message is sent again.
    enqueued_at = models.DateTimeField(_("put into the queue"), null=True, blank=True)
    # Who works on it (host/boot/pid/start), its last sign of life, and the program it started.
    owner = models.CharField(_("worker"), max_length=200, blank=True)
    seen_at = models.DateTimeField(_("last sign of life"), null=True, blank=True)
    child = models.CharField(_("program"), max_length=200, blank=True)
    stop_requested_at = models.DateTimeField(_("stop requested"), null=True, blank=True)
    stop_requested_by = models.CharField(_("stopped by"), max_length=200, blank=True)

    runner = models.CharField(_("runner"), max_length=20, blank=True)
    session_key = models.CharField(_("session"), max_length=512, blank=True)
    digest = models.CharField(_("SHA-256 of the text that ran"), max_length=64, blank=True)
    agent_started = models.BooleanField(_("the agent started"), null=True)
    text = models.TextField(_("final text"), blank=True)
    usage = models.JSONField(_("usage"), default=dict, blank=True)
    # [{"path": "archives/…/…/report.md", "size": 1, "sha256": "…"}] found after the run
    outputs = models.JSONField(_("archived outputs"), default=list, blank=True)
    outputs_found = models.BooleanField(_("step 4: outputs are archived"), null=True)
    text_changed = models.BooleanField(_("the plan changed while it ran"), default=False)
    delivery = models.ForeignKey(
        "gateway.Delivery",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("delivery"),
    )

    objects = RunQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-due_at", "-id"]
        indexes = [
            models.Index(fields=["plan", "-due_at"]),
            models.Index(fields=["status", "not_before"]),
            models.Index(fields=["-due_at", "-id"]),
            models.Index(fields=["outcome", "-due_at"]),
        ]
        constraints = [
            models.UniqueConstraint(fields=["plan", "due_at"], name="plans_run_once_per_due_instant"),
            models.CheckConstraint(
                name="plans_run_outcome_when_ended",
                condition=models.Q(status="ended", ended_at__isnull=False) & ~models.Q(outcome="")
                | ~models.Q(status="ended") & models.Q(outcome=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.due_at:%Y-%m-%dT%H:%M:%SZ}"

    def get_absolute_url(self) -> str:
        return reverse("plans:run", args=[self.uid])

    @property
    def is_open(self) -> bool:
        return self.status != self.Status.ENDED
