import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Intake(models.Model):
    """A wish on its way to a plan: the words, the answers chosen, the ORA agreed. No schedule can come from it."""

    class State(models.TextChoices):
        OPEN = "open", _("being drafted")
        AGREED = "agreed", _("ORA agreed")
        WRITTEN = "written", _("written")
        DROPPED = "dropped", _("dropped")

    uid = models.UUIDField(_("id"), default=uuid.uuid4, unique=True, editable=False)
    agent_id = models.CharField(_("agent"), max_length=128)
    # The session that the plan belongs to; its last part is the ARCHIVE_ID.
    session_key = models.CharField(_("session"), max_length=512)
    wish = models.TextField(_("wish"))
    zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    language = models.CharField(_("language"), max_length=8, default="en")
    # Answers by option key, and the person's own words (“Other: …”).
    chosen = models.JSONField(_("answers"), default=dict, blank=True)
    other = models.TextField(_("other words"), blank=True)
    # Texts that a person or an agent wrote over the rules' baseline: name, objective, result, actions, schedule.
    overrides = models.JSONField(_("changed texts"), default=dict, blank=True)
    drafted_by = models.CharField(_("drafted by"), max_length=200, default="rules")
    state = models.CharField(_("state"), max_length=8, choices=State, default=State.OPEN)
    plan = models.ForeignKey(
        "plans.Plan", models.SET_NULL, null=True, blank=True, related_name="intakes", verbose_name=_("plan")
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, verbose_name=_("person")
    )
    made_by = models.CharField(_("made by"), max_length=200)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    agreed_at = models.DateTimeField(_("ORA agreed"), null=True, blank=True)

    class Meta:
        verbose_name = _("intake")
        verbose_name_plural = _("intakes")
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "agent_id", "-id"])]
        constraints = [
            models.CheckConstraint(
                name="plans_intake_agreed_before_written",
                condition=~models.Q(state__in=["agreed", "written"]) | models.Q(agreed_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.wish[:60]

    def get_absolute_url(self) -> str:
        return reverse("plans:intake", args=[self.uid])
