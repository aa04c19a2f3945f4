"""PLAN.md: replaced atomically, every earlier text kept as a revision outside the workspace.

`history` is a folder of ours per agent (under DATA_DIR): an agent cannot rewrite what it once promised.
Revisions are copies, never hard links: an agent that opens PLAN.md for writing keeps the inode, and a link
would change with it. Source: `spec/archives.md` §2, `spec/plans.md` §1.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.utils.translation import gettext as _

from archives.errors import ArchivesError, Blocked, NotThere
from archives.opening import open_file, open_folder
from archives.protocol import PLAN, ArchivePath, check_id
from archives.store import Check, Stored, content_reason, verify_file, write_temporary

_KEPT = re.compile(r"([0-9]{6})-([0-9a-f]{64})\.md", re.ASCII)


@dataclass(frozen=True, slots=True)
class Revision:
    """An earlier text of a PLAN.md. `modified_ns` is when that text was written to the workspace."""

    number: int
    sha256: str
    size: int
    modified_ns: int

    @property
    def modified_at(self) -> datetime:
        return datetime.fromtimestamp(self.modified_ns / 1e9, UTC)


def digest(data: bytes) -> str:
    """The SHA-256 by which a plan's text is known."""
    return hashlib.sha256(data).hexdigest()


def read_plan(root: Path, archive_id: str) -> tuple[bytes, int] | None:
    """The plan's present bytes and their modification time in ns, or None when there is no plan."""
    try:
        with open_file(root, ArchivePath(check_id(archive_id), "", PLAN)) as handle:
            return handle.read(), os.fstat(handle.fileno()).st_mtime_ns
    except NotThere:
        return None


def write_plan(
    root: Path,
    history: Path,
    archive_id: str,
    data: bytes,
    *,
    expected_sha256: str | None = None,
    required: Sequence[str] = (),
    check: Check | None = None,
) -> Stored:
    """Replace `archives/{ARCHIVE_ID}/PLAN.md`, keep the text that was there, read the new one back.

    `expected_sha256` is the hash of the text the caller saw ("" for "there was none"); if the file has since
    changed, ArchivesError `plan-changed` and nothing is written. Raises Blocked when the new text is empty,
    lacks a `required` field or fails `check`: the old text then stays in place.
    """
    where = ArchivePath(check_id(archive_id), "", PLAN)
    if not data:
        raise Blocked("the content is empty", code="content-empty")
    # Asked before the old plan is touched, and again of the bytes read back.
    if reason := content_reason(data, required, check):
        raise Blocked(f"{where}: {reason}", code="content-wrong")
    try:
        with locked(history, archive_id) as kept:
            present = read_plan(root, archive_id)
            _expect(where, present, expected_sha256)
            if present and present[0] != data:
                _keep(kept, *present)
            return _replace(root, where, data, present, required, check)
    except OSError as error:
        raise Blocked(f"writing {where} failed: {error.strerror}", code="write-failed") from error


def keep_present(root: Path, history: Path, archive_id: str) -> Revision | None:
    """Keep the plan's present text, which an agent may have written without us; None if there is none."""
    with locked(history, archive_id) as kept:
        present = read_plan(root, archive_id)
        return _keep(kept, *present) if present else None


def list_revisions(history: Path, archive_id: str) -> list[Revision]:
    """The kept texts of a plan, oldest first. The newest may equal the present text."""
    try:
        with open_folder(history, [check_id(archive_id)]) as kept:
            return _list(kept)
    except NotThere:
        return []


def read_revision(history: Path, archive_id: str, number: int) -> bytes:
    """The bytes of one kept text; raises NotThere, and ArchivesError if they no longer match their hash."""
    for revision in list_revisions(history, archive_id):
        if revision.number == number:
            data = (history / archive_id / _file_name(revision)).read_bytes()
            if hashlib.sha256(data).hexdigest() != revision.sha256:
                raise ArchivesError(
                    _("Revision %(number)d of this plan was changed on the disk.") % {"number": number},
                    code="revision-damaged",
                )
            return data
    raise NotThere(_("There is no revision %(number)d of this plan.") % {"number": number}, code="not-there")


@contextmanager
def locked(history: Path, archive_id: str) -> Iterator[int]:
    """Hold the lock of one plan across processes; yields the descriptor of its history folder."""
    history.mkdir(parents=True, exist_ok=True)
    with open_folder(history, [check_id(archive_id)], create=True) as kept:
        handle = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=kept)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield kept
        finally:
            os.close(handle)


def _expect(where: ArchivePath, present: tuple[bytes, int] | None, expected: str | None) -> None:
    if expected is None:
        return
    found = hashlib.sha256(present[0]).hexdigest() if present else ""
    if found != expected.lower():
        raise ArchivesError(
            _("%(path)s has changed since you read it.") % {"path": where},
            code="plan-changed",
            details={"expectedSha256": expected, "presentSha256": found},
        )


def _replace(
    root: Path,
    where: ArchivePath,
    data: bytes,
    present: tuple[bytes, int] | None,
    required: Sequence[str],
    check: Check | None,
) -> Stored:
    with open_folder(root, where.folders, create=True) as folder:
        _rename_over(folder, data)
        try:
            sha256 = hashlib.sha256(data).hexdigest()
            return verify_file(root, where, sha256=sha256, required=required, check=check)
        except Blocked:
            if present:
                _rename_over(folder, present[0])
            else:
                with suppress(FileNotFoundError):
                    os.unlink(PLAN, dir_fd=folder)
            raise


def _rename_over(folder: int, data: bytes) -> None:
    temporary, _sha256 = write_temporary(folder, (data,))
    os.rename(temporary, PLAN, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _keep(kept: int, data: bytes, modified_ns: int) -> Revision:
    known = _list(kept)
    sha256 = hashlib.sha256(data).hexdigest()
    if known and known[-1].sha256 == sha256:
        return known[-1]
    revision = Revision(known[-1].number + 1 if known else 1, sha256, len(data), modified_ns)
    temporary, _sha256 = write_temporary(kept, (data,))
    os.utime(temporary, ns=(modified_ns, modified_ns), dir_fd=kept)
    os.rename(temporary, _file_name(revision), src_dir_fd=kept, dst_dir_fd=kept)
    os.fsync(kept)
    return revision


def _list(kept: int) -> list[Revision]:
    found = []
    for name in os.listdir(kept):
        if match := _KEPT.fullmatch(name):
            facts = os.stat(name, dir_fd=kept, follow_symlinks=False)
            found.append(Revision(int(match[1]), match[2], facts.st_size, facts.st_mtime_ns))
    return sorted(found, key=lambda revision: revision.number)


def _file_name(revision: Revision) -> str:
    return f"{revision.number:06d}-{revision.sha256}.md"
