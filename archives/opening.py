"""Opening below a workspace without ever following a link.

Each folder is opened relative to the one above it, so a folder swapped for a symlink in between is refused,
not followed; of files only regular ones are opened. Source: `spec/archives.md` §2, `reports.md` 12 and 39.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from archives.errors import NotThere, PathRefused
from archives.protocol import ArchivePath, parse_path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def open_folder(root: Path, folders: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """A descriptor of a folder below `root`, no link followed. Raises NotThere or PathRefused."""
    try:
        current = os.open(root.resolve(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotThere(
            _("The workspace %(root)s cannot be opened: %(why)s.") % {"root": root, "why": error.strerror},
            code="no-workspace",
        ) from error
    try:
        for depth, folder in enumerate(folders):
            below = _step_into(current, folder, "/".join(folders[: depth + 1]), create=create)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _step_into(parent: int, name: str, shown: str, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=parent)
            os.fsync(parent)
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError as error:
        raise NotThere(_("“%(path)s” does not exist.") % {"path": shown}, code="not-there") from error
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise PathRefused(
                _("“%(path)s” is a symlink or no folder; archives are never reached through links.")
                % {"path": shown},
                code="path-link",
            ) from error
        raise


def open_in_folder(folder: int, name: str, shown: str) -> BinaryIO:
    """Open one regular file in an open folder for reading; links, FIFOs and devices are refused."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            raise _refuse_special(shown, mode)
        handle = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError as error:
        raise NotThere(_("“%(path)s” does not exist.") % {"path": shown}, code="not-there") from error
    except PermissionError as error:
        raise PathRefused(
            _("“%(path)s” may not be read: permission denied.") % {"path": shown}, code="path-unreadable"
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refuse_special(shown, stat.S_IFLNK) from error
        raise
    # Asked again of what was really opened: the name may have been swapped in between.
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _refuse_special(shown, mode)
    return os.fdopen(handle, "rb")


@contextmanager
def open_file(root: Path, path: ArchivePath | str) -> Iterator[BinaryIO]:
    """Open an archived file for reading. Raises PathRefused for a bad path, NotThere for a missing file."""
    where = parse_path(path) if isinstance(path, str) else path
    with open_folder(root, where.folders) as folder:
        handle = open_in_folder(folder, where.name, str(where))
    with handle:
        yield handle


def _refuse_special(shown: str, mode: int) -> PathRefused:
    kinds = (
        (stat.S_ISLNK, _("a symlink")),
        (stat.S_ISDIR, _("a folder")),
        (stat.S_ISFIFO, _("a named pipe")),
        (stat.S_ISSOCK, _("a socket")),
    )
    kind = next((word for test, word in kinds if test(mode)), _("a device"))
    return PathRefused(
        _("“%(path)s” is %(kind)s; only regular files are read.") % {"path": shown, "kind": kind},
        code="path-special",
    )
