from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: datetime | None = None) -> Self:
        """Neither revoked nor expired at `now`."""
        now = now or timezone.now()
        return self.filter(revoked_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=now))


class ApiToken(models.Model):
    """A program's key. The secret is shown once, when it is made; only its SHA-256 is kept."""

    name = models.CharField(_("name"), max_length=120)
    prefix = models.CharField(_("begins with"), max_length=16)
    digest = models.CharField(_("SHA-256"), max_length=64, unique=True)
    scopes = models.JSONField(_("scopes"), default=list)
    agent_ids = models.JSONField(_("agents"), null=True, blank=True, help_text=_("Empty: every agent."))
    is_agent = models.BooleanField(
        _("held by an agent"),
        default=False,
        help_text=_("An agent's token never confirms a plan or decides on a proposal."),
    )
    session_key = models.CharField(_("session"), max_length=300, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("made by"), null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(_("made"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        verbose_name = _("token")
        verbose_name_plural = _("tokens")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def is_usable(self, now: datetime) -> bool:
        """`ApiTokenQuerySet.usable` for one that is loaded already."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class IdempotencyRecord(models.Model):
    """The first answer to an idempotency key; a repeat gets the same one, also after a restart."""

    owner = models.CharField(_("caller"), max_length=220)
    method = models.CharField(_("method"), max_length=120)
    key = models.CharField(_("key"), max_length=256)
    params_digest = models.CharField(_("params SHA-256"), max_length=64)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    answer = models.JSONField(_("answer"), null=True, blank=True)

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        constraints = [
            models.UniqueConstraint(fields=["owner", "method", "key"], name="gateway_idempotency_once")
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.key}"
