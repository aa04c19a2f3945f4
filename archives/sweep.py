"""What writers that were killed left behind: temporary files of ours, swept once a day."""

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from archives.errors import ArchivesError
from archives.models import Archive, Bucket, Workspace
from archives.places import history_of
from archives.protocol import ROOT
from archives.store import sweep_temporaries

OLD_SECONDS = 3600


def sweep(workspace: Workspace) -> int:
    """Remove temporary files that writers killed more than an hour ago left; returns how many.

    Looked at are the archives of the index, and the kept texts of the agent's plans.
    """
    older_than = time.time() - OLD_SECONDS
    swept = 0
    for root, folders in chain(_archives(workspace), _histories(workspace)):
        try:
            swept += sweep_temporaries(root, folders, older_than=older_than)
        except (ArchivesError, OSError):
            continue
    return swept


def _archives(workspace: Workspace) -> Iterator[tuple[Path, tuple[str, ...]]]:
    rows = Archive.objects.filter(workspace=workspace)
    for archive_id in rows.values_list("archive_id", flat=True).iterator():
        yield workspace.path, (ROOT, archive_id)
    buckets = Bucket.objects.filter(archive__workspace=workspace)
    for archive_id, timestamp in buckets.values_list("archive__archive_id", "timestamp").iterator():
        yield workspace.path, (ROOT, archive_id, timestamp)


def _histories(workspace: Workspace) -> Iterator[tuple[Path, tuple[str, ...]]]:
    history = history_of(workspace.agent_id)
    if history.is_dir():
        yield from ((history, (folder.name,)) for folder in history.iterdir() if folder.is_dir())
