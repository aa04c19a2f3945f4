"""The file side of archives: crash-safe writing, and the look back that makes a receipt `OK`.

Every function takes the workspace's root; `opening.py` holds how files are reached below it.
Source: `spec/archives.md` §2 and §3.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from archives.errors import Blocked, NotThere, PathRefused
from archives.opening import open_file, open_folder, open_in_folder
from archives.protocol import ArchivePath, name_key, next_timestamp, parse_path, place

TEMPORARY_PREFIX = ".ocw-"
TEMPORARY_SUFFIX = ".tmp"
MAX_BUCKETS_TRIED = 3600
CHUNK = 1 << 20
MAX_CHECKED_BYTES = 16 << 20

# Reads the bytes that came back from the disk; returns a reason why they do not belong to this task, or None.
Check = Callable[[bytes], str | None]

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that was written (or found) and read back. Sizes in bytes, `modified_ns` since the epoch."""

    path: ArchivePath
    size: int
    sha256: str
    modified_ns: int


def write_file(
    root: Path,
    archive_id: str,
    timestamp: str,
    name: str,
    data: bytes,
    *,
    required: Sequence[str] = (),
    check: Check | None = None,
) -> Stored:
    """Archive an ordinary file and read it back; an existing file is never overwritten.

    The file goes into bucket `timestamp`, or the next second that has no file of this name. `required` texts
    must be in it, `check` sees the bytes read back. Raises Blocked (and leaves nothing behind), PathRefused.
    `PLAN.md` has its own track and its own function, `plan_file.write_plan`.
    """
    where = place(archive_id, timestamp, name)
    if where.is_plan:
        raise PathRefused(_("PLAN.md is replaced, not put into a bucket."), code="path-plan")
    if not data:
        raise Blocked("the content is empty", code="content-empty")
    return publish(root, where, lambda: iter((data,)), required=required, check=check)


def copy_file(root: Path, source: Sequence[str], target: ArchivePath) -> Stored:
    """Copy a regular file from anywhere in the workspace to its right place, verified; the source stays.

    `source` is the path's segments. An ordinary target moves on to the next free second; a PLAN.md that is
    already there is never replaced (Blocked).
    """
    shown = "/".join(source)

    def chunks() -> Iterator[bytes]:
        with open_folder(root, source[:-1]) as folder, open_in_folder(folder, source[-1], shown) as handle:
            while chunk := handle.read(CHUNK):
                yield chunk

    return publish(root, parse_path(str(target)), chunks)


def publish(
    root: Path,
    where: ArchivePath,
    chunks: Callable[[], Iterator[bytes]],
    *,
    required: Sequence[str] = (),
    check: Check | None = None,
) -> Stored:
    """Write `chunks()` to the first free second from `where` on, flush, name, flush the folder, verify."""
    try:
        for _attempt in range(MAX_BUCKETS_TRIED):
            with open_folder(root, where.folders, create=True) as folder:
                written = None if _is_taken(folder, where.name) else _write_once(folder, where, chunks)
                if written:
                    return _verify_own(root, folder, where, written, required, check)
            if where.is_plan:
                raise Blocked(f"{where} exists already", code="plan-exists")
            where = ArchivePath(where.archive_id, next_timestamp(where.bucket), where.name)
    except OSError as error:
        _drop_empty_folder(root, where)
        raise Blocked(f"writing {where} failed: {error.strerror}", code="write-failed") from error
    raise Blocked(f"no free second within an hour for {where.name}", code="no-free-second")


