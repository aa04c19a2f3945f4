"""Usage, reviews and what was imported from a real OpenClaw."""

from datetime import UTC, datetime

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class SkillUsage(models.Model):
    """Recorded use of one live file. The canonical absolute path is the identity: a moved file starts anew.
    Times are milliseconds since 1970, as on the wire; 0 uses means "not recorded", never "unused"."""

    skill_file = models.TextField(_("file"), unique=True)
    skill_key = models.TextField(_("skill key"))
    skill_name = models.TextField(_("skill"))
    skill_source = models.CharField(_("source"), max_length=64, default="workspace")
    first_used_at_ms = models.BigIntegerField(_("first used"))
    last_used_at_ms = models.BigIntegerField(_("last used"))
    use_count = models.PositiveBigIntegerField(_("uses"), default=0)
    last_agent_id = models.CharField(_("last agent"), max_length=128, blank=True)
    # What the peer's table said at the last import, so that importing again adds only what is new.
    imported_count = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = _("use of a skill")
        verbose_name_plural = _("use of skills")

    def __str__(self) -> str:
        return f"{self.skill_name} ({self.use_count})"


class CollectionReview(models.Model):
    """A finished review of an agent's whole collection, from the peer. `dropped`: ``{"name", "reason"}`` each."""

    review_id = models.CharField(_("review"), max_length=200, primary_key=True)
    owner_agent_id = models.CharField(_("agent"), max_length=128)
    backup_id = models.TextField(_("backup"), blank=True)
    create_time_ms = models.BigIntegerField(_("at"))
    kept_names = models.JSONField(_("kept"), default=list)
    written_names = models.JSONField(_("written"), default=list)
    dropped = models.JSONField(_("dropped"), default=list)

    class Meta:
        verbose_name = _("collection review")
        verbose_name_plural = _("collection reviews")
        ordering = ["-create_time_ms"]

    def __str__(self) -> str:
        return self.review_id

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.create_time_ms / 1000, UTC)


class ReviewState(models.Model):
    """What the peer keeps about its reviews, as `skills.curator.status` reports it: the reviews of collections
    before they became automations, the outcome of experience reviews, and (one row, `key` empty) the last try."""

    class Kind(models.TextChoices):
        LAST = "last", _("last try")
        COLLECTION = "collection", _("collection review")
        EXPERIENCE = "experience", _("experience review")

    kind = models.CharField(_("kind"), max_length=10, choices=Kind, default=Kind.EXPERIENCE)
    key = models.TextField(_("key"), blank=True, help_text=_("A hash of agent and workspace."))
    data = models.JSONField(_("outcome"), default=dict)
    updated_at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("state of reviews")
        verbose_name_plural = _("states of reviews")
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="review_state_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:8]}".strip()


class LearningSession(models.Model):
    """An ordinary session that was opened to learn from past conversations."""

    agent_id = models.CharField(_("agent"), max_length=128)
    session_key = models.TextField(_("session"))
    mode = models.CharField(_("learning mode"), max_length=12)
    delivery_id = models.BigIntegerField(_("delivery"), null=True, blank=True)
    person = models.CharField(_("by"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("learning session")
        verbose_name_plural = _("learning sessions")
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.session_key


class ImportRun(models.Model):
    """One reading of a real `state/openclaw.sqlite` or of old metadata files."""

    source = models.TextField(_("source"))
    fingerprint = models.CharField(_("fingerprint"), max_length=64)
    counts = models.JSONField(_("counts"), default=dict)
    problems = models.JSONField(_("problems"), default=list)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.source} ({self.started_at:%Y-%m-%d %H:%M})"
