"""The review desk: rules of one agent's desk, remarks, and requests for a revision."""

from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workshop.models.proposals import Proposal


class AgentDesk(models.Model):
    """Rules of one agent that OpenClaw's configuration does not know. Also the lock under which proposals
    of an agent are counted."""

    class Policy(models.TextChoices):
        FOLLOW = "", _("as in openclaw.json")
        PENDING = "pending", _("a person decides")
        AUTO = "auto", _("the agent may decide")

    agent_id = models.CharField(_("agent"), max_length=128, primary_key=True)
    approval_policy = models.CharField(
        _("agents' decisions"), max_length=8, choices=Policy, blank=True, default=""
    )
    two_person = models.BooleanField(
        _("two people"), default=False, help_text=_("Who wrote or revised a proposal may not apply it.")
    )

    class Meta:
        verbose_name = _("rules of an agent's desk")
        verbose_name_plural = _("rules of agents' desks")

    def __str__(self) -> str:
        return self.agent_id


class RevisionRequest(models.Model):
    """Words sent to the owning agent's session. It changes nothing by itself."""

    proposal = models.ForeignKey(
        Proposal, models.CASCADE, related_name="revision_requests", verbose_name=_("proposal")
    )
    generation = models.CharField(_("generation"), max_length=36, blank=True)
    version = models.PositiveIntegerField(_("version"))
    revision_hash = models.CharField(_("revision hash"), max_length=64)
    instructions = models.TextField(_("words"))
    session_key = models.TextField(_("session"))
    agent_id = models.CharField(_("agent"), max_length=128)
    idempotency_key = models.CharField(_("idempotency key"), max_length=200)
    delivery_id = models.BigIntegerField(_("delivery"), null=True, blank=True)
    person = models.CharField(_("by"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("revision request")
        verbose_name_plural = _("revision requests")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["session_key", "idempotency_key"], name="revision_request_once")
        ]

    def __str__(self) -> str:
        return f"{self.proposal_id} v{self.version}"


class CommentQuerySet(models.QuerySet["Comment"]):
    def in_tray(self) -> Self:
        """Written, not yet sent with a request."""
        return self.filter(request=None, dropped_at=None)


class Comment(models.Model):
    """A reviewer's remark on a line, a file, or the whole of one generation. On the `old` side the line is one of the
    live file that the generation was compared with."""

    class Side(models.TextChoices):
        NEW = "new", _("in the proposal")
        OLD = "old", _("in the live file")

    proposal = models.ForeignKey(
        Proposal, models.CASCADE, related_name="comments", verbose_name=_("proposal")
    )
    generation = models.CharField(_("generation"), max_length=36, blank=True)
    version = models.PositiveIntegerField(_("version"))
    path = models.TextField(_("file"), blank=True, help_text=_("Empty: the proposal as a whole."))
    line = models.PositiveIntegerField(_("line"), null=True, blank=True)
    side = models.CharField(_("side"), max_length=3, choices=Side, default=Side.NEW)
    quote = models.TextField(_("the line as it was"), blank=True)
    body = models.TextField(_("remark"))
    author = models.CharField(_("by"), max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("person"),
    )
    created_at = models.DateTimeField(_("at"), default=timezone.now)
    request = models.ForeignKey(
        RevisionRequest,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="comments",
        verbose_name=_("sent with"),
    )
    dropped_at = models.DateTimeField(_("taken back at"), null=True, blank=True)

    objects = CommentQuerySet.as_manager()

    class Meta:
        verbose_name = _("remark")
        verbose_name_plural = _("remarks")
        ordering = ["id"]
        indexes = [models.Index(fields=["proposal", "id"], name="comment_list")]

    def __str__(self) -> str:
        return self.body[:60]
