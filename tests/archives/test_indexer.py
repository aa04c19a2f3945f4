"""The index follows the disk."""

import os
import shutil
import threading
import time
from datetime import UTC, datetime

import pytest

from archives import indexer
from archives.indexer import drop_index, refresh_archive, refresh_list, scan_workspace
from archives.models import Archive, ArchiveFile, Bucket, Workspace
from archives.places import history_of, index_lock
from archives.plan_file import list_revisions
from archives.sweep import sweep
from archives.watch import follow, touched
from tests.archives.conftest import TS
from tests.hang import not_hanging

NEXT = "2026-04-16-14-30-06"


def rows() -> list[tuple]:
    """The whole index without keys."""
    archives = Archive.objects.order_by("archive_id").values_list(
        "archive_id",
        "is_fallback",
        "has_plan",
        "file_count",
        "bucket_count",
        "total_size",
        "newest_at",
        "sort_key",
    )
    files = ArchiveFile.objects.order_by("sort_key").values_list(
        "archive__archive_id",
        "bucket__timestamp",
        "name",
        "kind",
        "size",
        "modified_at",
        "day",
        "sort_key",
        "search_text",
    )
    return [*archives, *files]


def names() -> list[str]:
    return sorted(str(file.path) for file in ArchiveFile.objects.select_related("archive", "bucket"))


def test_a_scan_indexes_what_lies_on_the_two_tracks(workspace, put):
    put("archives/main/PLAN.md", "plan")
    put(f"archives/main/{TS}/报告.md", "12345")
    put(f"archives/main/{TS}/data.json", "{}")
    put("archives/local-0416-1430/2026-04-17-00-00-00/x.bin")
    seen = scan_workspace(workspace)
    assert (seen.archives, seen.added) == (2, 4)
    archive = Archive.objects.get(archive_id="main")
    assert (archive.file_count, archive.bucket_count, archive.total_size) == (3, 1, 4 + 5 + 2)
    assert archive.has_plan and not archive.is_fallback
    assert archive.newest_at == datetime(2026, 4, 16, 14, 30, 5, tzinfo=UTC)
    assert Archive.objects.get(archive_id="local-0416-1430").is_fallback
    assert ArchiveFile.objects.get(name="报告.md").kind == "markdown"


def test_what_breaks_the_protocol_is_not_indexed(workspace, put):
    for path in ("archives/a.md", "archives/main/a.md", "archives/main/draft/a.md", f"archives/main/{TS}/sub/a.md",
                 f"archives/main/{TS}/PLAN.md", f"arch/main/{TS}/a.md", f"archives/main/{TS}/.ocw-1.tmp"):  # fmt: skip
        put(path)
    (workspace.path / "archives/main" / TS / "link.md").symlink_to("/etc/hostname")
    scan_workspace(workspace)
    assert names() == []


def test_bucket_times_are_read_in_the_workspaces_zone(workspace, put):
    Workspace.objects.update(zone="Asia/Shanghai")
    workspace.refresh_from_db()
    put(f"archives/main/{TS}/a.md")
    scan_workspace(workspace)
    assert Bucket.objects.get().at == datetime(2026, 4, 16, 6, 30, 5, tzinfo=UTC)


def test_another_zone_moves_the_instants_that_are_known_already(workspace, put, settle):
    put(f"archives/main/{TS}/a.md")
    plan = put("archives/only-a-plan/PLAN.md", "plan")
    late = datetime(2026, 4, 16, 20, 0, tzinfo=UTC).timestamp()
    os.utime(plan, (late, late))
    settle()
    scan_workspace(workspace)
    assert ArchiveFile.objects.get(name="PLAN.md").day == "2026-04-16"
    Workspace.objects.update(zone="Asia/Shanghai")
    scan_workspace(Workspace.objects.get())
    assert Archive.objects.get(archive_id="main").newest_at == datetime(2026, 4, 16, 6, 30, 5, tzinfo=UTC)
    assert ArchiveFile.objects.get(name="PLAN.md").day == "2026-04-17"
    as_it_stands = rows()
    drop_index(workspace)
    scan_workspace(Workspace.objects.get())
    assert rows() == as_it_stands
    assert scan_workspace(Workspace.objects.get()).changes == 0


