"""Metadata files of older versions: `proposals.json`, and in each proposal's folder `proposal.json` and
`rollback.json` beside a PROPOSAL.md at its root. Verified one by one, imported, and only then removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from gateway import faults
from workshop import safefiles, store
from workshop.doctor.base import Ward
from workshop.doctor.importing import NotARecord, checked, import_proposal, infer_owner
from workshop.errors import FileProblem
from workshop.models import Proposal
from workshop.names import is_proposal_id

MAX_RECORD_BYTES = 4_194_304
MAX_ROLLBACK_BYTES = 134_217_728
RECORD, ROLLBACK, INDEX = "proposal.json", "rollback.json", "proposals.json"


def check_sidecars(ward: Ward) -> None:
    root = store.proposals_root(ward.state)
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    left = 0
    for folder in folders:
        if is_proposal_id(folder.name) and any((folder / name).exists() for name in (RECORD, ROLLBACK)):
            left += not _check_one(ward, folder)
    index = root.parent / INDEX
    if index.is_file() and not left:
        if ward.note(
            "legacy-index",
            _("The old index of proposals is not needed any more."),
            index,
            fix=_("Remove it; every proposal it names is in our tables or in its own folder."),
        ):
            safefiles.remove_file(root.parent, INDEX)


def _check_one(ward: Ward, folder: Path) -> bool:
    """Returns whether nothing old is left in the folder (after mending, if asked for)."""
    try:
        record, rollback = _read(ward, folder)
    except (NotARecord, FileProblem, ValueError) as error:
        ward.note(
            "legacy-unverified",
            _("The proposal %(id)s of an older version cannot be taken over: %(why)s. Its files stay.")
            % {"id": folder.name, "why": error},
            folder,
        )
        return False
    agent_id, candidates = infer_owner(ward, record, None)
    if ward.desk(agent_id) is None and rollback and record["status"] == "pending":
        ward.note(
            "legacy-cut-off",
            _(
                "%(id)s has an apply that was cut off, and nobody owns it for certain (considered: %(agents)s)."
            )
            % {"id": folder.name, "agents": ", ".join(candidates) or "-"},
            folder,
        )
        return False
    if not ward.note(
        "legacy-metadata",
        _("The proposal %(id)s still has its metadata in files of an older version.") % {"id": folder.name},
        folder,
        agent_id=agent_id,
        fix=_("Take it over into our tables, then remove the metadata files; the draft stays."),
    ):
        return False
    known = Proposal.objects.filter(pk=folder.name).first()
    if known is None:
        import_proposal(ward, record, agent_id=agent_id, source=str(folder), rollback=rollback)
    faults.reached("doctor.sidecar-imported")
    safefiles.remove_file(folder, ROLLBACK)
    faults.reached("doctor.sidecar-rollback-removed")
    safefiles.remove_file(folder, RECORD)
    return True


def _read(ward: Ward, folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Record and rollback, the draft and support files verified against them."""
    rollback = _rollback(folder)
    if not (folder / RECORD).exists():
        # Removed last: a rollback file alone is one whose proposal was taken over before a kill.
        known = Proposal.objects.filter(pk=folder.name).first()
        if known is None:
            raise NotARecord("only its rollback file is there")
        return {**known.record, "target": {**known.record["target"], "skillDir": known.legacy_dir}}, rollback
    record = checked(_json(folder, RECORD, MAX_RECORD_BYTES), proposal_id=folder.name)
    try:
        store.read_bundle(
            ward.state, folder.name, record["draftFile"], record["draftHash"], record.get("supportFiles", [])
        )
    except FileProblem as problem:
        if problem.code == "missing" and rollback:
            raise NotARecord(
                _("its draft is gone and an apply was cut off; restore the draft first")
            ) from problem
        raise
    return record, rollback


def _rollback(folder: Path) -> dict[str, Any] | None:
    if not (folder / ROLLBACK).exists():
        return None
    found = _json(folder, ROLLBACK, MAX_ROLLBACK_BYTES)
    needed = ("proposalId", "writtenAt", "targetSkillFile", "action")
    if not isinstance(found, dict) or any(key not in found for key in needed):
        raise NotARecord("its rollback file is not in its form")
    if found["proposalId"] != folder.name:
        raise NotARecord("its rollback file belongs to another proposal")
    return found


def _json(folder: Path, name: str, limit: int) -> Any:
    return json.loads(safefiles.read_file(folder, name, limit=limit).data)
