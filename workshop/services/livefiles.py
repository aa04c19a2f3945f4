"""Writing live skills: what apply writes, what a roll back restores. Nothing else touches them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from django.db import transaction

from gateway import faults
from workshop import bundle, safefiles, sentences, store, targets
from workshop.desks import Desk
from workshop.errors import FileProblem
from workshop.hashes import sha256
from workshop.models import Proposal, Rollback, RollbackFile
from workshop.names import utf8
from workshop.records import now
from workshop.store import Bundle

BEFORE, WRITTEN, PARTIAL, FOREIGN = "before", "written", "partial", "foreign"


def real_root(desk: Desk) -> Path:
    """The agent's folder with links of the way to it resolved; nothing below it is followed."""
    return desk.root.resolve()


def read_live(desk: Desk, rel: str) -> bytes:
    """A live file's bytes, `rel` relative to the agent's folder. Raises FileProblem."""
    return safefiles.read_file(real_root(desk), rel, limit=targets.MAX_LIVE_BYTES, links=None).data


def plan(desk: Desk, proposal: Proposal, stored: Bundle) -> list[tuple[str, bytes]]:
    """`(path relative to the target, bytes)` in writing order: support files first, SKILL.md last, so that a
    skill is never visible without its files."""
    skill = utf8(bundle.render_skill(stored.text))
    files = [(utf8(file.path).decode(), file.data) for file in stored.support]
    return [*files, (bundle.SKILL_NAME, skill)]


def write_rollback(desk: Desk, proposal: Proposal, files: Sequence[tuple[str, bytes]]) -> Rollback:
    """Record what stands at every path that will be written, before anything is. Raises FileProblem."""
    root = real_root(desk)
    rows = []
    for position, (path, data) in enumerate(files):
        rel = f"{proposal.target_dir}/{path}"
        before = _existing(root, rel)
        rows.append(
            RollbackFile(
                position=position,
                path=path,
                existed=before is not None,
                previous=before.data if before else None,
                previous_hash=sha256(before.data) if before else "",
                previous_mode=before.mode if before else None,
                written_hash=sha256(data),
            )
        )
    with transaction.atomic():
        Rollback.objects.filter(pk=proposal.pk).delete()
        rollback = Rollback.objects.create(
            proposal=proposal,
            written_at=now(),
            target_skill_file=desk.skill_path(proposal),
            action=proposal.kind,
            made_dirs=_missing_dirs(root, proposal.target_dir, [path for path, _data in files]),
        )
        for row in rows:
            row.rollback = rollback
        RollbackFile.objects.bulk_create(rows)
    return rollback


def _existing(root: Path, rel: str) -> safefiles.Contents | None:
    if not root.is_dir():
        return None
    try:
        return safefiles.read_file(root, rel, limit=targets.MAX_LIVE_BYTES, links=None)
    except FileProblem as problem:
        if problem.code == "missing":
            return None
        raise


def _missing_dirs(root: Path, target_dir: str, paths: Sequence[str]) -> list[str]:
    """Folders that do not exist yet, outermost first: a roll back removes the ones it finds empty."""
    wanted: dict[str, None] = {}
    for path in paths:
        parts = f"{target_dir}/{path}".split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            wanted["/".join(parts[:depth])] = None
    return [rel for rel in wanted if not targets.exists(root, rel)]


def write(desk: Desk, proposal: Proposal, files: Sequence[tuple[str, bytes]]) -> None:
    """Write the files of an apply; a replaced file keeps its mode. Raises FileProblem."""
    store.make_dirs(desk.root)
    root = real_root(desk)
    for path, data in files:
        rel = f"{proposal.target_dir}/{path}"
        before = _existing(root, rel)
        safefiles.write_file(root, rel, data, mode=before.mode if before else 0o600)
        faults.reached("apply.skill-written" if path == bundle.SKILL_NAME else "apply.support-written")


def compare(desk: Desk, proposal: Proposal, files: Sequence[RollbackFile]) -> str:
    """How the live files stand to a rollback record: all WRITTEN, all BEFORE, PARTIAL, or FOREIGN."""
    written = before = 0
    for file in files:
        try:
            present = targets.live_hash(desk.root, f"{proposal.target_dir}/{file.path}")
        except FileProblem:
            return FOREIGN
        if present == file.written_hash:
            written += 1
            before += present == (file.previous_hash or None)
        elif present == (file.previous_hash or None):
            before += 1
        else:
            return FOREIGN
    if written == len(files):
        return WRITTEN
    return BEFORE if before == len(files) else PARTIAL


_TEMPORARY = re.compile(rb"\.[0-9a-f]{16}\.tmp\Z")


def sweep_temporaries(desk: Desk, proposal: Proposal, paths: Sequence[str]) -> None:
    """Remove what a killed writer left half-written in the folders of `paths`; under the target's lock."""
    root = real_root(desk)
    folders = {f"{proposal.target_dir}/{path}".rpartition("/")[0] for path in paths}
    for rel in folders:
        try:
            with safefiles.open_dir(root, safefiles.parts_of(rel)) as folder:
                for name in map(os.fsencode, os.listdir(folder)):  # noqa: PTH208 - by descriptor
                    if _TEMPORARY.match(name):
                        os.unlink(name, dir_fd=folder)
        except OSError:
            # A folder that is not there (or is a link) holds nothing of ours.
            continue


def restore(desk: Desk, proposal: Proposal, rollback: Rollback, files: Sequence[RollbackFile]) -> None:
    """Put every file back as it was: SKILL.md first, so that a half-restored new skill is not a member.

    Doing it again after a kill changes nothing more. Raises WorkshopError when the disk refuses.
    """
    if not desk.root.is_dir():
        return
    root = real_root(desk)
    sweep_temporaries(desk, proposal, [file.path for file in files])
    try:
        for file in reversed(files):
            rel = f"{proposal.target_dir}/{file.path}"
            if not file.existed:
                safefiles.remove_file(root, rel)
            elif targets.live_hash(desk.root, rel) != file.previous_hash:
                safefiles.write_file(root, rel, bytes(file.previous or b""), mode=file.previous_mode or 0o600)
            faults.reached("restore.file")
        for rel in reversed(rollback.made_dirs):
            safefiles.remove_empty_dir(root, rel)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
