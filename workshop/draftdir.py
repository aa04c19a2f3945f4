"""A draft in a folder of the operator's, for the command line (contract §6): PROPOSAL.md and support files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from django.utils.translation import gettext as _

from workshop import safefiles, sentences, supportpaths
from workshop.bundle import DRAFT_NAME
from workshop.errors import FileProblem, WorkshopError
from workshop.store import MAX_DRAFT_BYTES

MAX_ENTRIES = 256
MAX_COMPONENTS = 8


def read_draft_file(path: Path) -> str:
    """A draft alone. Raises WorkshopError."""
    return _text(path.parent, path.name, MAX_DRAFT_BYTES)


def read_draft_dir(root: Path) -> tuple[str, list[dict[str, str]]]:
    """`(draft, support files)`. Every other file must be a support file without an execute bit; links and
    special files are refused. Raises WorkshopError naming the file."""
    if not root.is_dir():
        raise sentences.refuse("draft-dir", _("%(path)s is not a folder.") % {"path": root})
    files: list[dict[str, str]] = []
    entries = 0
    for folder, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        for name in (*folders, *sorted(names)):
            entries += 1
            rel = (Path(folder) / name).relative_to(root).as_posix()
            if entries > MAX_ENTRIES or rel.count("/") >= MAX_COMPONENTS:
                raise sentences.refuse(
                    "draft-dir-limits",
                    _("%(path)s: a draft folder has %(entries)s entries and %(deep)s levels at most.")
                    % {"path": rel, "entries": MAX_ENTRIES, "deep": MAX_COMPONENTS},
                )
            if name not in folders and rel != DRAFT_NAME:
                files.append({"path": rel, "content": _support(root, rel)})
            elif name in folders and (root / rel).is_symlink():
                raise _special(rel)
    return _text(root, DRAFT_NAME, MAX_DRAFT_BYTES), files


def _special(rel: str) -> WorkshopError:
    return sentences.refuse(
        "draft-dir-special",
        _("“%(path)s” is a link or a special file, which a draft cannot hold.") % {"path": rel},
    )


def _support(root: Path, rel: str) -> str:
    info = (root / rel).lstat()
    if not stat.S_ISREG(info.st_mode):
        raise _special(rel)
    code = supportpaths.check_path(rel)
    if code:
        raise sentences.support_error([supportpaths.Refusal(code, rel)])
    if info.st_mode & 0o111:
        raise sentences.refuse(
            "draft-dir-executable",
            _("“%(path)s” may be executed. Take the execute bits away (chmod a-x): skills hold texts.")
            % {"path": rel},
        )
    return _text(root, rel, supportpaths.MAX_FILE_BYTES)


def _text(root: Path, rel: str, limit: int) -> str:
    try:
        data = safefiles.read_file(root, rel, limit=limit, links=None).data
    except FileNotFoundError as error:
        raise sentences.file_problem(FileProblem("missing", rel), what="live") from error
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise sentences.refuse("draft-not-utf8", _("“%(path)s” is not UTF-8.") % {"path": rel}) from error
    if "\0" in text:
        raise sentences.refuse("draft-nul", _("“%(path)s” holds a NUL character.") % {"path": rel})
    return text