def test_a_file_added_to_a_known_bucket_is_seen(workspace, put, settle):
    put(f"archives/main/{TS}/a.md")
    settle()
    scan_workspace(workspace)
    put(f"archives/main/{TS}/b.md")
    assert scan_workspace(workspace).added == 1
    assert names() == [f"archives/main/{TS}/a.md", f"archives/main/{TS}/b.md"]


def test_removed_files_buckets_and_archives_leave_the_index(workspace, put):
    put(f"archives/main/{TS}/a.md")
    put(f"archives/main/{TS}/b.md")
    put(f"archives/main/{NEXT}/c.md")
    put(f"archives/gone/{TS}/d.md")
    scan_workspace(workspace)
    (workspace.path / f"archives/main/{TS}/b.md").unlink()
    shutil.rmtree(workspace.path / "archives/main" / NEXT)
    shutil.rmtree(workspace.path / "archives/gone")
    assert scan_workspace(workspace).removed == 3
    assert names() == [f"archives/main/{TS}/a.md"]
    assert Archive.objects.get().bucket_count == 1


def test_a_removed_plan_leaves_the_index(workspace, put):
    plan = put("archives/main/PLAN.md")
    put(f"archives/main/{TS}/a.md")
    scan_workspace(workspace)
    plan.unlink()
    scan_workspace(workspace)
    assert not Archive.objects.get().has_plan


def test_an_unchanged_disk_changes_nothing(workspace, put, settle, django_assert_max_num_queries):
    for number in range(30):
        put(f"archives/a{number}/{TS}/a.md")
    settle()
    scan_workspace(workspace)
    with django_assert_max_num_queries(8):
        assert scan_workspace(workspace).changes == 0


def test_a_file_changed_in_place_is_seen_when_its_bucket_is_looked_at_again(workspace, put, settle):
    file = put(f"archives/main/{TS}/a.md", "short")
    settle()
    scan_workspace(workspace)
    file.write_text("much longer")
    settle()
    refresh_archive(workspace, "main", again={TS})
    assert ArchiveFile.objects.get().size == 11


def test_a_full_scan_does_not_trust_folder_times(workspace, put, settle):
    file = put(f"archives/main/{TS}/a.md", "short")
    settle()
    scan_workspace(workspace)
    file.write_text("much longer")
    settle()
    assert scan_workspace(workspace).changes == 0
    assert scan_workspace(workspace, every=True).changes == 1


