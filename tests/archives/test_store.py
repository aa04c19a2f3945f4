"""`spec/archives.md` §2 and §3 on a real disk."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archives import store
from archives.errors import Blocked, NotThere, PathRefused
from archives.opening import open_file
from archives.protocol import ArchivePath
from archives.store import copy_file, sweep_temporaries, verify_file, write_file

TS, NEXT = "2026-04-16-14-30-05", "2026-04-16-14-30-06"
REPO = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def test_a_file_is_written_into_its_bucket_and_read_back(root):
    stored = write_file(root, "main", TS, "报告.md", "# 好\n".encode())
    assert str(stored.path) == f"archives/main/{TS}/报告.md"
    assert (root / str(stored.path)).read_bytes() == b"# \xe5\xa5\xbd\n"
    assert stored.size == 6
    assert stored.sha256 == hashlib.sha256("# 好\n".encode()).hexdigest()
    assert tree(root) == [f"archives/main/{TS}/报告.md"]


def test_files_of_one_round_share_their_bucket(root):
    write_file(root, "main", TS, "a.md", b"a")
    write_file(root, "main", TS, "b.md", b"b")
    assert tree(root) == [f"archives/main/{TS}/a.md", f"archives/main/{TS}/b.md"]


def test_an_existing_file_is_never_overwritten_the_next_free_second_is_taken(root):
    write_file(root, "main", TS, "a.md", b"first")
    write_file(root, "main", NEXT, "a.md", b"second")
    third = write_file(root, "main", TS, "a.md", b"third")
    assert third.path.bucket == "2026-04-16-14-30-07"
    assert (root / f"archives/main/{TS}/a.md").read_bytes() == b"first"


def test_a_name_that_differs_only_by_case_counts_as_taken(root):
    write_file(root, "main", TS, "Report.md", b"first")
    assert write_file(root, "main", TS, "report.md", b"second").path.bucket == NEXT


def test_a_decomposed_name_is_written_composed(root):
    stored = write_file(root, "main", TS, unicodedata.normalize("NFD", "é.md"), b"x")
    assert os.listdir(root / "archives/main" / TS) == ["é.md"] == [stored.path.name]


def test_the_plan_does_not_go_into_a_bucket(root):
    with pytest.raises(PathRefused) as caught:
        write_file(root, "main", TS, "PLAN.md", b"x")
    assert caught.value.code == "path-plan"


def test_empty_content_is_blocked_and_leaves_nothing(root):
    with pytest.raises(Blocked, match="empty"):
        write_file(root, "main", TS, "a.md", b"")
    assert list(root.iterdir()) == []


def test_a_missing_required_field_is_blocked_and_the_file_is_gone(root):
    with pytest.raises(Blocked) as caught:
        write_file(root, "main", TS, "a.md", b"# Title", required=["# Title", "结论"])
    assert "required field '结论' is missing" in caught.value.reason
    assert tree(root) == []
    assert not (root / "archives/main" / TS).exists()


def test_the_callers_check_sees_the_bytes_on_the_disk_and_can_block(root):
    seen = []

    def belongs(data: bytes) -> str | None:
        seen.append(data)
        return "another task's report"

    with pytest.raises(Blocked, match="another task's report"):
        write_file(root, "main", TS, "a.md", b"content", check=belongs)
    assert seen == [b"content"]
    assert tree(root) == []


def test_a_failed_write_leaves_other_files_of_the_bucket_alone(root):
    write_file(root, "main", TS, "a.md", b"a")
    with pytest.raises(Blocked):
        write_file(root, "main", TS, "b.md", b"b", required=["no"])
    assert tree(root) == [f"archives/main/{TS}/a.md"]


def test_a_missing_workspace_is_said(tmp_path):
    with pytest.raises(NotThere) as caught:
        write_file(tmp_path / "gone", "main", TS, "a.md", b"x")
    assert caught.value.code == "no-workspace"


def test_a_full_or_forbidden_disk_is_blocked_with_its_reason(root):
    (root / "archives").write_text("a file where the folder should be")
    with pytest.raises(PathRefused) as caught:
        write_file(root, "main", TS, "a.md", b"x")
    assert caught.value.code == "path-link"


@pytest.mark.parametrize("where", ["archives", "archives/main", f"archives/main/{TS}"])
def test_a_folder_that_is_a_symlink_out_is_refused_and_nothing_is_written_there(root, tmp_path, where):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = root / where
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    with pytest.raises(PathRefused) as caught:
        write_file(root, "main", TS, "a.md", b"x")
    assert caught.value.code == "path-link"
    assert list(outside.iterdir()) == []


def test_a_workspace_that_is_itself_reached_by_a_link_works(root, tmp_path):
    (tmp_path / "alias").symlink_to(root)
    write_file(tmp_path / "alias", "main", TS, "a.md", b"x")
    assert tree(root) == [f"archives/main/{TS}/a.md"]


def _special(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"link": "/etc/hostname", "proc": "/proc/self/environ", "device": "/dev/zero"}[kind])


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "link", "proc", "device"])
def test_only_regular_files_are_opened(root, kind, tmp_path, monkeypatch):
    bucket = root / "archives/main" / TS
    bucket.mkdir(parents=True)
    monkeypatch.chdir(bucket)
    _special(Path("odd"), kind)
    with pytest.raises(PathRefused) as caught, open_file(root, f"archives/main/{TS}/odd"):
        pytest.fail("it was opened")
    assert caught.value.code == "path-special"


def test_a_file_without_read_permission_is_refused_in_words(root):
    stored = write_file(root, "main", TS, "a.md", b"x")
    (root / str(stored.path)).chmod(0)
    if os.geteuid() == 0:
        with open_file(root, stored.path) as handle:
            assert handle.read() == b"x"
    else:
        with pytest.raises(PathRefused) as caught, open_file(root, stored.path):
            pytest.fail("it was opened")
        assert caught.value.code == "path-unreadable"


@pytest.mark.parametrize(
    "path", ["archives/main/../../../etc/passwd", "/etc/passwd", "archives/main/.env", ".env"]
)
def test_no_path_leaves_the_two_tracks(root, path):
    with pytest.raises(PathRefused), open_file(root, path):
        pytest.fail("it was opened")


def test_verifying_names_the_first_thing_that_is_wrong(root):
    stored = write_file(root, "main", TS, "a.md", b"content")
    on_disk = root / str(stored.path)
    assert verify_file(root, stored.path, sha256=stored.sha256, required=["tent"]) == stored
    codes = {}
    on_disk.write_bytes(b"other content")
    codes["changed"] = _code(root, stored.path, sha256=stored.sha256)
    on_disk.write_bytes(b"")
    codes["empty"] = _code(root, stored.path)
    on_disk.unlink()
    codes["gone"] = _code(root, stored.path)
    codes["wrong"] = _code(root, f"arch/archives/main/{TS}/a.md")
    assert codes == {
        "changed": "hash-differs",
        "empty": "content-empty",
        "gone": "file-missing",
        "wrong": "path-wrong",
    }


def _code(root, path, **wanted) -> str:
    with pytest.raises(Blocked) as caught:
        verify_file(root, path, **wanted)
    return caught.value.code


def test_a_copy_is_verified_and_its_source_stays(root):
    source = root / "arch" / "old.md"
    source.parent.mkdir()
    source.write_bytes(b"kept" * 1_000_000)
    stored = copy_file(root, ("arch", "old.md"), ArchivePath("main", TS, "old.md"))
    assert stored.size == 4_000_000
    assert stored.sha256 == hashlib.sha256(source.read_bytes()).hexdigest()


def test_a_copy_never_replaces_a_plan(root):
    (root / "archives/main").mkdir(parents=True)
    (root / "archives/main/PLAN.md").write_text("the plan")
    (root / "stray.md").write_text("another plan")
    with pytest.raises(Blocked) as caught:
        copy_file(root, ("stray.md",), ArchivePath("main", "", "PLAN.md"))
    assert caught.value.code == "plan-exists"
    assert (root / "archives/main/PLAN.md").read_text() == "the plan"


def test_only_old_temporaries_are_swept(root):
    write_file(root, "main", TS, "a.md", b"x")
    bucket = root / "archives/main" / TS
    (bucket / ".ocw-old.tmp").write_text("half")
    os.utime(bucket / ".ocw-old.tmp", (1000, 1000))
    (bucket / ".ocw-new.tmp").write_text("half")
    (bucket / "mine.tmp").write_text("no business of ours")
    assert sweep_temporaries(root, ("archives", "main", TS), older_than=2000) == 1
    assert sorted(os.listdir(bucket)) == [".ocw-new.tmp", "a.md", "mine.tmp"]


names = st.text(min_size=1, max_size=60)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=names, data=st.binary(min_size=1, max_size=200))
def test_whatever_the_name_a_write_is_whole_inside_the_archive_or_refused(root, name, data):
    try:
        stored = write_file(root, "main", TS, name, data)
    except (PathRefused, Blocked):
        return
    on_disk = root.joinpath("archives", "main", stored.path.bucket, stored.path.name)
    assert on_disk.read_bytes() == data
    assert on_disk.resolve().is_relative_to((root / "archives/main").resolve())


WRITER = """
import sys
from pathlib import Path
from django.conf import settings
settings.configure(USE_I18N=False)  # sentences without the whole project: the process starts in a blink
from archives.store import write_file
root, who, count, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    line = f"{who} {number}\\n".encode()
    write_file(root, "main", "2026-04-16-14-30-05", "log.txt", line * size)
