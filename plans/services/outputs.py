"""Step 4 of every plan: are the outputs archived? Looked up on the disk, not taken from the agent's word.

An isolated turn has a session of its own, so an agent that follows the archive protocol to the letter archives under
*that* session's id; the plan's text names the plan's archive. Both are looked at, and files that the final text shows
as cards too.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from archives.blocks import read_blocks
from archives.errors import ArchivesError
from archives.opening import open_folder
from archives.protocol import ROOT, read_timestamp
from plans.errors import PlansError
from plans.models import Run
from plans.services.revisions import workspace_root

MOST_OUTPUTS = 200
# Clocks of file systems are coarse.
SLACK = timedelta(seconds=2)


def find_outputs(run: Run, *, reply_text: str) -> list[dict[str, Any]]:
    """`[{"path", "size", "modified"}]` of archived files written since the run started, oldest bucket first."""
    try:
        root = workspace_root(run.plan.agent_id)
    except PlansError:
        return []
    since = (run.started_at or run.created_at) - SLACK
    ids = dict.fromkeys([run.plan.archive_id, run.session_key.rpartition(":")[2]])
    ids.update(dict.fromkeys(card.archive_id for card in read_blocks(reply_text).cards))
    found: list[dict[str, Any]] = []
    for archive_id in ids:
        if archive_id:
            found += written_in(root, archive_id, since=since)
    return sorted(found, key=lambda item: item["path"])[:MOST_OUTPUTS]


def written_in(root: Path, archive_id: str, *, since: datetime) -> list[dict[str, Any]]:
    """The ordinary files of one archive that were written since then, as `find_outputs` tells them."""
    found = []
    try:
        with open_folder(root, (ROOT, archive_id)) as archive:
            buckets = [name for name in os.listdir(archive) if read_timestamp(name)]  # noqa: PTH208 (a descriptor)
        for bucket in buckets:
            found += _files_of(root, archive_id, bucket, since)
    except (ArchivesError, OSError):
        # No such archive, or a link in its place: then nothing is archived there.
        return found
    return found


def _files_of(root: Path, archive_id: str, bucket: str, since: datetime) -> list[dict[str, Any]]:
    found = []
    with open_folder(root, (ROOT, archive_id, bucket)) as folder, os.scandir(folder) as entries:
        for entry in entries:
            facts = entry.stat(follow_symlinks=False)
            written = datetime.fromtimestamp(facts.st_mtime, tz=since.tzinfo)
            if entry.is_file(follow_symlinks=False) and written >= since and facts.st_size:
                path = f"{ROOT}/{archive_id}/{bucket}/{entry.name}"
                modified = written.isoformat(timespec="seconds")
                found.append({"path": path, "size": facts.st_size, "modified": modified})
    return found