def test_a_folder_changed_within_the_clocks_tick_is_looked_at_again(workspace, put):
    put(f"archives/main/{TS}/a.md")
    bucket = workspace.path / "archives/main" / TS
    before = bucket.stat()
    scan_workspace(workspace)
    put(f"archives/main/{TS}/b.md")
    os.utime(bucket, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert scan_workspace(workspace).added == 1


def test_dropping_and_rebuilding_gives_the_same_index(workspace, put):
    put("archives/main/PLAN.md")
    put("archives/local-0416-1430/PLAN.md")
    for number in range(5):
        put(f"archives/main/2026-04-16-14-30-0{number}/报告 {number}.md")
    scan_workspace(workspace)
    before = rows()
    drop_index(workspace)
    assert rows() == []
    scan_workspace(workspace)
    assert rows() == before


def test_a_workspace_that_is_gone_empties_its_index_and_says_why(workspace, put):
    put(f"archives/main/{TS}/a.md")
    scan_workspace(workspace)
    shutil.rmtree(workspace.path)
    scan_workspace(workspace)
    workspace.refresh_from_db()
    assert names() == []
    assert str(workspace.path) in workspace.scan_error


def test_a_workspace_without_archives_is_no_error(workspace):
    scan_workspace(workspace)
    workspace.refresh_from_db()
    assert workspace.scan_error == "" and workspace.scanned_at is not None


def test_an_archives_folder_that_is_a_link_is_not_followed(workspace, tmp_path, put):
    put(f"main/{TS}/a.md", root=tmp_path / "outside")
    (workspace.path / "archives").symlink_to(tmp_path / "outside")
    scan_workspace(workspace)
    workspace.refresh_from_db()
    assert names() == [] and "symlink" in workspace.scan_error


def test_opening_an_archive_sees_its_new_files_without_a_scan(workspace, put):
    put(f"archives/main/{TS}/a.md")
    assert refresh_archive(workspace, "main").file_count == 1
    put(f"archives/main/{NEXT}/b.md")
    assert refresh_archive(workspace, "main").file_count == 2


def test_opening_the_list_sees_new_and_gone_archives_without_a_scan(workspace, put):
    put(f"archives/one/{TS}/a.md")
    refresh_list(workspace)
    put(f"archives/two/{TS}/a.md")
    shutil.rmtree(workspace.path / "archives/one")
    workspace.refresh_from_db()
    refresh_list(workspace)
    assert names() == [f"archives/two/{TS}/a.md"]


def test_while_another_process_indexes_a_page_does_not_wait(workspace, put):
    put(f"archives/main/{TS}/a.md")
    with index_lock(workspace):
        assert refresh_archive(workspace, "main", wait=False) is None
    assert refresh_archive(workspace, "main", wait=False) is not None


def test_every_plan_text_that_was_seen_is_kept(workspace, put):
    put("archives/main/PLAN.md", "one")
    scan_workspace(workspace)
    put("archives/main/PLAN.md", "two, by the agent itself")
    scan_workspace(workspace)
    kept = list_revisions(history_of("ops"), "main")
    assert [one.size for one in kept] == [3, 24]


@pytest.mark.slow
def test_ten_thousand_files_with_chinese_names_are_indexed(workspace):
    for bucket in range(10):
        folder = workspace.path / f"archives/main/2026-04-16-14-30-{bucket:02d}"
        folder.mkdir(parents=True)
        for number in range(1000):
            (folder / f"报告 {number}.md").touch()
    with not_hanging():
        assert scan_workspace(workspace).added == 10_000
    assert scan_workspace(workspace).changes == 0


def test_only_old_leftovers_are_swept(workspace, put):
    old = put(f"archives/main/{TS}/.ocw-a.tmp")
    os.utime(old, (1000, 1000))
    put(f"archives/main/{TS}/.ocw-b.tmp")
    put(f"archives/main/{TS}/a.md")
    scan_workspace(workspace)
    assert sweep(workspace) == 1
    assert sorted(os.listdir(workspace.path / "archives/main" / TS)) == [".ocw-b.tmp", "a.md"]


def test_leftovers_beside_the_kept_texts_of_a_plan_are_swept_too(workspace, put):
    put("archives/main/PLAN.md", "plan")
    scan_workspace(workspace)
    kept = history_of("ops") / "main"
    (kept / ".ocw-a.tmp").write_text("half")
    os.utime(kept / ".ocw-a.tmp", (1000, 1000))
    before = list_revisions(history_of("ops"), "main")
    assert sweep(workspace) == 1
    assert not (kept / ".ocw-a.tmp").exists()
    assert list_revisions(history_of("ops"), "main") == before != []


def test_agent_ids_cannot_lead_out_of_our_folder(settings):
    assert history_of("../../etc").parent == settings.DATA_DIR / "plan-history"
    assert history_of("a/b") != history_of("ab")


def test_changed_paths_are_gathered_by_archive_and_bucket(tmp_path):
    paths = [f"{tmp_path}/main/{TS}/a.md", f"{tmp_path}/main/PLAN.md", f"{tmp_path}/two", "/elsewhere/x",
             f"{tmp_path}/three/{TS}/.ocw-1.tmp"]  # fmt: skip
    assert touched(paths, tmp_path) == {"main": {TS, "PLAN.md"}, "two": set()}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_watcher_sees_a_file_within_seconds_and_without_a_restart(workspace, put):
    put(f"archives/main/{TS}/a.md")
    stop = threading.Event()
    watcher = threading.Thread(target=follow, args=(stop,))
    watcher.start()
    try:
        for number in range(100):
            put(f"archives/main/{NEXT}/b{number}.md")
            time.sleep(0.2)
            if ArchiveFile.objects.filter(bucket__timestamp=NEXT).exists():
                break
        else:
            pytest.fail("nothing was seen in 20 seconds")
    finally:
        stop.set()
        watcher.join(timeout=15)
    assert not watcher.is_alive()


def test_a_nonsensical_time_on_the_disk_does_not_stop_a_scan():
    assert indexer.instant_of_ns(10**30) == datetime(1970, 1, 1, tzinfo=UTC)
