"""Reads for pages and methods: lists by key, never by offset, so that the millionth file costs what the first does."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from archives.models import Archive, ArchiveFile, Bucket, Workspace
from archives.search import MANY, matching_ids, query_tokens

PAGE = 40
BUCKETS = 12
FILES_SHOWN = 24
FILES_PAGE = 120


@dataclass(frozen=True, slots=True)
class Filter:
    """What a list is narrowed to. `agent_ids` None means every agent; `agent_id` "" means all of those."""

    agent_id: str = ""
    day: str = ""
    kind: str = ""
    plan: bool | None = None
    fallback: bool | None = None
    query: str = ""
    agent_ids: frozenset[str] | None = None

    @property
    def is_narrowed(self) -> bool:
        return bool(self.day or self.kind or self.query or self.plan is not None or self.fallback is not None)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows, newest first; `cursor` leads to the next, "" at the end."""

    rows: Sequence
    cursor: str


@dataclass(slots=True)
class Shelf:
    """A bucket as the archive page shows it: its first files, and how many more there are."""

    bucket: Bucket
    files: list[ArchiveFile] = field(default_factory=list)

    @property
    def more(self) -> int:
        return max(self.bucket.file_count - len(self.files), 0)


def list_archives(wanted: Filter, *, before: str = "", limit: int = PAGE) -> Page:
    """Archives with at least one file, newest output first."""
    rows = Archive.objects.select_related("workspace").filter(file_count__gt=0)
    rows = _of_agents(rows, wanted)
    if wanted.plan is not None:
        rows = rows.filter(has_plan=wanted.plan)
    if wanted.fallback is not None:
        rows = rows.filter(is_fallback=wanted.fallback)
    if wanted.kind:
        # Most types are in most archives: asking each row is quicker than gathering all files of a type.
        rows = rows.filter(Exists(ArchiveFile.objects.filter(archive=OuterRef("pk"), kind=wanted.kind)))
    if wanted.day:
        rows = _on_day(rows, wanted.day)
    return _page(rows, before, limit)


def search_files(wanted: Filter, *, before: str = "", limit: int = PAGE) -> Page:
    """Files whose name (or archive) has all words of `wanted.query`, newest first."""
    tokens = query_tokens(wanted.query)
    if not tokens:
        return Page([], "")
    rows = ArchiveFile.objects.select_related("archive__workspace", "bucket", "workspace")
    rows = _of_agents(rows, wanted)
    ids = matching_ids(tokens)
    if ids is not None:
        rows = rows.filter(pk__in=ids)
    else:
        # So common that walking from the newest on meets a page of them at once.
        for token in tokens:
            rows = rows.filter(search_text__contains=f" {token}")
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.day:
        rows = rows.filter(day=wanted.day)
    if wanted.plan is not None:
        rows = rows.filter(archive__has_plan=wanted.plan)
    if wanted.fallback is not None:
        rows = rows.filter(archive__is_fallback=wanted.fallback)
    return _page(rows, before, limit)


def list_shelves(archive: Archive, *, before: str = "", limit: int = BUCKETS) -> Page:
    """The buckets of an archive, newest first, each with its first files by name: two queries, whatever its size."""
    buckets = _with_cut(Bucket.objects.filter(archive=archive, file_count__gt=0), FILES_SHOWN)
    if before:
        buckets = buckets.filter(timestamp__lt=before)
    found = list(buckets.order_by("-timestamp")[: limit + 1])
    shelves = {bucket.pk: Shelf(bucket) for bucket in found[:limit]}
    for file in _first_files(found[:limit]):
        shelf = shelves[file.bucket_id]  # type: ignore[index]
        file.archive, file.bucket = archive, shelf.bucket
        shelf.files.append(file)
    rows = list(shelves.values())
    return Page(rows, rows[-1].bucket.timestamp if len(found) > limit else "")


def latest_names(archives: Sequence[Archive], count: int = 4) -> dict[int, list[str]]:
    """By archive pk, the first names in its newest bucket: what people know an archive by."""
    newest = Bucket.objects.filter(archive=OuterRef("pk"), file_count__gt=0).order_by("-timestamp")
    chosen = Archive.objects.filter(pk__in=[row.pk for row in archives]).annotate(
        newest=Subquery(newest.values("pk")[:1])
    )
    pks = [pk for pk in chosen.values_list("newest", flat=True) if pk]
    buckets = list(_with_cut(Bucket.objects.filter(pk__in=pks), count))
    names: dict[int, list[str]] = {}
    for file in _first_files(buckets):
        names.setdefault(file.archive_id, []).append(file.name)
    return names


