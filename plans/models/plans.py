import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from plans.planfile_check import Seal


class PlanQuerySet(models.QuerySet["Plan"]):
    def for_agent(self, agent_id: str | None) -> "PlanQuerySet":
        return self.filter(agent_id=agent_id) if agent_id else self

    def waiting(self) -> "PlanQuerySet":
        """What a person has to decide on: plans to confirm, plans held, plans that paused themselves."""
        paused_itself = models.Q(state=Plan.State.PAUSED, failures__gte=5)
        return self.filter(models.Q(state__in=[Plan.State.AWAITING, Plan.State.HELD]) | paused_itself)


class Plan(models.Model):
    """One Task_ID of one PLAN.md: what was promised and where that promise stands.

    `current` is the newest text. Database triggers (`plans.guards`) refuse `active` unless that very text is
    confirmed and scheduled, and refuse to rename a plan.
    """

    class State(models.TextChoices):
        AWAITING = "awaiting", _("awaiting confirmation")
        CHANGES = "changes", _("changes requested")
        ACTIVE = "active", _("active")
        PAUSED = "paused", _("paused")
        HELD = "held", _("held")
        ENDED = "ended", _("ended")
        RETIRED = "retired", _("retired")

    class Missed(models.TextChoices):
        RUN_ONCE = "run_once", _("run once for the newest missed time")
        SKIP = "skip", _("skip missed times")

    uid = models.UUIDField(_("id"), default=uuid.uuid4, unique=True, editable=False)
    agent_id = models.CharField(_("agent"), max_length=128)
    archive_id = models.CharField(_("archive id"), max_length=128)
    task_id = models.CharField(_("Task_ID"), max_length=80)
    name = models.CharField(_("name"), max_length=200, blank=True)
    # Where requests for changes go; empty where no session is known.
    session_key = models.CharField(_("session"), max_length=512, blank=True)
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.AWAITING)
    state_reason = models.TextField(_("why"), blank=True)
    state_at = models.DateTimeField(_("since"), default=timezone.now)
    current = models.ForeignKey(
        "plans.Revision", models.PROTECT, null=True, related_name="+", verbose_name=_("current revision")
    )
    missed = models.CharField(_("missed times"), max_length=8, choices=Missed, default=Missed.RUN_ONCE)
    rerun_interrupted = models.BooleanField(_("run again what was interrupted"), default=False)
    time_limit = models.PositiveIntegerField(_("time limit in seconds"), default=900)
    announce = models.BooleanField(_("send the result to the session"), default=False)
    failures = models.PositiveIntegerField(_("failed runs in a row"), default=0)
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    objects = PlanQuerySet.as_manager()

    class Meta:
        verbose_name = _("plan")
        verbose_name_plural = _("plans")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["state", "agent_id", "state_at"]),
            models.Index(fields=["agent_id", "-id"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["agent_id", "archive_id", "task_id"], name="plans_plan_one_per_task_id"
            ),
            models.CheckConstraint(
                name="plans_plan_time_limit", condition=models.Q(time_limit__gte=10, time_limit__lte=86400)
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.task_id

    def get_absolute_url(self) -> str:
        return reverse("plans:plan", args=[self.uid])

    @property
    def path(self) -> str:
        """Relative to the agent's workspace."""
        return f"archives/{self.archive_id}/PLAN.md"


class Revision(models.Model):
    """One text of one plan, never changed again (a trigger sees to it). `content` is the whole file as it was."""

    class Origin(models.TextChoices):
        INTAKE = "intake", _("from an intake")
        EDIT = "edit", _("edited here")
        AGENT = "agent", _("written by the agent")
        DISK = "disk", _("found on the disk")

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="revisions", verbose_name=_("plan"))
    number = models.PositiveIntegerField(_("number"))
    content = models.BinaryField(_("file"))
    text = models.TextField(_("text of the entry"))
    first_line = models.PositiveIntegerField(_("first line"), default=1)
    file_digest = models.CharField(_("SHA-256 of the file"), max_length=64)
    entry_digest = models.CharField(max_length=64)
    body_digest = models.CharField(max_length=64)
    preamble_digest = models.CharField(max_length=64)
    is_last = models.BooleanField(default=True)
    origin = models.CharField(_("origin"), max_length=8, choices=Origin)
    made_by = models.CharField(_("made by"), max_length=200)
    request_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "number"], name="plans_revision_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} #{self.number}"

    def get_absolute_url(self) -> str:
        return reverse("plans:revision", args=[self.plan.uid, self.number])

    @property
    def seal(self) -> Seal:
        return Seal(self.file_digest, self.entry_digest, self.body_digest, self.preamble_digest, self.is_last)

    @property
    def raw(self) -> bytes:
        """The file's bytes (PostgreSQL hands out a memoryview)."""
        return bytes(self.content)


class Confirmation(models.Model):
    """A person's yes to one text. Triggers: it names the revision's own digest, comes later, and never changes."""

    plan = models.ForeignKey(Plan, models.PROTECT, related_name="confirmations", verbose_name=_("plan"))
    revision = models.OneToOneField(
        Revision, models.PROTECT, related_name="confirmation", verbose_name=_("revision")
    )
    digest = models.CharField(_("SHA-256 of the file"), max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("person")
    )
    address = models.CharField(_("address"), max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    confirmed_at = models.DateTimeField(_("confirmed"), default=timezone.now)

    class Meta:
        verbose_name = _("confirmation")
        verbose_name_plural = _("confirmations")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="plans_confirmation_digest_is_sha256",
                condition=models.Q(digest__regex=r"^[0-9a-f]{64}$"),
            )
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.digest[:12]}"


class ChangeRequest(models.Model):
    """A person's words about one revision; what became of them is in the delivery ledger."""

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="requests", verbose_name=_("plan"))
    revision = models.ForeignKey(
        Revision, models.CASCADE, related_name="requests", verbose_name=_("revision")
    )
    text = models.TextField(_("words"))
    # [{"line": 12, "text": "…"}], lines counted in the file
    comments = models.JSONField(_("comments on lines"), default=list, blank=True)
    delivery = models.ForeignKey(
        "gateway.Delivery",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("delivery"),
    )
    delivery_error = models.TextField(_("why it was not sent"), blank=True)
    answered_by = models.ForeignKey(
        Revision,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="answers",
        verbose_name=_("answered by"),
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("person"),
    )
    made_by = models.CharField(_("made by"), max_length=200)
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta:
        verbose_name = _("request for changes")
        verbose_name_plural = _("requests for changes")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text[:60]