print("done", flush=True)
"""


def start_writer(root: Path, who: str, count: int, size: int) -> subprocess.Popen:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), who, str(count), str(size)],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout.readline() == "ready\n"
    return writer


@pytest.mark.slow
def test_two_writers_in_the_same_second_lose_nothing(root):
    writers = [start_writer(root, who, 25, 1) for who in ("alpha", "beta")]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        assert writer.communicate(timeout=60)[0] == "done\n"
    found = sorted(path.read_text() for path in (root / "archives/main").glob("*/log.txt"))
    assert found == sorted(f"{who} {number}\n" for who in ("alpha", "beta") for number in range(25))
    assert len(tree(root)) == 50


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_the_whole_file_or_nothing(root):
    size = 200_000
    for wait in (0.01, 0.03, 0.06, 0.11, 0.17):
        writer = start_writer(root, "victim", 1000, size)
        writer.stdin.write("go\n")
        writer.stdin.flush()
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    whole = list((root / "archives/main").glob("*/log.txt"))
    assert whole, "no write was finished: the test saw nothing"
    for path in whole:
        lines = set(path.read_text().splitlines())
        assert len(lines) == 1 and path.read_text().count("\n") == size
    left = {path.name for path in root.rglob("*") if path.is_file()} - {"log.txt"}
    assert all(store.is_temporary(name) for name in left)
