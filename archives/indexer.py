"""Keeping the index in step with the disk: `scan_workspace` for all, `refresh_archive` for the one being looked at.

Reading happens first and outside any transaction; then rows are changed in one short transaction per batch.
One process at a time indexes a workspace (a lock file), so that an older look never overwrites a newer one.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils import timezone

from archives import disk
from archives.clock import instant_of
from archives.disk import FileFacts, Snapshot
from archives.errors import ArchivesError
from archives.kinds import kind_of
from archives.models import Archive, ArchiveFile, Bucket, Workspace
from archives.places import history_of, index_lock
from archives.plan_file import keep_present
from archives.protocol import is_fallback_id, take_timestamp
from archives.search import make_search_text

BATCH = 200
ROWS = 1000

# What is remembered of an archive's buckets: TIMESTAMP -> (key, folder time in ns).
Known = dict[str, tuple[int, int]]


@dataclass(slots=True)
class Seen:
    """What a look at the disk changed in the index."""

    archives: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def changes(self) -> int:
        return self.added + self.changed + self.removed


def scan_workspace(workspace: Workspace, *, every: bool = False) -> Seen:
    """Bring the whole index of one workspace in step. `every` lists even folders that look unchanged.

    A workspace whose zone is another than at the last scan is looked at as a whole, for its instants have moved.
    A workspace that cannot be opened empties its index and leaves the reason in `scan_error`.
    """
    seen = Seen()
    every = every or workspace.indexed_zone != workspace.zone
    with index_lock(workspace):
        error = ""
        try:
            ids, folder_mtime_ns = disk.list_archive_ids(workspace.path)
        except (ArchivesError, OSError) as problem:
            ids, folder_mtime_ns, error = [], 0, str(problem)
        seen.archives = len(ids)
        seen.removed += _drop_missing(workspace, ids)
        for batch in _batches(ids):
            _scan_batch(workspace, batch, every, seen)
        Workspace.objects.filter(pk=workspace.pk).update(
            folder_mtime_ns=folder_mtime_ns,
            scanned_at=timezone.now(),
            scan_error=error[:500],
            indexed_zone=workspace.zone,
        )
        workspace.indexed_zone = workspace.zone
    return seen


def refresh_archive(
    workspace: Workspace, archive_id: str, *, wait: bool = True, again: Collection[str] = ()
) -> Archive | None:
    """Bring one archive in step and return its row, None when it is not on the disk.

    `wait=False` skips the look where another process is indexing this workspace just now; buckets named in `again`
    are listed even if their folders look unchanged.
    """
    with index_lock(workspace, wait=wait) as held:
        if held:
            _scan_batch(workspace, [archive_id], False, Seen(), again)
    return Archive.objects.filter(workspace=workspace, archive_id=archive_id, file_count__gt=0).first()


def refresh_list(workspace: Workspace) -> None:
    """Index archives that are new on the disk and drop those gone, if `archives/` has changed; else one stat."""
    now = disk.folder_time(workspace.path)
    if now and now == workspace.folder_mtime_ns:
        return
    with index_lock(workspace, wait=False) as held:
        if not held:
            return
        try:
            ids, folder_mtime_ns = disk.list_archive_ids(workspace.path)
        except (ArchivesError, OSError):
            return
        _drop_missing(workspace, ids)
        known = set(Archive.objects.filter(workspace=workspace).values_list("archive_id", flat=True))
        for batch in _batches(one for one in ids if one not in known):
            _scan_batch(workspace, batch, False, Seen())
        Workspace.objects.filter(pk=workspace.pk).update(folder_mtime_ns=folder_mtime_ns)


def drop_index(workspace: Workspace) -> None:
    """Forget everything about a workspace's files; the next scan finds it again."""
    with index_lock(workspace):
        Archive.objects.filter(workspace=workspace).delete()
        Workspace.objects.filter(pk=workspace.pk).update(folder_mtime_ns=0, scanned_at=None)


