"""Archives: pages at 100 and at 100,000 indexed files, and a verified write against the bare one."""

import hashlib
import json
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

from django.contrib.auth.models import Group
from django.test import Client

from archives import indexer, store
from archives.models import Archive, Workspace
from bench.measure import Table, median_time
from gateway.models import User
from openclaw_web.paths import state_dir
from tests.archives.crowd import fill

PAGES = {
    "list": "",
    "list, one type": "?kind=json",
    "list, one day": "?day=2026-01-01",
    "search, a rare word": "?q=rare",
    "search, a common word": "?q=报告",
}


def run(table: Table) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-archives-"))
    try:
        _write(table, folder)
        _pages(table)
        _index(table, folder)
    finally:
        shutil.rmtree(folder)


def _write(table: Table, folder: Path) -> None:
    data = b"# Report\n" + b"All is well. " * 2000
    number = iter(range(10_000_000))

    def bare() -> None:
        bucket = folder / "bare"
        bucket.mkdir(exist_ok=True)
        path = bucket / f"{next(number)}.md"
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(path)
        handle = os.open(bucket, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        if hashlib.sha256(path.read_bytes()).digest() != hashlib.sha256(data).digest():
            raise AssertionError("read back something else")

    def archived() -> None:
        store.write_file(
            folder, "main", "2026-04-16-14-30-05", f"{next(number)}.md", data, required=["# Report"]
        )

    baseline = median_time(bare, times=60)
    table.row("archive write, 26 KB", median_time(archived, times=60), "write+flush+rename+read", baseline)


def _pages(table: Table) -> None:
    user = User.objects.create_user("bench", password="not used by anyone")  # noqa: S106
    user.groups.add(Group.objects.get_or_create(name="viewer")[0])
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    # Pages follow the roster: an agent that is not in it would lose its rows.
    roster = {"agents": {"list": [{"id": "bench", "name": "Bench", "workspace": "/nonexistent"}]}}
    (state_dir() / "openclaw.json").write_text(json.dumps(roster))
    workspace = Workspace.objects.create(agent_id="bench", root="/nonexistent", label="Bench", zone="UTC")
    # The rows have no files behind them, so the look at the disk, one stat a page, is left out at both sizes.
    looks = indexer.refresh_list, indexer.refresh_archive
    indexer.refresh_list = lambda workspace: None
    indexer.refresh_archive = lambda workspace, archive_id, **how: Archive.objects.get(archive_id=archive_id)
    try:
        times: dict[int, dict[str, float]] = {}
        for count in (100, 100_000):
            Archive.objects.all().delete()
            # Small archives and 50 rare names, so that every list has a full page at both sizes.
            fill(workspace, count, per_bucket=2, per_archive=2, rare_every=count // 50)
            newest = Archive.objects.order_by("-sort_key")[0]
            pages = PAGES | {"an archive": f"bench/{newest.archive_id}/"}
            times[count] = {what: median_time(partial(_get, client, page)) for what, page in pages.items()}
        for what, seconds in times[100_000].items():
            table.row(f"{what} at 100,000 files", seconds, "at 100 files", times[100][what])
    finally:
        indexer.refresh_list, indexer.refresh_archive = looks
        workspace.delete()
        (state_dir() / "openclaw.json").unlink()


def _get(client: Client, page: str) -> None:
    response = client.get(f"/archives/{page}")
    if response.status_code != 200:
        raise AssertionError(f"/archives/{page} answered {response.status_code}")


def _index(table: Table, folder: Path) -> None:
    root = folder / "workspace"
    for bucket in range(100):
        place = root / "archives" / f"a{bucket // 10}" / f"2026-04-16-14-{bucket // 60:02d}-{bucket % 60:02d}"
        place.mkdir(parents=True)
        for number in range(50):
            (place / f"报告 {number}.md").touch()
    workspace = Workspace.objects.create(agent_id="bench", root=str(root), zone="UTC")
    bare = median_time(lambda: sum(len(files) for _folder, _folders, files in os.walk(root)), times=5)

    def from_nothing() -> None:
        indexer.drop_index(workspace)
        indexer.scan_workspace(workspace)

    first = median_time(from_nothing, times=3, warm_up=0)
    table.row("index 5,000 files from nothing", first, "walking them", bare)
    for folder_, _folders, _files in os.walk(root):
        os.utime(folder_, (1_700_000_000, 1_700_000_000))
    indexer.scan_workspace(workspace)
    again = median_time(lambda: indexer.scan_workspace(workspace), times=7)
    table.row("look again, nothing changed", again, "walking them", bare)
