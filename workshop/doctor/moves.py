"""Skills of older versions lay in the workspace; applied ones move into `workshop-skills`, and what points at
them follows in the same commit. Edit times stay: a move is no edit.

A move is a rename (across disks: a verified copy, then the removal), so a kill leaves the skill at one place or,
complete and equal, at both; the next run goes on from either.
"""

from __future__ import annotations

import os
import secrets
import shutil
from itertools import groupby
from pathlib import Path

from django.db import transaction
from django.utils.translation import gettext as _

from gateway import faults
from workshop import bundle, live, store, targets
from workshop.desks import Desk
from workshop.doctor.base import Ward
from workshop.errors import FileProblem
from workshop.hashes import sha256
from workshop.ledger import commit
from workshop.locks import lock_name
from workshop.models import Event, Proposal
from workshop.names import skill_key, utf8
from workshop.records import now, with_status


def check_moves(ward: Ward) -> None:
    """Owners first, then every old folder with all proposals that point at it."""
    _check_owners(ward)
    legacy = (
        Proposal.objects.exclude(legacy_dir="")
        .exclude(agent_id="")
        .order_by("agent_id", "legacy_dir", "created_at")
    )
    for (agent_id, folder), group in groupby(legacy, key=lambda row: (row.agent_id, row.legacy_dir)):
        desk = ward.desk(agent_id)
        if desk is not None:
            _check_folder(ward, desk, Path(folder), list(group))


def _check_owners(ward: Ward) -> None:
    """Pending proposals whose agent is gone or never was certain: they stay, become stale, and are named."""
    known = [agent.id for agent in ward.agents]
    for proposal in Proposal.objects.pending().exclude(agent_id__in=known).order_by("pk"):
        folder = Path(proposal.legacy_dir or "/")
        considered = ", ".join(ward.owners_of(folder)) or "-"
        if proposal.agent_id:
            why = _("its agent “%(agent)s” is not configured") % {"agent": proposal.agent_id}
        else:
            why = _("its agent is not certain (considered: %(agents)s)") % {"agents": considered}
        _stale(ward, proposal, "owner-unknown", why)


def _stale(ward: Ward, proposal: Proposal, code: str, why: str) -> None:
    sentence = _("The proposal %(id)s cannot be decided: %(why)s.") % {"id": proposal.pk, "why": why}
    where = proposal.legacy_dir or store.proposal_dir(ward.state, proposal.pk)
    if ward.note(
        code,
        sentence,
        where,
        agent_id=proposal.agent_id,
        fix=_("Mark it stale; its files and its history stay."),
    ):
        at = now()
        commit(
            proposal,
            with_status(proposal.record, "stale", at, why),
            Event.Type.STALE,
            ward.author,
            at,
            reason=why,
        )


def _check_folder(ward: Ward, desk: Desk, source: Path, proposals: list[Proposal]) -> None:
    applied = [row for row in proposals if row.kind == "create" and row.status == "applied"]
    pending = [row for row in proposals if row.is_pending]
    if not applied:
        _retarget_creates(ward, desk, [row for row in pending if row.kind == "create"])
        for row in pending:
            if row.kind == "update":
                _stale(ward, row, "outside-update", _("it changes a skill outside the Workshop"))
        return
    key = skill_key(applied[0].record["target"]["skillKey"]) or applied[0].target_dir
    link = _link_on_the_way(source)
    if link is not None:
        if pending:
            sentence = _("%(path)s was put there through a symbolic link; it stays a skill of the workspace.")
            ward.note("symlinked-skill", sentence % {"path": source}, source, agent_id=desk.id)
        for row in pending:
            _stale(ward, row, "symlinked-update", _("its skill lies behind a symbolic link"))
        return
    state = _place(desk, source, key, proposals)
    if state in ("conflict", "lost", "invalid"):
        _cannot_move(ward, desk, source, key, state, pending)
        return
    if ward.note(
        "legacy-skill",
        _("The skill %(path)s lies in the workspace, where an older version put it.") % {"path": source},
        source,
        agent_id=desk.id,
        fix=_("Move it to %(target)s; its proposals follow.") % {"target": desk.root / key},
    ):
        try:
            _move(desk, source, key, state)
        except OSError as error:
            ward.failed(_("The disk refuses: %(why)s.") % {"why": error.strerror})
            return
        faults.reached("doctor.moved")
        _follow(proposals, desk, key)
        faults.reached("doctor.followed")