def _write_once(folder: int, where: ArchivePath, chunks: Callable[[], Iterator[bytes]]) -> str | None:
    """Write one file under its final name and return its SHA-256; None when the name was taken meanwhile."""
    temporary, sha256 = write_temporary(folder, chunks())
    try:
        # A link, not a rename: it gives the name only if nobody has it, so of two writers none is lost.
        os.link(temporary, where.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return None
    finally:
        os.unlink(temporary, dir_fd=folder)
    os.fsync(folder)
    return sha256


def _verify_own(
    root: Path, folder: int, where: ArchivePath, sha256: str, required: Sequence[str], check: Check | None
) -> Stored:
    ours = os.stat(where.name, dir_fd=folder, follow_symlinks=False)
    try:
        return verify_file(root, where, sha256=sha256, required=required, check=check)
    except Blocked:
        with suppress(FileNotFoundError):
            # Only what this call wrote may go; a file that took the name since stays.
            if os.path.samestat(ours, os.stat(where.name, dir_fd=folder, follow_symlinks=False)):
                os.unlink(where.name, dir_fd=folder)
        _drop_empty_folder(root, where)
        raise


def verify_file(
    root: Path,
    path: ArchivePath | str,
    *,
    sha256: str | None = None,
    required: Sequence[str] = (),
    check: Check | None = None,
) -> Stored:
    """Open an archived file afresh and verify it as §3 asks; raise Blocked naming the first thing wrong."""
    try:
        where = parse_path(str(path))
        with open_file(root, where) as handle:
            digest = hashlib.sha256()
            kept = bytearray()
            while chunk := handle.read(CHUNK):
                digest.update(chunk)
                if len(kept) < MAX_CHECKED_BYTES:
                    kept += chunk
            found = os.fstat(handle.fileno())
    except NotThere as error:
        raise Blocked(f"{path} does not exist", code="file-missing") from error
    except PathRefused as error:
        raise Blocked(f"{path} is not a right path ({error.code})", code="path-wrong") from error
    if found.st_size == 0:
        raise Blocked(f"{path} is empty", code="content-empty")
    if sha256 and digest.hexdigest() != sha256.lower():
        raise Blocked(f"{path} does not hold the bytes that were written", code="hash-differs")
    reason = content_reason(bytes(kept), required, check)
    if reason:
        raise Blocked(f"{path}: {reason}", code="content-wrong")
    return Stored(where, found.st_size, digest.hexdigest(), found.st_mtime_ns)


def content_reason(data: bytes, required: Sequence[str], check: Check | None) -> str | None:
    """Why a content is not what its task needs, or None. Looks at the first 16 MiB."""
    for field in required:
        if field.encode() not in data:
            return f"required field {field!r} is missing"
    return check(data) if check else None


def write_temporary(folder: int, chunks: Iterable[bytes]) -> tuple[str, str]:
    """Write and flush a temporary file in an open folder; returns its name and SHA-256.

    Readers and lint pass over such names.
    """
    name = f"{TEMPORARY_PREFIX}{os.urandom(12).hex()}{TEMPORARY_SUFFIX}"
    digest = hashlib.sha256()
    handle = os.open(name, _CREATE, 0o644, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            for chunk in chunks:
                stream.write(chunk)
                digest.update(chunk)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    return name, digest.hexdigest()


def is_temporary(name: str) -> bool:
    """Whether a name is one of our temporary files, which a killed process can leave behind."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


def sweep_temporaries(root: Path, folders: Sequence[str], *, older_than: float) -> int:
    """Remove temporary files of ours last touched before `older_than` (epoch seconds); returns how many."""
    swept = 0
    with open_folder(root, folders) as folder:
        for name in os.listdir(folder):  # noqa: PTH208
            if not is_temporary(name):
                continue
            with suppress(FileNotFoundError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < older_than:
                    os.unlink(name, dir_fd=folder)
                    swept += 1
    return swept


def _is_taken(folder: int, name: str) -> bool:
    # Names that differ only by case are a lint finding, so our own writer never makes one.
    return name_key(name) in map(name_key, os.listdir(folder))


def _drop_empty_folder(root: Path, where: ArchivePath) -> None:
    with suppress(OSError, NotThere), open_folder(root, where.folders[:-1]) as parent:
        os.rmdir(where.folders[-1], dir_fd=parent)
