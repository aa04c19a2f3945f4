"""Backups of whole collections from older versions (layout read in the peer's package):

    <state-dir>/skill-workshop/collection-backups/<16 hex>/<backup>/manifest.json + workspace/<skill>/…

They move under their owner's folder, restorable only with full evidence: a saved review, the manifest, and the
hashes of every copied file. Who owns them is the agent of the recorded workspace; when no agent uses that any
more, the one agent whose skills match the recorded results completely. Everything else is kept as it is.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from django.utils.translation import gettext as _

from gateway import faults
from workshop import bundle, safefiles, store, targets
from workshop.desks import Desk
from workshop.doctor.base import Ward
from workshop.errors import FileProblem
from workshop.hashes import js_string
from workshop.models import CollectionReview, Proposal
from workshop.names import utf8

OLD_SCHEMA, NEW_SCHEMA = "openclaw.skill-collection-backup.v1", "openclaw.skill-collection-backup.v2"
MAX_MANIFEST_BYTES = 1_048_576
ROOTS = ("skills", ".agents/skills")


@dataclass(slots=True)
class Backup:
    """One backup; folders are those of the old workspace, `moved` their names below the skill roots."""

    folder: Path
    created_at: str
    workspace: Path
    skills: list[str]
    results: dict[str, str]
    moved: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.folder.name

    def copy_of(self, rel: str) -> Path:
        return self.folder / "workspace" / rel


def check_backups(ward: Ward) -> None:
    root = ward.state / "skill-workshop" / "collection-backups"
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if folder.is_dir() and re.fullmatch(r"[0-9a-f]{16}", folder.name):
            _check_root(ward, folder)


def _check_root(ward: Ward, folder: Path) -> None:
    try:
        backups = [
            read_backup(path)
            for path in sorted(folder.iterdir())
            if path.is_dir() and not path.name.startswith(".")
        ]
    except (ValueError, FileProblem) as error:
        _keep(ward, folder, _("its manifest cannot be read (%(why)s)") % {"why": error})
        return
    if not backups:
        return
    owner, why = _owner(ward, backups)
    desk = ward.desk(owner)
    if desk is None:
        _keep(ward, folder, why)
        return
    destination = desk.agent.agent_dir / "skill-workshop" / "collection-backups"
    for backup in backups:
        _check_backup(ward, desk, backup, destination / backup.id)
    if ward.fix and not any(folder.iterdir()):
        folder.rmdir()


def _keep(ward: Ward, folder: Path, why: str) -> None:
    sentence = _("The old backup %(path)s is kept as it is: %(why)s.") % {"path": folder, "why": why}
    ward.note("backup-kept", sentence, folder)


def read_backup(folder: Path) -> Backup:
    """Raises ValueError or FileProblem when the manifest is not in its form."""
    data: Any = json.loads(safefiles.read_file(folder, "manifest.json", limit=MAX_MANIFEST_BYTES).data)
    if not isinstance(data, dict) or data.get("schema") != OLD_SCHEMA or data.get("id") != folder.name:
        raise ValueError("not a manifest of this backup")
    skills, results = data.get("skillDirs"), data.get("resultSkillDirs")
    hashes = data.get("resultSkillHashes")
    if not isinstance(skills, list) or not isinstance(results, list) or not isinstance(hashes, dict):
        raise ValueError("folders or hashes are missing")
    if set(hashes) != set(results) or not isinstance(data.get("workspaceDir"), str):
        raise ValueError("folders and hashes do not fit together")
    moved = {str(rel): _below_root(str(rel)) for rel in (*skills, *results)}
    if len(set(moved.values())) != len(moved):
        raise ValueError("two folders would get one name")
    return Backup(
        folder,
        str(data.get("createdAt", "")),
        Path(data["workspaceDir"]),
        list(map(str, skills)),
        hashes,
        moved,
    )


def _below_root(rel: str) -> str:
    path = PurePosixPath(rel)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{rel} leaves the workspace")
    for root in ROOTS:
        if path.is_relative_to(root) and path != PurePosixPath(root):
            return path.relative_to(root).as_posix()
    raise ValueError(f"{rel} is in no skill folder")


def _owner(ward: Ward, backups: list[Backup]) -> tuple[str, str]:
    """`(agent id, "")`, or `("", why not)`."""
    spaces = {backup.workspace.resolve() for backup in backups}
    users = sorted(agent.id for agent in ward.agents if agent.workspace.resolve() in spaces)
    if len(spaces) == 1 and len(users) == 1:
        return users[0], ""
    if len(spaces) != 1 or users:
        return "", _("its workspaces belong to %(agents)s") % {"agents": ", ".join(users) or "-"}
    verdicts = {agent.id: _matches(Desk(agent, ward.state), backups) for agent in ward.agents}
    complete = [agent_id for agent_id, (hits, of) in verdicts.items() if of and hits == of]
    if len(complete) == 1 and all(backup.results for backup in backups):
        return complete[0], ""
    considered = (
        ", ".join(f"{agent_id} {hits}/{of}" for agent_id, (hits, of) in sorted(verdicts.items())) or "-"
    )
    return "", _("nobody uses its workspace, and not exactly one agent matches it (%(agents)s)") % {
        "agents": considered
    }


def _matches(desk: Desk, backups: list[Backup]) -> tuple[int, int]:
    """How many of the recorded results stand unchanged in an agent's Workshop."""
    wanted = [(backup.moved[rel], digest) for backup in backups for rel, digest in backup.results.items()]
    return sum(_digest(desk.root / name) == digest for name, digest in wanted), len(wanted)


