"""100,000 indexed files cost the pages the same number of queries as 100."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from archives import indexer, queries
from archives.models import Archive, Bucket
from archives.queries import Filter
from tests.archives.crowd import fill
from tests.hang import not_hanging

PAGES = (
    "",
    "?kind=json",
    "?day=2026-01-01",
    "?fallback=yes",
    "?plan=no",
    "?q=报告",
    "?q=rare",
    "?q=daily&kind=json",
    "?q=absent",
    "?agent=ops&kind=image",
)


def ours(seen) -> int:
    """The queries that touch archives: the frame's own counts are kept for seconds, and so come and go."""
    return sum("archives_" in query["sql"] for query in seen.captured_queries)


def counts(client, agent_id: str) -> dict[str, int]:
    found = {}
    for page in PAGES:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(f"/archives/{page}").status_code == 200
        found[page] = ours(seen)
    archive = Archive.objects.order_by("-sort_key").first()
    bucket = Bucket.objects.filter(archive=archive).first()
    for page in (
        f"{agent_id}/{archive.archive_id}/",
        f"{agent_id}/{archive.archive_id}/bucket/{bucket.timestamp}/",
    ):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(f"/archives/{page}").status_code == 200
        found[page.split("/")[2] or "archive"] = ours(seen)
    return found


@pytest.fixture
def still(monkeypatch):
    """The rows here have no files behind them: the look at the disk would rightly remove them."""
    monkeypatch.setattr(indexer, "refresh_list", lambda workspace: None)
    monkeypatch.setattr(
        indexer,
        "refresh_archive",
        lambda workspace, archive_id, **how: Archive.objects.get(archive_id=archive_id),
    )


@pytest.mark.slow
def test_every_page_makes_the_same_number_of_queries_at_100_and_at_100_000_files(viewer, workspace, still):
    fill(workspace, 100)
    viewer.get("/archives/")
    few = counts(viewer, "ops")
    Archive.objects.all().delete()
    fill(workspace, 100_000)
    many = counts(viewer, "ops")
    assert many == few
    assert min(many.values()) >= 2 and max(many.values()) <= 8
    with not_hanging():
        for query in ("报告", "rare", "absent", "daily"):
            queries.search_files(Filter(query=query))


def test_one_bucket_of_thousands_costs_its_archives_page_nothing_more(workspace):
    fill(workspace, 3000, per_bucket=3000, per_archive=3000)
    archive = Archive.objects.get()
    with CaptureQueriesContext(connection) as seen:
        page = queries.list_shelves(archive)
    assert (len(page.rows[0].files), page.rows[0].more, len(seen)) == (24, 2976, 2)


def test_a_common_word_is_found_newest_first_without_gathering_all(workspace, monkeypatch):
    monkeypatch.setattr("archives.search.MANY", 50)
    fill(workspace, 200)
    first = queries.search_files(Filter(query="报告"), limit=30)
    second = queries.search_files(Filter(query="报告"), before=first.cursor, limit=30)
    keys = [row.sort_key for row in [*first.rows, *second.rows]]
    assert keys == sorted(keys, reverse=True) and len(set(keys)) == 60


def test_a_rare_word_is_found_by_the_index(workspace):
    fill(workspace, 2000)
    found = [row.name for row in queries.search_files(Filter(query="rare")).rows]
    assert found == ["报告 rare 7.csv", "报告 rare 0.md", "报告 rare 3.png"]


def test_a_busy_day_and_a_quiet_one_show_the_same_rows(workspace, monkeypatch):
    fill(workspace, 400)
    few = [row.archive_id for row in queries.list_archives(Filter(day="2026-01-01")).rows]
    monkeypatch.setattr(queries, "MANY", 3)
    assert [row.archive_id for row in queries.list_archives(Filter(day="2026-01-01")).rows] == few
    assert len(few) == 8 and few == sorted(few, reverse=True)
    assert queries.list_archives(Filter(day="2026-01-02")).rows == []


@pytest.fixture
def postgres_url():
    """A database of its own on this host's PostgreSQL."""
    name = f"archives_test_{os.getpid()}"
    with psycopg.connect("postgresql://root@localhost:5432/postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name}")
        yield f"postgres://root@localhost:5432/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.postgres
@pytest.mark.slow
def test_index_search_and_rebuild_do_the_same_on_postgresql(postgres_url, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.archives.on_postgres"],
        cwd=Path(__file__).resolve().parents[2],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "openclaw_web.settings",
            "DATABASE_URL": postgres_url,
            "OPENCLAW_WEB_DATA_DIR": str(tmp_path / "data"),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.endswith("fine\n"), done.stdout + done.stderr
