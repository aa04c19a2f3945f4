from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gateway.sentences import DELIVERY


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def open(self, now: datetime | None = None) -> Self:
        """Neither received nor past its use at `now`."""
        return self.filter(received_at=None).filter(
            Q(expires_at=None) | Q(expires_at__gt=now or timezone.now())
        )

    def sendable(self, now: datetime | None = None) -> Self:
        """Open, and not held by a sender or a cool-down at `now`."""
        now = now or timezone.now()
        return self.open(now).filter(Q(hold_until=None) | Q(hold_until__lte=now))


class Delivery(models.Model):
    """One message for one session, and what is known about it.

    Three truths, never mixed: `generated_at` (it was written), `attempted_at` (sending was tried),
    `received_at` (the session has it). `outcome` is that of the newest attempt.
    """

    class Outcome(models.TextChoices):
        NONE = "", _("not attempted")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("failed")
        UNKNOWN = "unknown", _("unknown")

    agent_id = models.CharField(_("agent"), max_length=128)
    session_key = models.CharField(_("session"), max_length=512)
    text = models.TextField(_("text"))
    purpose = models.CharField(_("purpose"), max_length=40)
    subject = models.CharField(_("about"), max_length=300, blank=True)
    dedupe_key = models.CharField(_("dedupe key"), max_length=200, unique=True)
    made_by = models.CharField(_("made by"), max_length=200)

    generated_at = models.DateTimeField(_("generated"), default=timezone.now)
    attempted_at = models.DateTimeField(_("attempted"), null=True, blank=True)
    received_at = models.DateTimeField(_("received"), null=True, blank=True)

    outcome = models.CharField(_("outcome"), max_length=9, choices=Outcome, blank=True, default=Outcome.NONE)
    attempt_count = models.PositiveIntegerField(_("attempts"), default=0)
    error = models.TextField(_("reason"), blank=True)
    transport = models.CharField(_("transport"), max_length=20, blank=True)
    received_via = models.CharField(_("confirmed by"), max_length=200, blank=True)
    fetched_at = models.DateTimeField(_("fetched"), null=True, blank=True)
    hold_until = models.DateTimeField(_("not sent again before"), null=True, blank=True)
    expires_at = models.DateTimeField(_("of no use after"), null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["subject", "-id"], name="gateway_delivery_subject"),
            models.Index(fields=["session_key", "id"], name="gateway_delivery_session"),
            models.Index(
                fields=["hold_until"], name="gateway_delivery_open", condition=Q(received_at__isnull=True)
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="gateway_delivery_received_is_delivered",
                condition=Q(received_at__isnull=True, outcome__in=["", "failed", "unknown"])
                | Q(received_at__isnull=False, attempted_at__isnull=False, outcome="delivered"),
            )
        ]

    def __str__(self) -> str:
        return f"{self.purpose} → {self.session_key}"

    @property
    def is_received(self) -> bool:
        return self.received_at is not None

    @property
    def reason(self) -> str:
        """`error` in the reader's language, as far as the words are ours."""
        return DELIVERY.tell(self.error) or self.error


# How a message went, where the name of the way is not a name that people know.
WAYS = {"inbox": _("inbox"), "agent": _("by the agent itself")}


class DeliveryAttempt(models.Model):
    """One try to send. It is written as `unknown` before the try, so a sender that dies leaves the truth."""

    delivery = models.ForeignKey(
        Delivery, verbose_name=_("delivery"), on_delete=models.CASCADE, related_name="attempts"
    )
    transport = models.CharField(_("transport"), max_length=20)
    outcome = models.CharField(
        _("outcome"), max_length=9, choices=Delivery.Outcome, default=Delivery.Outcome.UNKNOWN
    )
    error = models.TextField(_("reason"), blank=True)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("delivery attempt")
        verbose_name_plural = _("delivery attempts")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.transport}: {self.outcome}"

    @property
    def way(self) -> str:
        """`transport` in words."""
        return str(WAYS.get(self.transport, self.transport))

    @property
    def reason(self) -> str:
        """`error` in the reader's language, as far as the words are ours."""
        return DELIVERY.tell(self.error) or self.error
