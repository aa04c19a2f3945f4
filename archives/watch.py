"""Seeing what agents write while they write it: the kernel's notices, one process for all workspaces.

The scan every minute and the look at each opened page work without it; this makes it seconds instead.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from threading import Event

from django.db import close_old_connections
from watchfiles import watch

from archives import indexer
from archives.models import Workspace
from archives.protocol import ROOT
from archives.store import is_temporary
from gateway.events import publish

logger = logging.getLogger(__name__)
# Its lines count changes and name none; ours are in the event ledger.
logging.getLogger("watchfiles").setLevel(logging.WARNING)
LOOK_AGAIN_MS = 5000
MANY = 200


def follow(stop: Event) -> None:
    """Watch every known workspace until `stop` is set; new workspaces and new `archives/` are picked up by themselves."""
    while not stop.is_set():
        close_old_connections()
        watched = _watched()
        if not watched:
            stop.wait(LOOK_AGAIN_MS / 1000)
            continue
        try:
            _follow_these(watched, stop)
        except OSError as error:
            # Out of inotify watches, or a folder went away just now: the scheduled scan goes on meanwhile.
            logger.warning("cannot watch archives: %s", error)
            stop.wait(LOOK_AGAIN_MS / 1000)


def touched(paths: Iterable[str], folder: Path) -> dict[str, set[str]]:
    """Archive ids with the buckets in which something happened, from changed paths below `archives/`."""
    found: dict[str, set[str]] = {}
    for path in paths:
        try:
            parts = Path(path).relative_to(folder).parts
        except ValueError:
            continue
        if parts and not is_temporary(parts[-1]):
            found.setdefault(parts[0], set()).update(parts[1:2])
    return found


def _watched() -> dict[Path, int]:
    folders = ((workspace.path / ROOT, workspace.pk) for workspace in Workspace.objects.all())
    return {folder.resolve(): pk for folder, pk in folders if folder.is_dir() and not folder.is_symlink()}


def _follow_these(watched: dict[Path, int], stop: Event) -> None:
    for changes in watch(
        *watched,
        watch_filter=None,
        debounce=800,
        step=100,
        rust_timeout=LOOK_AGAIN_MS,
        yield_on_timeout=True,
        stop_event=stop,
    ):
        close_old_connections()
        paths = [path for _change, path in changes]
        for folder, pk in watched.items():
            found = touched(paths, folder)
            workspace = Workspace.objects.filter(pk=pk).first() if found else None
            if workspace:
                _look(workspace, found)
        if not changes and _watched() != watched:
            return


def _look(workspace: Workspace, found: dict[str, set[str]]) -> None:
    if len(found) > MANY:
        indexer.scan_workspace(workspace)
    else:
        for archive_id, buckets in found.items():
            indexer.refresh_archive(workspace, archive_id, again=buckets)
    publish("archive.seen", agent_id=workspace.agent_id, data={"archives": sorted(found)[:20]})