def list_bucket(bucket: Bucket, *, after: str = "", limit: int = FILES_PAGE) -> Page:
    """All files of one bucket by name, in pages."""
    files = ArchiveFile.objects.filter(bucket=bucket, name__gt=after) if after else bucket.files.all()
    found = list(files.order_by("name")[: limit + 1])
    for file in found:
        file.archive, file.bucket = bucket.archive, bucket
    return Page(found[:limit], found[limit - 1].name if len(found) > limit else "")


def neighbours(file: ArchiveFile) -> tuple[ArchiveFile | None, ArchiveFile | None]:
    """The files before and after one in its bucket, by name."""
    if file.bucket_id is None:
        return None, None
    there = ArchiveFile.objects.filter(bucket=file.bucket_id).select_related("archive__workspace", "bucket")
    return (
        there.filter(name__lt=file.name).order_by("-name").first(),
        there.filter(name__gt=file.name).order_by("name").first(),
    )


def find_archive(agent_id: str, archive_id: str) -> Archive | None:
    """One archive's row with its workspace, or None."""
    return (
        Archive.objects.select_related("workspace")
        .filter(workspace__agent_id=agent_id, archive_id=archive_id)
        .first()
    )


def find_file(archive: Archive, bucket: str, name: str) -> ArchiveFile | None:
    """One file's row with its archive and bucket; the plan for an empty `bucket`."""
    rows = ArchiveFile.objects.select_related("archive__workspace", "bucket").filter(archive=archive)
    if not bucket:
        return rows.filter(bucket=None).first()
    return rows.filter(bucket__timestamp=bucket, name=name).first()


def workspaces(agent_ids: frozenset[str] | None = None) -> QuerySet[Workspace]:
    """The workspaces somebody may see."""
    rows = Workspace.objects.all()
    return rows if agent_ids is None else rows.filter(agent_id__in=agent_ids)


def default_zone(agent_id: str) -> str:
    """The IANA zone of a wall-clock time that names none: the agent's own, else READER_TIME_ZONE."""
    zone = Workspace.objects.filter(agent_id=agent_id).values_list("zone", flat=True).first()
    return zone or settings.READER_TIME_ZONE


def is_day(text: str) -> bool:
    """Whether a text is a calendar day, `YYYY-MM-DD`."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _on_day(rows: QuerySet, day: str) -> QuerySet:
    of_day = ArchiveFile.objects.filter(day=day)
    ids = list(of_day.order_by("archive").values_list("archive", flat=True).distinct()[: MANY + 1])
    if len(ids) <= MANY:
        return rows.filter(pk__in=ids)
    # So many that walking from the newest on meets a page of them sooner than gathering them all.
    return rows.filter(Exists(of_day.filter(archive=OuterRef("pk"))))


def _with_cut(buckets: QuerySet[Bucket], count: int) -> QuerySet[Bucket]:
    # The name at which a bucket is cut, found by walking its index: a bucket of 100,000 files costs no more.
    names = ArchiveFile.objects.filter(bucket=OuterRef("pk")).order_by("name").values("name")
    return buckets.annotate(cut=Subquery(names[count : count + 1]))


def _first_files(buckets: Sequence[Bucket]) -> list[ArchiveFile]:
    wanted = Q(pk__in=[])
    for bucket in buckets:
        wanted |= Q(bucket=bucket.pk, name__lt=bucket.cut) if bucket.cut else Q(bucket=bucket.pk)  # type: ignore[attr-defined]
    return list(ArchiveFile.objects.filter(wanted).order_by("name"))


def _of_agents(rows: QuerySet, wanted: Filter) -> QuerySet:
    if wanted.agent_id:
        rows = rows.filter(workspace__agent_id=wanted.agent_id)
    if wanted.agent_ids is not None:
        rows = rows.filter(workspace__agent_id__in=wanted.agent_ids)
    return rows


def _page(rows: QuerySet, before: str, limit: int) -> Page:
    if before:
        rows = rows.filter(sort_key__lt=before)
    found = list(rows.order_by("-sort_key")[: limit + 1])
    return Page(found[:limit], found[limit - 1].sort_key if len(found) > limit else "")
