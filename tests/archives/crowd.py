"""Index rows in bulk, without files behind them: what 100 or 100,000 archived files look like to the database."""

from datetime import UTC, datetime, timedelta

from django.db import connection

from archives.models import Archive, ArchiveFile, Bucket, Workspace
from archives.search import make_search_text

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ENDINGS = (("md", "markdown"), ("json", "json"), ("csv", "table"), ("png", "image"), ("txt", "text"))


def fill(workspace: Workspace, count: int, *, per_bucket: int = 10, per_archive: int = 50) -> None:
    """`count` files in buckets of `per_bucket`, archives of `per_archive`, a second between buckets."""
    archives = [_archive(workspace, at, per_archive, per_bucket) for at in range(count // per_archive)]
    Archive.objects.bulk_create(archives, batch_size=2000)
    buckets = [
        Bucket(archive=archives[at // (per_archive // per_bucket)], timestamp=_stamp(at), at=BEGIN + timedelta(seconds=at),
               file_count=per_bucket, total_size=per_bucket * 100)
        for at in range(count // per_bucket)
    ]  # fmt: skip
    Bucket.objects.bulk_create(buckets, batch_size=2000)
    names = [[make_search_text(_name(0, at, ending), "") for at in range(10)] for ending, _kind in ENDINGS]
    rows = []
    for at in range(count):
        bucket = buckets[at // per_bucket]
        archive_id = bucket.archive.archive_id
        rare = at % 997 == 3
        ending, kind = ENDINGS[at % 5]
        name = _name(rare, at % per_bucket, ending)
        tokens = (
            make_search_text(name, archive_id)
            if rare or per_bucket > 10
            else (f"{names[at % 5][at % per_bucket]} x{archive_id} xsession x{archive_id[7:]}")
        )
        key = f"{bucket.timestamp} {archive_id}/{name} {workspace.agent_id}"
        rows.append(
            (
                workspace.pk,
                bucket.archive.pk,
                bucket.pk,
                name,
                kind,
                100,
                bucket.at,
                bucket.timestamp[:10],
                key,
                tokens,
            )
        )
    columns = "workspace_id, archive_id, bucket_id, name, kind, size, modified_at, day, sort_key, search_text"
    with connection.cursor() as cursor:
        # By hand: Django's own way takes half a minute for 100,000 rows.
        cursor.executemany(
            f"INSERT INTO {ArchiveFile._meta.db_table} ({columns}) VALUES ({', '.join(['%s'] * 10)})", rows
        )


def _name(rare: bool | int, number: int, ending: str) -> str:
    return f"报告 {'rare' if rare else 'daily'} {number}.{ending}"


def _archive(workspace: Workspace, at: int, per_archive: int, per_bucket: int) -> Archive:
    last = (at + 1) * (per_archive // per_bucket) - 1
    archive_id = f"session{at:06d}"
    return Archive(
        workspace=workspace, archive_id=archive_id, is_fallback=at % 40 == 1, has_plan=False, file_count=per_archive,
        bucket_count=per_archive // per_bucket, total_size=per_archive * 100, newest_at=BEGIN + timedelta(seconds=last),
        sort_key=f"{_stamp(last)} {archive_id} {workspace.agent_id}",
    )  # fmt: skip


def _stamp(second: int) -> str:
    return f"{BEGIN + timedelta(seconds=second):%Y-%m-%d-%H-%M-%S}"
