"""What writers that were killed left behind: temporary files of ours, swept once a day."""

import time
from collections.abc import Iterator

from archives.errors import ArchivesError
from archives.models import Archive, Bucket, Workspace
from archives.protocol import ROOT
from archives.store import sweep_temporaries

OLD_SECONDS = 3600


def sweep(workspace: Workspace) -> int:
    """Remove temporary files that writers killed more than an hour ago left in archives; returns how many."""
    older_than = time.time() - OLD_SECONDS
    swept = 0
    for archive_id, timestamp in _folders(workspace):
        folders = (ROOT, archive_id, timestamp) if timestamp else (ROOT, archive_id)
        try:
            swept += sweep_temporaries(workspace.path, folders, older_than=older_than)
        except (ArchivesError, OSError):
            continue
    return swept


def _folders(workspace: Workspace) -> Iterator[tuple[str, str]]:
    rows = Archive.objects.filter(workspace=workspace)
    yield from ((archive_id, "") for archive_id in rows.values_list("archive_id", flat=True).iterator())
    buckets = Bucket.objects.filter(archive__workspace=workspace)
    yield from buckets.values_list("archive__archive_id", "timestamp").iterator()