def _digest(folder: Path, *, whole: bool = False) -> str | None:
    return targets.tree_digest(targets.tree_files(folder, whole=whole)) if folder.is_dir() else None


def _unproven(desk: Desk, backup: Backup) -> list[str]:
    """Skills of a backup that are not proven to be this agent's: what a restore could not answer for."""
    review = CollectionReview.objects.filter(owner_agent_id=desk.id, backup_id=backup.id).first()
    if review is None:
        return sorted(backup.moved)
    dropped = {str(item.get("name")) for item in review.dropped if isinstance(item, dict)}
    unproven = []
    for rel, name in backup.moved.items():
        old = backup.workspace / rel
        if rel in backup.results:
            proven = not old.exists() and _digest(desk.root / name) == backup.results[rel]
        else:
            made = Proposal.objects.filter(agent_id=desk.id, kind="create", status="applied")
            ours = any(_was_at(row, old) for row in made)
            proven = (
                not old.exists()
                and not (desk.root / name).exists()
                and PurePosixPath(name).name in dropped
                and ours
            )
        if not proven:
            unproven.append(rel)
    return sorted(unproven)


def _was_at(row: Proposal, folder: Path) -> bool:
    applied = row.events.filter(type="applied").first()
    file = ((applied.payload if applied else None) or {}).get("targetSkillFile")
    return file == f"{folder}/{bundle.SKILL_NAME}"


def _check_backup(ward: Ward, desk: Desk, backup: Backup, destination: Path) -> None:
    unproven = _unproven(desk, backup)
    if destination.exists() and unproven:
        return  # history only, published before: nothing to do, the old copy stays
    if unproven:
        sentence = _("The backup %(id)s cannot be restored: %(skills)s are not proven to be the agent's.")
        fix = _("Keep a copy as history beside the agent; the old files stay.")
    else:
        sentence = _("The backup %(id)s lies where an older version put it.")
        fix = _("Move it to the agent, compare every file, and only then remove the old copy.")
    facts = {"id": backup.id, "skills": ", ".join(unproven)}
    if not ward.note(
        "backup" if not unproven else "backup-history",
        sentence % facts,
        backup.folder,
        agent_id=desk.id,
        fix=fix,
    ):
        return
    manifest = _manifest(backup, unproven)
    if not destination.exists():
        _publish(backup, destination, manifest, unproven)
    faults.reached("doctor.backup-published")
    if unproven:
        return
    if not _verified(backup, destination, manifest):
        ward.failed(_("What stands at %(path)s differs from it; both stay.") % {"path": destination})
        return
    shutil.rmtree(backup.folder)


def _manifest(backup: Backup, unproven: list[str]) -> dict[str, Any]:
    manifest: dict[str, Any] = {"schema": NEW_SCHEMA, "id": backup.id, "createdAt": backup.created_at}
    if unproven:
        reason = f"not proven to belong to the agent: {', '.join(unproven)}"
        return manifest | {
            "skillDirs": [],
            "resultSkillDirs": [],
            "resultSkillHashes": {},
            "restoreUnavailableReason": reason,
        }
    return manifest | {
        "skillDirs": [backup.moved[rel] for rel in backup.skills],
        "resultSkillDirs": [backup.moved[rel] for rel in backup.results],
        "resultSkillHashes": {backup.moved[rel]: digest for rel, digest in backup.results.items()},
    }


def _publish(backup: Backup, destination: Path, manifest: dict[str, Any], unproven: list[str]) -> None:
    store.make_dirs(destination.parent)
    staging = destination.with_name(f".pending-{backup.id}-{secrets.token_hex(6)}")
    try:
        staging.mkdir()
        if unproven:
            shutil.copytree(backup.folder / "workspace", staging / "history" / "workspace", symlinks=True)
        for rel in [] if unproven else backup.skills:
            shutil.copytree(backup.copy_of(rel), staging / "skills" / backup.moved[rel], symlinks=True)
        safefiles.write_file(staging, "manifest.json", utf8(js_string(manifest)))
        staging.rename(destination)
        store.flush(destination.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _verified(backup: Backup, destination: Path, manifest: dict[str, Any]) -> bool:
    try:
        found = json.loads(safefiles.read_file(destination, "manifest.json", limit=MAX_MANIFEST_BYTES).data)
    except (FileProblem, ValueError):
        return False
    return found == manifest and all(
        _digest(backup.copy_of(rel), whole=True)
        == _digest(destination / "skills" / backup.moved[rel], whole=True)
        for rel in backup.skills
    )
