import hashlib
import os
from datetime import UTC, datetime

import pytest
import time_machine

from agents.store import FILE_NAMES, MAX_BYTES, decode, list_files, read_file

NOW = datetime(2026, 11, 30, 8, 30, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "工作区 ws"
    root.mkdir()
    return root


def states(workspace):
    return {file.name: (file.status, file.reason) for file in list_files(workspace)}


def test_the_eight_names_are_listed_and_nothing_else(workspace):
    (workspace / "SOUL.md").write_text("calm")
    (workspace / "NOTES.md").write_text("mine")
    (workspace / ".env").write_text("KEY=1")
    assert states(workspace) == {
        "AGENTS.md": ("missing", ""),
        "SOUL.md": ("found", ""),
        "IDENTITY.md": ("missing", ""),
        "USER.md": ("missing", ""),
        "TOOLS.md": ("missing", ""),
        "HEARTBEAT.md": ("missing", ""),
        "BOOTSTRAP.md": ("missing", ""),
        "MEMORY.md": ("missing", ""),
    }


@time_machine.travel(NOW, tick=False)
def test_a_file_is_read_with_its_hash_and_the_instant(workspace):
    text = "# 灵魂\n\nKeep calm.\n"
    (workspace / "SOUL.md").write_text(text)
    os.utime(workspace / "SOUL.md", (1_700_000_000, 1_700_000_000))
    file = read_file(workspace, "SOUL.md")
    assert (file.status, file.text, file.size, file.encoding, file.bad_byte) == (
        "read",
        text,
        21,
        "utf-8",
        None,
    )
    assert file.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (file.looked_at, file.changed_at) == (NOW, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC))
    assert file.is_identity


def test_only_soul_and_identity_are_identity(workspace):
    assert [file.name for file in list_files(workspace) if file.is_identity] == ["SOUL.md", "IDENTITY.md"]


@pytest.mark.parametrize("name", [".env", "../SOUL.md", "soul.md", "SOUL.md\0", "", "SOUL.md/", "archives/x"])
def test_another_name_is_never_opened(workspace, name):
    with pytest.raises(ValueError):
        read_file(workspace, name)


def test_what_is_no_regular_file_of_its_own_is_refused(workspace, tmp_path):
    outside = tmp_path / "secret"
    outside.write_text("token")
    (workspace / "AGENTS.md").symlink_to(outside)
    os.mkfifo(workspace / "SOUL.md")
    (workspace / "TOOLS.md").mkdir()
    os.link(outside, workspace / "USER.md")
    (workspace / "MEMORY.md").symlink_to("/proc/self/environ")
    (workspace / "HEARTBEAT.md").symlink_to("nowhere")
    (workspace / "BOOTSTRAP.md").write_bytes(b"x" * (MAX_BYTES + 1))
    wanted = {
        "AGENTS.md": "link",
        "SOUL.md": "not_regular",
        "TOOLS.md": "not_regular",
        "USER.md": "hard_link",
        "MEMORY.md": "link",
        "HEARTBEAT.md": "link",
        "BOOTSTRAP.md": "too_large",
    }
    for name, reason in wanted.items():
        file = read_file(workspace, name)
        assert (file.status, file.reason, file.text, file.sha256, file.was_read) == (
            "refused",
            reason,
            "",
            "",
            False,
        )
        assert states(workspace)[name] == ("refused", reason)


def test_a_device_is_refused(workspace):
    try:
        os.mknod(workspace / "SOUL.md", 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        (workspace / "SOUL.md").symlink_to("/dev/null")
    assert read_file(workspace, "SOUL.md").status == "refused"


def test_a_missing_file_and_a_missing_workspace_are_missing(workspace):
    assert read_file(workspace, "SOUL.md").status == "missing"
    assert set(states(workspace / "none").values()) == {("missing", "")}


def test_a_workspace_that_is_a_file_is_told(workspace):
    (workspace / "file").write_text("x")
    assert set(states(workspace / "file").values()) == {("failed", "not_a_folder")}
    assert read_file(workspace / "file", "SOUL.md").reason == "not_a_folder"


def test_a_workspace_may_itself_be_a_link(workspace, tmp_path):
    (workspace / "SOUL.md").write_text("calm")
    (tmp_path / "ws").symlink_to(workspace)
    assert read_file(tmp_path / "ws", "SOUL.md").text == "calm"


def test_a_file_without_permission_is_not_read(workspace):
    (workspace / "SOUL.md").write_text("calm")
    (workspace / "SOUL.md").chmod(0)
    file = read_file(workspace, "SOUL.md")
    if os.geteuid() == 0:  # root may read everything
        assert file.text == "calm"
    else:
        assert (file.status, file.reason) == ("failed", "no_permission")


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bad_byte"),
    [
        (b"", "", "utf-8", None),
        ("\ufeff# 名".encode(), "# 名", "utf-8", None),
        ("# 名".encode("utf-16"), "# 名", "utf-16", None),
        ("\ufeff# 名".encode("utf-16-be"), "# 名", "utf-16", None),
        ("ab".encode("utf-32"), "ab", "utf-32", None),
        (b"caf\xe9!", "caf\ufffd!", "utf-8", 3),
        ("名".encode()[:2], "\ufffd", "utf-8", 0),
    ],
)
def test_only_a_mark_makes_another_encoding_than_utf8(data, text, encoding, bad_byte):
    assert decode(data) == (text, encoding, bad_byte)


def test_every_identity_file_is_an_allowed_name():
    assert len(FILE_NAMES) == 8
    assert {"SOUL.md", "IDENTITY.md"} <= set(FILE_NAMES)
