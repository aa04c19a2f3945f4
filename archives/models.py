"""The index of what lies in agents' workspaces under `archives/`. It can be dropped and rebuilt from the disk."""

from pathlib import Path
from zoneinfo import ZoneInfo

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from archives.clock import zone_named
from archives.protocol import ROOT, ArchivePath


class Workspace(models.Model):
    """One agent's workspace. `agents` keeps the rows in step with the roster (`agents.roster.sync_workspaces`)."""

    agent_id = models.CharField(_("agent"), max_length=128, unique=True)
    root = models.CharField(_("folder"), max_length=4096)
    label = models.CharField(_("name"), max_length=200, blank=True)
    zone = models.CharField(
        _("time zone"), max_length=64, blank=True, help_text=_("Empty: the local time of this host.")
    )
    # What the last look at the disk saw; ours alone.
    folder_mtime_ns = models.BigIntegerField(default=0, editable=False)
    indexed_zone = models.CharField(max_length=64, blank=True, editable=False)
    scanned_at = models.DateTimeField(_("last look at the disk"), null=True, blank=True, editable=False)
    scan_error = models.CharField(_("what the last look met"), max_length=500, blank=True, editable=False)

    class Meta:
        verbose_name = _("workspace")
        verbose_name_plural = _("workspaces")
        ordering = ["agent_id"]

    def __str__(self) -> str:
        return self.label or self.agent_id

    @property
    def path(self) -> Path:
        return Path(self.root)

    @property
    def tz(self) -> ZoneInfo:
        """The zone that this agent's TIMESTAMPs are in."""
        return zone_named(self.zone)


class Archive(models.Model):
    """One `archives/{ARCHIVE_ID}` of one workspace, with what its list row needs."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="archives")
    archive_id = models.CharField(_("archive id"), max_length=128)
    is_fallback = models.BooleanField(_("fallback id"), default=False)
    has_plan = models.BooleanField(_("has a plan"), default=False)
    file_count = models.PositiveIntegerField(_("files"), default=0)
    bucket_count = models.PositiveIntegerField(_("buckets"), default=0)
    total_size = models.PositiveBigIntegerField(_("size in bytes"), default=0)
    newest_at = models.DateTimeField(_("newest output"), null=True, blank=True)
    # "<newest TIMESTAMP> <archive id> <agent>": one column to page by, the same after every rebuild.
    sort_key = models.CharField(max_length=300, db_index=True)
    folder_mtime_ns = models.BigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = _("archive")
        verbose_name_plural = _("archives")
        ordering = ["-sort_key"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "archive_id"], name="archive_once_a_workspace")
        ]
        indexes = [models.Index(fields=["workspace", "-sort_key"])]

    def __str__(self) -> str:
        return f"{ROOT}/{self.archive_id}"

    def get_absolute_url(self) -> str:
        return reverse("archives:archive", args=[self.workspace.agent_id, self.archive_id])


class Bucket(models.Model):
    """One `{TIMESTAMP}` folder of an archive."""

    archive = models.ForeignKey(Archive, models.CASCADE, related_name="buckets")
    timestamp = models.CharField(_("timestamp"), max_length=19)
    at = models.DateTimeField(_("instant"))
    file_count = models.PositiveIntegerField(_("files"), default=0)
    total_size = models.PositiveBigIntegerField(_("size in bytes"), default=0)
    folder_mtime_ns = models.BigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = _("bucket")
        verbose_name_plural = _("buckets")
        ordering = ["-timestamp"]
        constraints = [
            models.UniqueConstraint(fields=["archive", "timestamp"], name="bucket_once_an_archive")
        ]

    def __str__(self) -> str:
        return self.timestamp


class ArchiveFile(models.Model):
    """One regular file on one of the two tracks. The plan has no bucket."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="+")
    archive = models.ForeignKey(Archive, models.CASCADE, related_name="files")
    bucket = models.ForeignKey(Bucket, models.CASCADE, null=True, blank=True, related_name="files")
    name = models.CharField(_("name"), max_length=255)
    kind = models.CharField(_("type"), max_length=16)
    size = models.PositiveBigIntegerField(_("size in bytes"))
    modified_at = models.DateTimeField(_("modified"))
    day = models.CharField(_("day"), max_length=10)
    # "<TIMESTAMP> <archive id>/<name> <agent>": one column to page by, the same after every rebuild.
    sort_key = models.CharField(max_length=600)
    # What search looks at; `search.py` makes it and keeps its full-text index by triggers.
    search_text = models.TextField(blank=True, editable=False)

    class Meta:
        verbose_name = _("archived file")
        verbose_name_plural = _("archived files")
        ordering = ["-sort_key"]
        constraints = [
            models.UniqueConstraint(fields=["bucket", "name"], name="file_once_a_bucket"),
            models.UniqueConstraint(
                fields=["archive"], condition=models.Q(bucket=None), name="plan_once_an_archive"
            ),
        ]
        indexes = [
            models.Index(fields=["-sort_key"]),
            models.Index(fields=["workspace", "-sort_key"]),
            models.Index(fields=["archive", "kind"]),
            models.Index(fields=["day", "archive"]),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_plan(self) -> bool:
        return self.bucket_id is None

    @property
    def path(self) -> ArchivePath:
        """Where it lies, relative to the workspace. Needs `archive` and `bucket` loaded."""
        return ArchivePath(self.archive.archive_id, self.bucket.timestamp if self.bucket else "", self.name)
