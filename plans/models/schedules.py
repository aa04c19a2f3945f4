from django.db import models
from django.utils.translation import gettext_lazy as _

from plans.models.plans import Confirmation, Plan
from plans.schedule import Timing


class Schedule(models.Model):
    """When a confirmed plan runs, and with which forced parameters.

    It cannot exist without a confirmation of the same plan; the database also checks `sessionTarget`,
    `payload.kind` and that the message begins with the plan's first instruction (constraints and triggers).
    """

    class Kind(models.TextChoices):
        AT = "at", _("once")
        EVERY = "every", _("interval")
        CRON = "cron", _("calendar")

    plan = models.OneToOneField(Plan, models.CASCADE, related_name="schedule", verbose_name=_("plan"))
    confirmation = models.OneToOneField(
        Confirmation, models.PROTECT, related_name="schedule", verbose_name=_("confirmation")
    )
    kind = models.CharField(_("kind"), max_length=5, choices=Kind)
    zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    at = models.DateTimeField(_("at"), null=True, blank=True)
    every = models.PositiveIntegerField(_("every (seconds)"), default=0)
    anchor = models.DateTimeField(_("counted from"), null=True, blank=True)
    expr = models.CharField(_("cron expression"), max_length=200, blank=True)
    session_target = models.CharField(_("sessionTarget"), max_length=16, default="isolated", editable=False)
    payload_kind = models.CharField(_("payload.kind"), max_length=16, default="agentTurn", editable=False)
    message = models.TextField(_("message"))
    # The next instant not yet turned into a run; None while paused or when nothing is left.
    next_due_at = models.DateTimeField(_("next due"), null=True, blank=True)
    # The newest instant that has a run: the tick goes on behind it, also when the clock steps back.
    last_due_at = models.DateTimeField(_("last due"), null=True, blank=True)

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        indexes = [models.Index(fields=["next_due_at"])]
        constraints = [
            models.CheckConstraint(
                name="plans_schedule_isolated", condition=models.Q(session_target="isolated")
            ),
            models.CheckConstraint(
                name="plans_schedule_agent_turn", condition=models.Q(payload_kind="agentTurn")
            ),
            models.CheckConstraint(
                name="plans_schedule_kind_has_its_fields",
                condition=models.Q(kind="at", at__isnull=False)
                | models.Q(kind="every", every__gte=60, anchor__isnull=False)
                | (models.Q(kind="cron") & ~models.Q(expr="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.expr or self.every or self.at}"

    @property
    def timing(self) -> Timing:
        return Timing(self.kind, self.zone, at=self.at, every=self.every, anchor=self.anchor, expr=self.expr)
