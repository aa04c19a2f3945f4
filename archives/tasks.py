"""Entry points for Django-Q."""

from archives.indexer import scan_workspace
from archives.models import Workspace
from archives.sweep import sweep
from gateway.schedules import repeat

repeat("archives.follow_disk", "archives.tasks.follow_disk", minutes=1)
repeat("archives.look_at_everything", "archives.tasks.look_at_everything", minutes=24 * 60)


def follow_disk() -> int:
    """Brings the index in step with what changed on the disk; safe to run twice. Returns the number of changes."""
    return sum(scan_workspace(workspace).changes for workspace in Workspace.objects.all())


def look_at_everything() -> int:
    """The same without trusting folder times, once a day; also sweeps what killed writers left behind."""
    return sum(scan_workspace(one, every=True).changes + sweep(one) for one in Workspace.objects.all())