def _scan_batch(
    workspace: Workspace, ids: list[str], every: bool, seen: Seen, again: Collection[str] = ()
) -> None:
    rows = {row.archive_id: row for row in Archive.objects.filter(workspace=workspace, archive_id__in=ids)}
    buckets: dict[int, Known] = {}
    seen_before = Bucket.objects.filter(archive__workspace=workspace, archive__archive_id__in=ids)
    for archive_pk, timestamp, pk, mtime in seen_before.values_list(
        "archive_id", "timestamp", "pk", "folder_mtime_ns"
    ):
        buckets.setdefault(archive_pk, {})[timestamp] = (pk, mtime)
    plans = {
        row.archive_id: row
        for row in ArchiveFile.objects.filter(archive__in=list(rows.values()), bucket=None)
    }
    for archive_id in ids:
        row = rows.get(archive_id)
        known = buckets.get(row.pk, {}) if row else {}
        snapshot = disk.read_archive(
            workspace.path,
            archive_id,
            {name: mtime for name, (_pk, mtime) in known.items()},
            every=every,
            again=again,
        )
        if snapshot is None:
            if row:
                seen.removed += row.file_count
                row.delete()
            continue
        plan = plans.get(row.pk) if row else None
        if row and not every and not _differs(row, known, plan, snapshot):
            continue
        if snapshot.plan and not _same(plan, snapshot.plan):
            _keep_plan(workspace, archive_id)
        _apply(workspace, row, known, plan, snapshot, seen)


def _differs(row: Archive, known: Known, plan: ArchiveFile | None, snapshot: Snapshot) -> bool:
    return bool(snapshot.listed) or known.keys() != snapshot.buckets.keys() or not _same(plan, snapshot.plan)


@transaction.atomic
def _apply(
    workspace: Workspace,
    row: Archive | None,
    known: Known,
    plan: ArchiveFile | None,
    snapshot: Snapshot,
    seen: Seen,
) -> None:
    if row is None:
        row = Archive.objects.create(
            workspace=workspace,
            archive_id=snapshot.archive_id,
            is_fallback=is_fallback_id(snapshot.archive_id),
            sort_key="",
        )
    gone = [pk for name, (pk, _mtime) in known.items() if name not in snapshot.buckets]
    if gone:
        seen.removed += ArchiveFile.objects.filter(bucket__in=gone).count()
        Bucket.objects.filter(pk__in=gone).delete()
    changed = Bucket.objects.in_bulk([known[name][0] for name in snapshot.listed if name in known])
    for name, files in snapshot.listed.items():
        bucket = changed.get(known[name][0]) if name in known else None
        _apply_bucket(workspace, row, bucket, name, snapshot.buckets[name], files, seen)
    _apply_files(workspace, row, None, [plan] if plan else [], [snapshot.plan] if snapshot.plan else [], seen)
    _sum_up(workspace, row, snapshot)


def _apply_bucket(
    workspace: Workspace,
    row: Archive,
    bucket: Bucket | None,
    name: str,
    mtime: int,
    files: list[FileFacts],
    seen: Seen,
) -> None:
    if bucket is None:
        bucket = Bucket.objects.create(archive=row, timestamp=name, at=instant_of(name, workspace.tz))
    known = list(ArchiveFile.objects.filter(bucket=bucket))
    _apply_files(workspace, row, bucket, known, files, seen)
    bucket.file_count, bucket.total_size = len(files), sum(one.size for one in files)
    bucket.folder_mtime_ns = mtime
    bucket.at = instant_of(name, workspace.tz)
    bucket.save(update_fields=["at", "file_count", "total_size", "folder_mtime_ns"])


def _apply_files(
    workspace: Workspace,
    row: Archive,
    bucket: Bucket | None,
    known: list[ArchiveFile],
    files: list[FileFacts],
    seen: Seen,
) -> None:
    there = {one.name: one for one in files}
    gone = [one.pk for one in known if one.name not in there]
    if gone:
        ArchiveFile.objects.filter(pk__in=gone).delete()
    changed = [
        one
        for one in known
        if one.name in there and not (_same(one, there[one.name]) and _in_zone(workspace, one))
    ]
    for one in changed:
        _fill(workspace, row, bucket, one, there[one.name])
    ArchiveFile.objects.bulk_update(changed, ["size", "modified_at", "day", "sort_key"], batch_size=ROWS)
    names = {one.name for one in known}
    fresh = [
        _fill(workspace, row, bucket, ArchiveFile(workspace=workspace, archive=row, bucket=bucket), one)
        for one in files
        if one.name not in names
    ]
    ArchiveFile.objects.bulk_create(fresh, batch_size=ROWS)
    seen.added += len(fresh)
    seen.changed += len(changed)
    seen.removed += len(gone)


