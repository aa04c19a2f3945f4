"""Run as a process with DATABASE_URL: the parts of archives whose SQL differs between the two databases."""

import sys
import tempfile
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connection

django.setup()

from archives import queries, search  # noqa: E402 (Django must be set up first)
from archives.indexer import drop_index, scan_workspace  # noqa: E402
from archives.models import Archive, ArchiveFile, Workspace  # noqa: E402
from archives.queries import Filter  # noqa: E402
from tests.archives.crowd import fill  # noqa: E402


def names(query: str) -> list[str]:
    return [row.name for row in queries.search_files(Filter(query=query)).rows]


def main() -> None:
    assert connection.vendor == "postgresql"
    call_command("migrate", "archives", verbosity=0)
    workspace = Workspace.objects.create(agent_id="ops", root=tempfile.mkdtemp(), zone="UTC")
    fill(workspace, 2000)
    assert names("rare") == ["报告 rare 7.csv", "报告 rare 0.md", "报告 rare 3.png"]
    assert names("absent") == [] and len(names("报告")) == 40
    search.MANY = 50
    keys = [row.sort_key for row in queries.search_files(Filter(query="报告")).rows]
    assert len(keys) == 40 and keys == sorted(keys, reverse=True)
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT id FROM archives_archivefile WHERE to_tsvector('simple', search_text) @@ to_tsquery('simple', 'xrare:*')"
        )
        assert "archives_name_search" in "\n".join(row[0] for row in cursor.fetchall())
    shelf = queries.list_shelves(Archive.objects.order_by("-sort_key").first()).rows[0]
    assert len(shelf.files) == 10
    Archive.objects.all().delete()

    bucket = workspace.path / "archives/main/2026-04-16-14-30-05"
    bucket.mkdir(parents=True)
    (bucket / "竞品快报 11-30.md").write_text("x")
    (bucket.parent / "PLAN.md").write_text("plan")
    assert scan_workspace(workspace).added == 2
    assert names("快报") == ["竞品快报 11-30.md"] and names("品") == ["竞品快报 11-30.md"]
    before = list(ArchiveFile.objects.order_by("sort_key").values_list("name", "sort_key", "search_text"))
    drop_index(workspace)
    scan_workspace(workspace)
    assert (
        list(ArchiveFile.objects.order_by("sort_key").values_list("name", "sort_key", "search_text"))
        == before
    )
    (bucket / "竞品快报 11-30.md").unlink()
    assert scan_workspace(workspace).removed == 1 and names("快报") == []
    print("fine")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    main()
