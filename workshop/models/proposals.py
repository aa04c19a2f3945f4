"""Proposals, their generations and their events. The proposal's `record_json` is the truth of its fields;
the columns beside it are what lists, filters and conditional updates need (contract §3.7)."""

import json
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

ID_LENGTH = 121


class Kind(models.TextChoices):
    CREATE = "create", _("new skill")
    UPDATE = "update", _("update")


class Status(models.TextChoices):
    PENDING = "pending", _("pending")
    APPLIED = "applied", _("applied")
    REJECTED = "rejected", _("rejected")
    QUARANTINED = "quarantined", _("quarantined")
    STALE = "stale", _("stale")


class ProposalQuerySet(models.QuerySet["Proposal"]):
    def of_agent(self, agent_id: str | None) -> Self:
        """One agent's; None or empty means every agent's."""
        return self.filter(agent_id=agent_id) if agent_id else self

    def pending(self) -> Self:
        return self.filter(status=Status.PENDING)

    def counted(self) -> Self:
        """What counts against `maxPending`: pending and quarantined."""
        return self.filter(status__in=(Status.PENDING, Status.QUARANTINED))

    def decided(self) -> Self:
        return self.exclude(status=Status.PENDING)

    def newest_first(self) -> Self:
        """The order of the peer's list: `updatedAt` descending, then id."""
        return self.order_by("-updated_at", "id")