def _fill(
    workspace: Workspace, row: Archive, bucket: Bucket | None, file: ArchiveFile, facts: FileFacts
) -> ArchiveFile:
    file.name, file.size = facts.name, facts.size
    file.kind = kind_of(facts.name)
    file.modified_at = instant_of_ns(facts.modified_ns)
    timestamp = bucket.timestamp if bucket else take_timestamp(file.modified_at, workspace.tz)
    file.day = timestamp[:10]
    file.sort_key = f"{timestamp} {row.archive_id}/{facts.name} {workspace.agent_id}"
    file.search_text = make_search_text(facts.name, row.archive_id)
    return file


def _sum_up(workspace: Workspace, row: Archive, snapshot: Snapshot) -> None:
    total = Bucket.objects.filter(archive=row).aggregate(
        count=Count("pk", filter=Q(file_count__gt=0)), files=Sum("file_count"), size=Sum("total_size")
    )
    newest = Bucket.objects.filter(archive=row, file_count__gt=0).order_by("-timestamp").first()
    row.has_plan = snapshot.plan is not None
    row.bucket_count = total["count"]
    row.file_count = (total["files"] or 0) + int(row.has_plan)
    row.total_size = (total["size"] or 0) + (snapshot.plan.size if snapshot.plan else 0)
    row.newest_at = (
        newest.at if newest else instant_of_ns(snapshot.plan.modified_ns) if snapshot.plan else None
    )
    timestamp = (
        newest.timestamp if newest else take_timestamp(row.newest_at, workspace.tz) if row.newest_at else ""
    )
    row.sort_key = f"{timestamp} {row.archive_id} {workspace.agent_id}"
    row.folder_mtime_ns = snapshot.folder_mtime_ns
    row.save()


def _drop_missing(workspace: Workspace, ids: list[str]) -> int:
    there = set(ids)
    gone = [
        (row.pk, row.file_count)
        for row in Archive.objects.filter(workspace=workspace)
        .only("pk", "archive_id", "file_count")
        .iterator()
        if row.archive_id not in there
    ]
    for batch in _batches(gone):
        Archive.objects.filter(pk__in=[pk for pk, _files in batch]).delete()
    return sum(files for _pk, files in gone)


def _keep_plan(workspace: Workspace, archive_id: str) -> None:
    try:
        keep_present(workspace.path, history_of(workspace.agent_id), archive_id)
    except (ArchivesError, OSError):
        # The plan changed or went while we looked; the next look keeps what is there then.
        return


def _same(row: ArchiveFile | None, facts: FileFacts | None) -> bool:
    if row is None or facts is None:
        return row is None and facts is None
    return row.size == facts.size and row.modified_at == instant_of_ns(facts.modified_ns)


def _in_zone(workspace: Workspace, row: ArchiveFile) -> bool:
    """A plan has no TIMESTAMP of its own: its day and place are its date's, in the workspace's zone."""
    return not row.is_plan or row.sort_key.startswith(take_timestamp(row.modified_at, workspace.tz))


def instant_of_ns(ns: int) -> datetime:
    """A file's modification time as an aware instant, to the microsecond."""
    try:
        return datetime.fromtimestamp(ns // 1000 / 1_000_000, UTC)
    except (ValueError, OverflowError, OSError):
        # A nonsensical time on the disk (year 292277026596) must not stop the scan.
        return datetime.fromtimestamp(0, UTC)


def _batches(things: Iterable) -> Iterator[list]:
    iterator = iter(things)
    while batch := list(islice(iterator, BATCH)):
        yield batch
