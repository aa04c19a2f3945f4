"""What is needed to put a skill back as it was before an apply, byte for byte."""

from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from workshop.models.proposals import Kind, Proposal


class RollbackState(models.TextChoices):
    OPEN = "open", _("apply not finished")
    APPLIED = "applied", _("applied")
    REVERTING = "reverting", _("rolling back")
    REVERTED = "reverted", _("rolled back")


class RollbackQuerySet(models.QuerySet["Rollback"]):
    def unfinished(self) -> Self:
        """Written before live files were touched and not settled since."""
        return self.filter(state__in=(RollbackState.OPEN, RollbackState.REVERTING))


class Rollback(models.Model):
    """Written before the first live file is touched (contract §3.7)."""

    State = RollbackState

    proposal = models.OneToOneField(
        Proposal, models.CASCADE, primary_key=True, related_name="rollback", verbose_name=_("proposal")
    )
    written_at = models.DateTimeField(_("written at"))
    target_skill_file = models.TextField(_("live file"))
    action = models.CharField(_("action"), max_length=8, choices=Kind)
    state = models.CharField(_("state"), max_length=10, choices=RollbackState, default=RollbackState.OPEN)
    reverted_at = models.DateTimeField(_("rolled back at"), null=True, blank=True)
    made_dirs = models.JSONField(_("folders apply made"), default=list)

    objects = RollbackQuerySet.as_manager()

    class Meta:
        verbose_name = _("rollback record")
        verbose_name_plural = _("rollback records")

    def __str__(self) -> str:
        return f"{self.proposal_id} ({self.state})"


class RollbackFile(models.Model):
    """One live file that an apply writes: what stood there before (nothing: `existed` false), what stands
    there after. Contents are bytes: a live file need not be UTF-8."""

    rollback = models.ForeignKey(
        Rollback, models.CASCADE, related_name="files", verbose_name=_("rollback record")
    )
    position = models.PositiveIntegerField()
    path = models.TextField(_("path"))
    existed = models.BooleanField(_("existed"))
    previous = models.BinaryField(null=True)
    previous_hash = models.CharField(_("hash before"), max_length=64, blank=True)
    previous_mode = models.PositiveIntegerField(null=True)
    written_hash = models.CharField(_("hash after"), max_length=64)

    class Meta:
        verbose_name = _("file of a rollback record")
        verbose_name_plural = _("files of rollback records")
        ordering = ["rollback", "position"]
        constraints = [models.UniqueConstraint(fields=["rollback", "path"], name="rollback_file_once")]

    def __str__(self) -> str:
        return self.path