class Proposal(models.Model):
    """A suggested skill or change of a skill. Texts in columns have NUL and lone surrogates replaced."""

    Kind = Kind
    Status = Status

    id = models.CharField(_("id"), primary_key=True, max_length=ID_LENGTH)
    agent_id = models.CharField(_("agent"), max_length=128, blank=True)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind)
    status = models.CharField(_("status"), max_length=12, choices=Status)
    title = models.TextField(_("title"))
    description = models.TextField(_("description"), blank=True)
    skill_name = models.TextField(_("skill"))
    skill_key = models.TextField(_("skill key"))
    target_dir = models.TextField(
        _("folder in workshop-skills"),
        help_text=_("Relative, so that it survives a move of the state folder."),
    )
    legacy_dir = models.TextField(
        _("old folder"),
        blank=True,
        help_text=_("Where the skill lay before Workshop folders; empty once it is moved."),
    )
    target_hash = models.CharField(
        _("target"),
        max_length=32,
        help_text=_("Stands for agent and folder, which can be too long for an index."),
    )
    version = models.PositiveIntegerField(_("version"), default=1)
    draft_file = models.TextField(_("draft"), help_text=_("Relative to the proposal's folder."))
    draft_hash = models.CharField(_("draft hash"), max_length=64)
    revision_hash = models.CharField(_("revision hash"), max_length=64)
    scan_state = models.CharField(_("scan"), max_length=12, default="clean")
    critical = models.PositiveIntegerField(_("critical findings"), default=0)
    warnings = models.PositiveIntegerField(_("warnings"), default=0)
    support_count = models.PositiveIntegerField(_("files"), default=0)
    size_bytes = models.PositiveIntegerField(_("size"), default=0)
    created_by = models.CharField(_("made by"), max_length=64)
    origin_session_key = models.TextField(_("session"), blank=True)
    origin_run_id = models.TextField(_("run"), blank=True)
    origin_message_id = models.TextField(_("message"), blank=True)
    person = models.CharField(_("person or program"), max_length=200, blank=True)
    status_reason = models.TextField(_("reason"), blank=True)
    created_at = models.DateTimeField(_("made at"))
    updated_at = models.DateTimeField(_("changed at"))
    applied_at = models.DateTimeField(_("applied at"), null=True, blank=True)
    rejected_at = models.DateTimeField(_("rejected at"), null=True, blank=True)
    quarantined_at = models.DateTimeField(_("quarantined at"), null=True, blank=True)
    stale_at = models.DateTimeField(_("stale at"), null=True, blank=True)
    record_json = models.TextField(_("record"))
    target_tree_json = models.TextField(
        _("live files when it was made"),
        blank=True,
        help_text=_("Path to SHA-256; shows what changed since."),
    )
    row_version = models.PositiveIntegerField(default=1)
    imported_from = models.TextField(_("imported from"), blank=True)

    # Set by the services that just made it (create, update, revise); never loaded.
    draft_text = ""
    live_root = ""

    objects = ProposalQuerySet.as_manager()

    class Meta:
        verbose_name = _("proposal")
        verbose_name_plural = _("proposals")
        ordering = ["-updated_at", "id"]
        indexes = [
            models.Index(fields=["agent_id", "-updated_at", "id"], name="proposal_list"),
            models.Index(fields=["agent_id", "status", "-updated_at", "id"], name="proposal_queue"),
            models.Index(fields=["status", "-updated_at", "id"], name="proposal_status"),
            models.Index(fields=["target_hash", "status", "-updated_at"], name="proposal_target"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=Kind.values), name="proposal_kind"),
            models.CheckConstraint(
                condition=models.Q(status__in=Status.values), name="proposal_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.id})"

    @property
    def record(self) -> dict[str, Any]:
        """The peer's record as stored: `draftFile` is the real one, `target` has no absolute paths."""
        return json.loads(self.record_json)

    @property
    def scan(self) -> dict[str, Any]:
        return self.record["scan"]

    @property
    def generation(self) -> str:
        """The id of the active generation; empty for the legacy layout with PROPOSAL.md at the root."""
        parts = self.draft_file.split("/")
        return parts[1] if len(parts) == 3 and parts[0] == "generations" else ""

    @property
    def is_pending(self) -> bool:
        return self.status == Status.PENDING

    @property
    def decided_at(self) -> Any:
        return self.applied_at or self.rejected_at or self.quarantined_at or self.stale_at


class Generation(models.Model):
    """One published revision of a proposal. Its bundle stays on disk unless retention removed it."""

    proposal = models.ForeignKey(
        Proposal, models.CASCADE, related_name="generations", verbose_name=_("proposal")
    )
    uuid = models.CharField(_("generation"), max_length=36)
    version = models.PositiveIntegerField(_("version"))
    draft_hash = models.CharField(_("draft hash"), max_length=64)
    revision_hash = models.CharField(_("revision hash"), max_length=64)
    description = models.TextField(_("description"), blank=True)
    support_json = models.TextField(_("files"), default="[]")
    size_bytes = models.PositiveIntegerField(_("size"), default=0)
    created_at = models.DateTimeField(_("made at"))
    person = models.CharField(_("by"), max_length=200, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("person"),
    )
    removed_at = models.DateTimeField(_("removed by retention at"), null=True, blank=True)

    class Meta:
        verbose_name = _("generation")
        verbose_name_plural = _("generations")
        ordering = ["proposal", "version"]
        constraints = [
            models.UniqueConstraint(fields=["proposal", "version"], name="generation_version"),
            models.UniqueConstraint(fields=["proposal", "uuid"], name="generation_uuid"),
        ]

    def __str__(self) -> str:
        return f"{self.proposal_id} v{self.version}"

    @property
    def support(self) -> list[dict[str, Any]]:
        """``[{"path", "sizeBytes", "hash", …}]``"""
        return json.loads(self.support_json)


class Publication(models.Model):
    """A bundle that is being written. The row stands before the first byte and goes with the commit that
    makes the bundle active, so a row whose writer is dead names exactly what has to be removed."""

    proposal_id = models.CharField(max_length=ID_LENGTH)
    generation = models.CharField(max_length=36)
    agent_id = models.CharField(max_length=128)
    lock_name = models.TextField()
    started_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("unfinished bundle")
        verbose_name_plural = _("unfinished bundles")
        constraints = [models.UniqueConstraint(fields=["proposal_id", "generation"], name="publication_once")]

    def __str__(self) -> str:
        return f"{self.proposal_id}/{self.generation}"


class EventCounter(models.Model):
    """One row. Its lock makes sequences gapless and, on PostgreSQL, visible in their order."""

    last_sequence = models.BigIntegerField(default=0)
    # Moved by whoever changes proposals without an event (doctor): what other processes keep is then void.
    epoch = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = _("event counter")
        verbose_name_plural = _("event counter")

    def __str__(self) -> str:
        return str(self.last_sequence)


class Event(models.Model):
    """One line of the append-only ledger (contract §2.8). `sequence` is global over all agents."""

    class Type(models.TextChoices):
        CREATED = "created", _("made")
        REVISED = "revised", _("revised")
        EVALUATION_COMPLETED = "evaluation_completed", _("evaluated")
        APPLIED = "applied", _("applied")
        REJECTED = "rejected", _("rejected")
        QUARANTINED = "quarantined", _("quarantined")
        STALE = "stale", _("became stale")
        # Beyond the peer's seven: an applied proposal was taken back.
        ROLLED_BACK = "rolled_back", _("rolled back")

    sequence = models.BigIntegerField(_("sequence"), primary_key=True)
    event_id = models.CharField(_("event"), max_length=36, unique=True)
    proposal = models.ForeignKey(Proposal, models.PROTECT, related_name="events", verbose_name=_("proposal"))
    agent_id = models.CharField(_("agent"), max_length=128, blank=True)
    proposed_version = models.CharField(_("version"), max_length=12)
    revision_hash = models.CharField(_("revision hash"), max_length=64)
    type = models.CharField(_("what"), max_length=24, choices=Type)
    occurred_at = models.DateTimeField(_("at"))
    actor = models.JSONField(_("actor"))
    person = models.CharField(_("person or program"), max_length=200, blank=True)
    correlation_id = models.TextField(_("correlation id"), blank=True)
    payload = models.JSONField(_("payload"), null=True, blank=True)
    evaluation = models.JSONField(_("evaluation"), null=True, blank=True)
    reason = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("Workshop event")
        verbose_name_plural = _("Workshop events")
        ordering = ["sequence"]
        indexes = [
            models.Index(fields=["agent_id", "sequence"], name="event_agent"),
            models.Index(fields=["proposal", "sequence"], name="event_proposal"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.type} {self.proposal_id}"
