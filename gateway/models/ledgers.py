from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class AuditEntry(models.Model):
    """One decision or refused attempt. Rows are only ever added."""

    class Outcome(models.TextChoices):
        OK = "ok", _("done")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")

    at = models.DateTimeField(_("at"), default=timezone.now, db_index=True)
    actor_kind = models.CharField(_("kind of actor"), max_length=16)
    actor = models.CharField(_("actor"), max_length=200)
    address = models.CharField(_("address"), max_length=64, blank=True)
    request_id = models.CharField(_("request id"), max_length=64, blank=True)
    action = models.CharField(_("action"), max_length=80, db_index=True)
    subject = models.CharField(_("subject"), max_length=300, blank=True)
    agent_id = models.CharField(_("agent"), max_length=128, blank=True)
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome)
    digest = models.CharField(_("SHA-256"), max_length=64, blank=True)
    reason = models.TextField(_("reason"), blank=True)
    detail = models.JSONField(_("detail"), default=dict, blank=True)

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit trail")
        ordering = ["-id"]
        indexes = [models.Index(fields=["agent_id", "-id"]), models.Index(fields=["actor", "-id"])]

    def __str__(self) -> str:
        return f"{self.action} {self.subject} ({self.outcome})"


class LedgerEvent(models.Model):
    """One thing that happened; `id` is the sequence that readers resume from."""

    at = models.DateTimeField(_("at"), default=timezone.now, db_index=True)
    kind = models.CharField(_("kind"), max_length=80)
    agent_id = models.CharField(_("agent"), max_length=128, blank=True)
    subject = models.CharField(_("subject"), max_length=300, blank=True)
    actor = models.CharField(_("actor"), max_length=200, blank=True)
    data = models.JSONField(_("data"), default=dict, blank=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["-id"]
        indexes = [models.Index(fields=["kind", "-id"]), models.Index(fields=["agent_id", "-id"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