def _retarget_creates(ward: Ward, desk: Desk, creates: list[Proposal]) -> None:
    for row in creates:
        if ward.note(
            "legacy-create",
            _("The proposal %(id)s would make its skill in the workspace, where an older version did.")
            % {"id": row.pk},
            row.legacy_dir,
            agent_id=desk.id,
            fix=_("Point it at the agent's Workshop folder."),
        ):
            _follow([row], desk, row.target_dir)


def _follow(proposals: list[Proposal], desk: Desk, key: str) -> None:
    """Point all of them at the new place in one commit; nothing else of them changes."""
    with transaction.atomic():
        Proposal.objects.filter(pk__in=[row.pk for row in proposals]).update(
            legacy_dir="", target_dir=key, target_hash=lock_name(desk.id, key)
        )


def _link_on_the_way(source: Path) -> Path | None:
    """The first symbolic link among the skill's folder and the two above it (`skills`, `.agents`)."""
    return next((path for path in (source, source.parent, source.parent.parent) if path.is_symlink()), None)


def _place(desk: Desk, source: Path, key: str, proposals: list[Proposal]) -> str:
    """`move`, `adopt` (it is there already, and is the one), `clean` (an equal copy is there), else why not."""
    target = desk.root / key
    if not source.exists():
        if not (target / bundle.SKILL_NAME).is_file():
            return "lost"
        return "adopt" if _is_the_one(desk, key, proposals) else "conflict"
    text = source / bundle.SKILL_NAME
    if not text.is_file() or not bundle.read(text.read_bytes().decode(errors="replace")).description:
        return "invalid"
    if not os.path.lexists(target):
        return "move"
    same = target.is_dir() and targets.tree_digest(
        targets.tree_files(source, whole=True)
    ) == targets.tree_digest(targets.tree_files(target, whole=True))
    return "clean" if same else "conflict"


def _is_the_one(desk: Desk, key: str, proposals: list[Proposal]) -> bool:
    """Whether what stands at the new place is what was applied, or what a pending update was made against."""
    try:
        present = targets.live_hash(desk.root, targets.skill_file(key))
    except FileProblem:
        return False
    for row in proposals:
        if row.is_pending and row.record["target"].get("currentContentHash") == present:
            return True
        if row.status == "applied":
            try:
                draft = store.read_draft(desk.state, row.pk, row.draft_file)
            except FileProblem:
                continue
            if sha256(utf8(bundle.render_skill(draft.decode(errors="replace")))) == present:
                return True
    return False


def _cannot_move(ward: Ward, desk: Desk, source: Path, key: str, state: str, pending: list[Proposal]) -> None:
    sentence = {
        "conflict": _("%(path)s cannot move: something else stands at %(target)s."),
        "lost": _("%(path)s is gone, and nothing stands at %(target)s either."),
        "invalid": _("%(path)s cannot be read as a skill, so it stays where it is."),
    }[state] % {"path": source, "target": desk.root / key}
    ward.note(f"skill-{state}", sentence, source, agent_id=desk.id)
    for row in pending:
        if row.kind == "update":
            _stale(ward, row, f"update-{state}", _("its skill could not be moved into the Workshop"))


def _move(desk: Desk, source: Path, key: str, state: str) -> None:
    target = desk.root / key
    if state == "move":
        store.make_dirs(target.parent)
        try:
            source.rename(target)
        except OSError:
            _copy_over(source, target)
        else:
            store.flush(target.parent)
            store.flush(source.parent)
            return
    if state in ("move", "clean"):
        shutil.rmtree(source)
        store.flush(source.parent)


def _copy_over(source: Path, target: Path) -> None:
    """Onto another disk: copy aside, compare, put in place."""
    aside = target.with_name(f".moving-{secrets.token_hex(8)}")
    try:
        shutil.copytree(source, aside, symlinks=True)
        if targets.tree_files(source, whole=True) != targets.tree_files(aside, whole=True):
            raise OSError(5, "the copy differs")
        for path in (aside, *(item for item in aside.rglob("*") if not item.is_symlink())):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        aside.rename(target)
        store.flush(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def old_folder_of(root: Path, file: str) -> Path | None:
    """The old folder that an applied event names, when it is not in a Workshop folder."""
    path = Path(file)
    if path.name != bundle.SKILL_NAME or not path.is_absolute() or live.FOLDER in path.parts:
        return None
    return path.parent if not path.is_relative_to(root) else None
