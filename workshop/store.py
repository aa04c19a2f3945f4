"""Proposal bundles on disk (contract §3.6):

    <state-dir>/skill-workshop/proposals/<id>/generations/<uuid>/PROPOSAL.md + support files

A bundle is written whole under `.staging-<uuid>`, every file and folder flushed, then renamed into place and
`generations/` flushed. It is never changed afterwards.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway import faults
from workshop import safefiles
from workshop.bundle import DRAFT_NAME
from workshop.errors import FileProblem
from workshop.hashes import sha256
from workshop.names import is_generation_id, is_proposal_id, utf8
from workshop.supportpaths import MAX_FILE_BYTES, SupportFile

# A draft is limited by maxSkillBytes, whose ceiling is 200,000, plus its block; legacy ones may be larger.
MAX_DRAFT_BYTES = 1_200_000
STAGING = ".staging-"


def proposals_root(state_dir: Path) -> Path:
    return state_dir / "skill-workshop" / "proposals"


def proposal_dir(state_dir: Path, proposal_id: str) -> Path:
    if not is_proposal_id(proposal_id):
        raise FileProblem("missing", proposal_id)
    return proposals_root(state_dir) / proposal_id


def generation_dir(state_dir: Path, proposal_id: str, generation: str) -> Path:
    if not is_generation_id(generation):
        raise FileProblem("missing", generation)
    return proposal_dir(state_dir, proposal_id) / "generations" / generation


def new_generation_id() -> str:
    return str(uuid.uuid4())


def draft_file(generation: str) -> str:
    return f"generations/{generation}/{DRAFT_NAME}"


def publish(
    state_dir: Path, proposal_id: str, generation: str, draft: bytes, support: Sequence[SupportFile]
) -> Path:
    """Write one bundle and rename it into place; everything is flushed when this returns.

    Raises FileProblem. Whatever a failure or a kill leaves begins with `.staging-`, or is a whole bundle
    that no record names (`models.Publication` does).
    """
    base = proposal_dir(state_dir, proposal_id) / "generations"
    try:
        made = _make_missing(base)
        staging = base / f"{STAGING}{generation}"
        staging.mkdir()
        written = _write_bundle(staging, draft, support)
        # Flushed only now that everything is written: the first flush then carries most of what the others need.
        for path in (*written, base, *(folder.parent for folder in reversed(made))):
            flush(path)
        faults.reached("publish.staged")
        staging.rename(base / generation)
        faults.reached("publish.renamed")
        flush(base)
    except OSError as error:
        raise safefiles.problem(error, proposal_id) from error
    faults.reached("publish.flushed")
    return base / generation


def _write_bundle(staging: Path, draft: bytes, support: Sequence[SupportFile]) -> list[Path]:
    """Write the files, unflushed; returns them and their folders in the order in which to flush them."""
    files: list[Path] = []
    folders: dict[bytes, None] = {}
    for file in support:
        *parents, name = safefiles.parts_of(file.path)
        for depth in range(1, len(parents) + 1):
            folder = b"/".join(parents[:depth])
            if folder not in folders:
                (staging / folder.decode()).mkdir()
                folders[folder] = None
        with safefiles.open_dir(staging, parents) as handle:
            safefiles.write_new_file(handle, name.decode(), file.data, flush=False)
        files.append(staging / b"/".join((*parents, name)).decode())
        faults.reached("publish.file")
    with safefiles.open_dir(staging, []) as handle:
        safefiles.write_new_file(handle, DRAFT_NAME, draft, flush=False)
    below = [staging / folder.decode() for folder in sorted(folders, reverse=True)]
    return [*files, staging / DRAFT_NAME, *below, staging]


def make_dirs(path: Path) -> None:
    """Make a folder and the missing ones above it, each flushed into its parent."""
    for folder in _make_missing(path):
        flush(folder.parent)


def _make_missing(path: Path) -> list[Path]:
    """Make a folder and the missing ones above it; returns those made, outermost first."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    made = []
    for folder in reversed(missing):
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        made.append(folder)
    return made


def flush(path: Path) -> None:
    """Have a file's bytes, or a folder's names, on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A stored bundle: the draft's bytes and its support files in the order of the record."""

    draft: bytes
    support: list[SupportFile]

    @property
    def text(self) -> str:
        return self.draft.decode(errors="replace")


def read_draft(state_dir: Path, proposal_id: str, draft: str) -> bytes:
    """The stored draft. Raises FileProblem: missing, symlink, hardlink, not-regular, too-large, io."""
    return safefiles.read_file(proposal_dir(state_dir, proposal_id), draft, limit=MAX_DRAFT_BYTES).data


def read_support(
    state_dir: Path, proposal_id: str, draft: str, entries: Iterable[dict[str, Any]]
) -> list[SupportFile]:
    """The support files beside a draft, each checked against its size and hash (FileProblem `changed`)."""
    folder = draft.rpartition("/")[0]
    root = proposal_dir(state_dir, proposal_id)
    files = []
    for entry in entries:
        rel = f"{folder}/{entry['path']}" if folder else entry["path"]
        try:
            data = safefiles.read_file(root, rel, limit=MAX_FILE_BYTES).data
        except FileProblem as problem:
            code = "changed" if problem.code in ("missing", "too-large") else problem.code
            raise FileProblem(code, entry["path"]) from problem
        if len(data) != entry["sizeBytes"] or sha256(data) != entry["hash"]:
            raise FileProblem("changed", entry["path"])
        files.append(SupportFile(entry["path"], data))
    return files


def read_bundle(
    state_dir: Path, proposal_id: str, draft: str, draft_hash: str, entries: Iterable[dict[str, Any]]
) -> Bundle:
    """Draft and support files, all as recorded; FileProblem `changed` names the one that is not."""
    data = read_draft(state_dir, proposal_id, draft)
    if sha256(data) != draft_hash:
        raise FileProblem("changed", DRAFT_NAME)
    return Bundle(data, read_support(state_dir, proposal_id, draft, entries))


def has_draft(state_dir: Path, proposal_id: str, draft: str) -> bool:
    """Whether anything stands where the draft should be: one `lstat`, for lists."""
    try:
        return os.path.lexists(os.fsencode(proposal_dir(state_dir, proposal_id)) + b"/" + utf8(draft))
    except FileProblem:
        return False


def remove_generation(state_dir: Path, proposal_id: str, generation: str) -> None:
    """Remove a bundle (finished or staged) and, when nothing else is left, the proposal's folders."""
    bundle = generation_dir(state_dir, proposal_id, generation)
    for path in (bundle, bundle.with_name(f"{STAGING}{generation}")):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
    for path in (bundle.parent, bundle.parent.parent):
        try:
            path.rmdir()
        except OSError:
            return
        flush(path.parent)
