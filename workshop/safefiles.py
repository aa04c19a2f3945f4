"""Reading and writing below a root without ever following a symbolic link.

Every component is opened relative to its parent's descriptor with O_NOFOLLOW, so nothing that is swapped
between a check and the use can lead outside. Relative paths are `/`-separated text.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway import faults
from workshop.errors import FileProblem
from workshop.names import utf8

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PROBLEMS = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "symlink",
    errno.ELOOP: "symlink",
    errno.ENAMETOOLONG: "name-too-long",
}


def problem(error: OSError, path: str) -> FileProblem:
    return FileProblem(_PROBLEMS.get(error.errno or 0, "io"), path, reason=error.strerror or "")


def parts_of(rel: str) -> list[bytes]:
    return [utf8(part) for part in rel.split("/") if part]


@contextmanager
def open_dir(root: Path, parts: list[bytes], *, make: list[str] | None = None) -> Iterator[int]:
    """A descriptor of the folder. With `make`, missing folders are made (0777 & ~umask), flushed into their
    parents, and their relative paths appended to the list. `root` itself must exist."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, part in enumerate(parts):
            if make is not None:
                try:
                    os.mkdir(part, 0o777, dir_fd=handle)
                except FileExistsError:
                    pass
                else:
                    os.fsync(handle)
                    make.append(b"/".join(parts[: number + 1]).decode(errors="replace"))
            below = os.open(part, _DIR, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Contents:
    data: bytes
    mode: int


def read_file(root: Path, rel: str, *, limit: int, links: int | None = 1) -> Contents:
    """The bytes of a regular file. Raises FileProblem: missing, symlink, hardlink (more than `links`),
    not-regular, too-large, io."""
    *folders, name = parts_of(rel)
    try:
        with open_dir(root, folders) as folder:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise problem(error, rel) from error
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise FileProblem("not-regular", rel)
        if links is not None and info.st_nlink > links:
            raise FileProblem("hardlink", rel)
        data = file.read(limit + 1) if info.st_size <= limit else b""
        if info.st_size > limit or len(data) > limit:
            raise FileProblem("too-large", rel, size=info.st_size, limit=limit)
    return Contents(data, stat.S_IMODE(info.st_mode))


def lookup(root: Path, rel: str) -> os.stat_result | None:
    """`lstat` below `root`; None when nothing is there. Raises FileProblem when a folder on the way is a
    link or the name cannot exist."""
    *folders, name = parts_of(rel)
    try:
        with open_dir(root, folders) as folder:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise problem(error, rel) from error


def write_file(
    root: Path, rel: str, data: bytes, *, mode: int = 0o600, make: list[str] | None = None
) -> None:
    """Put `data` in place in one step: temporary file, flush, rename, flush of the folder.

    Missing folders are made and noted in `make`. An existing file is replaced, never written into. Raises
    FileProblem.
    """
    *folders, name = parts_of(rel)
    temporary = b"." + secrets.token_hex(8).encode() + b".tmp"
    made = make if make is not None else []
    try:
        with open_dir(root, folders, make=made) as folder:
            _write_new(folder, temporary, data, mode)
            faults.reached("file.temporary-written")
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            faults.reached("file.renamed")
            os.fsync(folder)
    except OSError as error:
        raise problem(error, rel) from error


def _write_new(folder: int, name: bytes, data: bytes, mode: int, *, flush: bool = True) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, mode, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(data)
        os.fchmod(handle, mode)
        if flush:
            os.fsync(handle)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(handle)


def write_new_file(folder: int, name: str, data: bytes, *, mode: int = 0o600, flush: bool = True) -> None:
    """A new file in an open folder nobody else knows yet. Without `flush` the caller has to."""
    _write_new(folder, utf8(name), data, mode, flush=flush)


def remove_file(root: Path, rel: str) -> None:
    """Remove a file, if there is one; the folder is flushed. Raises FileProblem."""
    *folders, name = parts_of(rel)
    try:
        with open_dir(root, folders) as folder:
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise problem(error, rel) from error


def remove_empty_dir(root: Path, rel: str) -> bool:
    """Remove a folder if nothing is in it. Returns whether it is gone."""
    *folders, name = parts_of(rel)
    try:
        with open_dir(root, folders) as folder:
            os.rmdir(name, dir_fd=folder)
            os.fsync(folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise problem(error, rel) from error
    return True
