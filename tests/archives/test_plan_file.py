"""PLAN.md is replaced atomically and every earlier text stays readable."""

import hashlib
import threading

import pytest

from archives.errors import ArchivesError, Blocked, NotThere, PathRefused
from archives.plan_file import keep_present, list_revisions, read_plan, read_revision, write_plan


def sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def history(tmp_path):
    return tmp_path / "history"


def texts(history) -> list[bytes]:
    return [read_revision(history, "main", one.number) for one in list_revisions(history, "main")]


def test_a_first_plan_has_no_earlier_text(root, history):
    stored = write_plan(root, history, "main", b"one")
    assert str(stored.path) == "archives/main/PLAN.md"
    assert read_plan(root, "main")[0] == b"one"
    assert texts(history) == []


def test_every_earlier_text_stays_readable(root, history):
    for text in (b"one", b"two", b"three"):
        write_plan(root, history, "main", text)
    assert read_plan(root, "main")[0] == b"three"
    assert texts(history) == [b"one", b"two"]
    assert [one.number for one in list_revisions(history, "main")] == [1, 2]


def test_a_text_an_agent_put_there_is_kept_too(root, history):
    write_plan(root, history, "main", b"one")
    (root / "archives/main/PLAN.md").write_bytes(b"by the agent")
    write_plan(root, history, "main", b"three")
    assert texts(history) == [b"by the agent"]


def test_keeping_the_present_text_twice_makes_one_revision(root, history):
    write_plan(root, history, "main", b"one")
    assert keep_present(root, history, "main").number == 1
    assert keep_present(root, history, "main").number == 1
    assert texts(history) == [b"one"]


def test_there_is_nothing_to_keep_without_a_plan(root, history):
    assert keep_present(root, history, "main") is None


def test_a_revision_survives_an_agent_writing_into_the_same_file(root, history):
    write_plan(root, history, "main", b"one")
    keep_present(root, history, "main")
    with (root / "archives/main/PLAN.md").open("r+b") as plan:
        plan.write(b"ONE")
    assert texts(history) == [b"one"]


def test_writing_the_same_text_again_makes_no_revision(root, history):
    write_plan(root, history, "main", b"one")
    write_plan(root, history, "main", b"one")
    assert texts(history) == []


def test_a_plan_that_changed_since_it_was_read_is_not_overwritten(root, history):
    write_plan(root, history, "main", b"one")
    with pytest.raises(ArchivesError) as caught:
        write_plan(root, history, "main", b"mine", expected_sha256=sha(b"what I read"))
    assert caught.value.code == "plan-changed"
    assert caught.value.details == {"expectedSha256": sha(b"what I read"), "presentSha256": sha(b"one")}
    assert read_plan(root, "main")[0] == b"one"


def test_a_plan_can_be_required_to_be_new(root, history):
    write_plan(root, history, "main", b"one", expected_sha256="")
    with pytest.raises(ArchivesError):
        write_plan(root, history, "main", b"two", expected_sha256="")


def test_an_empty_or_unfit_text_is_blocked_and_the_old_plan_stays(root, history):
    write_plan(root, history, "main", b"Task_ID: 1")
    for data, wanted in ((b"", {}), (b"x", {"required": ["Task_ID"]}), (b"x", {"check": lambda data: "no"})):
        with pytest.raises(Blocked):
            write_plan(root, history, "main", data, **wanted)
    assert read_plan(root, "main")[0] == b"Task_ID: 1"
    assert texts(history) == []


def test_a_text_that_fails_only_after_writing_is_taken_back(root, history):
    write_plan(root, history, "main", b"one")
    verdicts = iter([None, "changed under our hands"])
    with pytest.raises(Blocked, match="changed under our hands"):
        write_plan(root, history, "main", b"two", check=lambda data: next(verdicts))
    assert read_plan(root, "main")[0] == b"one"


def test_a_first_plan_that_fails_after_writing_is_gone(root, history):
    verdicts = iter([None, "no"])
    with pytest.raises(Blocked):
        write_plan(root, history, "main", b"one", check=lambda data: next(verdicts))
    assert read_plan(root, "main") is None


def test_a_plan_that_is_a_symlink_is_neither_read_nor_replaced(root, history, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (root / "archives/main").mkdir(parents=True)
    (root / "archives/main/PLAN.md").symlink_to(tmp_path / "secret")
    with pytest.raises(PathRefused):
        write_plan(root, history, "main", b"one")
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_changed_revision_on_disk_is_said_and_not_shown(root, history):
    write_plan(root, history, "main", b"one")
    write_plan(root, history, "main", b"two")
    (kept,) = (history / "main").glob("*.md")
    kept.write_bytes(b"forged")
    with pytest.raises(ArchivesError) as caught:
        read_revision(history, "main", 1)
    assert caught.value.code == "revision-damaged"


def test_an_unknown_revision_is_not_there(history):
    with pytest.raises(NotThere):
        read_revision(history, "main", 3)


def test_many_writers_lose_no_text(root, history):
    everything = [f"text {number}".encode() for number in range(24)]

    def write(part):
        for text in part:
            write_plan(root, history, "main", text)

    threads = [threading.Thread(target=write, args=(everything[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted([*texts(history), read_plan(root, "main")[0]]) == sorted(everything)
