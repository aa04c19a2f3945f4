"""Index rows in bulk, without files behind them: what 100 or 100,000 archived files look like to the database."""

from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from archives.models import Archive, ArchiveFile, Bucket, Workspace
from archives.search import make_search_text

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ENDINGS = (("md", "markdown"), ("json", "json"), ("csv", "table"), ("png", "image"), ("txt", "text"))


@transaction.atomic
def fill(
    workspace: Workspace, count: int, *, per_bucket: int = 10, per_archive: int = 50, rare_every: int = 997
) -> None:
    """`count` files in buckets of `per_bucket`, archives of `per_archive`, a second between buckets."""
    archives = [_archive(workspace, at, per_archive, per_bucket) for at in range(count // per_archive)]
    Archive.objects.bulk_create(archives, batch_size=2000)
    buckets = [
        Bucket(archive=archives[at // (per_archive // per_bucket)], timestamp=_stamp(at), at=BEGIN + timedelta(seconds=at),
               file_count=per_bucket, total_size=per_bucket * 100)
        for at in range(count // per_bucket)
    ]  # fmt: skip
    Bucket.objects.bulk_create(buckets, batch_size=2000)
    table, ending = ArchiveFile._meta.db_table, _case("n.i % 5", [one for one, _kind in ENDINGS])
    word = f"CASE WHEN n.i % {rare_every} = 3 % {rare_every} THEN 'rare' ELSE 'daily' END"
    number = f"(n.i % {per_bucket})"
    name = f"'报告 ' || {word} || ' ' || {number} || '.' || {ending}"
    tokens = (
        f"'{make_search_text('报告', '')} x' || {word} || ' x' || {number} || ' x' || {ending} "
        "|| ' x' || a.archive_id || ' xsession x' || substr(a.archive_id, 8)"
    )
    with connection.cursor() as cursor:
        # In one statement: row by row, Django takes half a minute for 100,000.
        cursor.execute(
            f"""
            INSERT INTO {table} (workspace_id, archive_id, bucket_id, name, kind, size, modified_at, day, sort_key,
                                 search_text)
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})
            SELECT {workspace.pk}, a.id, b.id, {name}, {_case("n.i % 5", [kind for _one, kind in ENDINGS])}, 100, b.at,
                   substr(b.timestamp, 1, 10),
                   b.timestamp || ' ' || a.archive_id || '/' || {name} || ' {workspace.agent_id}', {tokens}
            FROM n JOIN {Bucket._meta.db_table} b ON b.id = {buckets[0].pk} + n.i / {per_bucket}
                   JOIN {Archive._meta.db_table} a ON a.id = b.archive_id
            """
        )


def _case(what: str, values: list[str]) -> str:
    return f"CASE {what} " + " ".join(f"WHEN {at} THEN '{value}'" for at, value in enumerate(values)) + " END"


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
