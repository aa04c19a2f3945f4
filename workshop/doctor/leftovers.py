"""What kills and lost files leave: cut-off applies, half-written bundles, proposals without their draft."""

from __future__ import annotations

import shutil
import time

from django.utils.translation import gettext as _

from workshop import locks, store
from workshop.doctor.base import Ward
from workshop.ledger import commit
from workshop.models import Event, Proposal, Publication, Rollback
from workshop.records import now, with_status
from workshop.services import publishing, recovery

# Longer than any bundle takes to write: nobody is working in it any more.
STAGING_SECONDS = 3600


def check_leftovers(ward: Ward) -> None:
    _check_applies(ward)
    _check_publications(ward)
    _check_staging(ward)
    _check_drafts(ward)


def _check_applies(ward: Ward) -> None:
    for rollback in Rollback.objects.unfinished().select_related("proposal"):
        proposal = rollback.proposal
        desk = ward.desk(proposal.agent_id)
        if desk is None:
            continue
        sentence = _("An apply or roll back of %(id)s was cut off.") % {"id": proposal.pk}
        fix = _("Finish it where all files stand, undo it where some do; leave it where others stand.")
        if ward.note("cut-off", sentence, rollback.target_skill_file, agent_id=desk.id, fix=fix):
            outcome = recovery.settle(desk, proposal)
            if outcome == "stuck":
                ward.failed(_("Other files stand there: a person decides on the proposal's page."))
            elif outcome == "busy":
                ward.failed(_("Somebody is working on it right now."))


def _check_publications(ward: Ward) -> None:
    for agent_id in sorted(set(Publication.objects.values_list("agent_id", flat=True))):
        desk = ward.desk(agent_id)
        if desk is None:
            continue
        idle = [row for row in Publication.objects.filter(agent_id=agent_id) if _is_idle(ward, row.lock_name)]
        for row in idle:
            path = store.proposal_dir(ward.state, row.proposal_id)
            sentence = _("A revision of %(id)s was not finished writing.") % {"id": row.proposal_id}
            ward.note(
                "unfinished-bundle",
                sentence,
                path,
                agent_id=agent_id,
                fix=_("Remove what was written of it."),
            )
        if idle and ward.fix:
            publishing.sweep(desk)


def _is_idle(ward: Ward, name: str) -> bool:
    try:
        with locks.hold(ward.state, name, wait=0):
            return True
    except locks.LockBusy:
        return False


def _check_staging(ward: Ward) -> None:
    root = store.proposals_root(ward.state)
    for path in sorted(root.glob(f"*/generations/{store.STAGING}*")) if root.is_dir() else []:
        if path.is_symlink() or time.time() - path.lstat().st_mtime < STAGING_SECONDS:
            continue
        sentence = _("A half-written bundle lies at %(path)s since more than an hour.") % {"path": path}
        if ward.note("staging", sentence, path, fix=_("Remove it.")):
            shutil.rmtree(path)


def _check_drafts(ward: Ward) -> None:
    """A pending proposal whose draft is gone becomes stale; its metadata and remaining files stay. One with an
    unfinished apply stays pending, and asks for its draft."""
    open_ones = set(Rollback.objects.unfinished().values_list("pk", flat=True))
    for proposal in Proposal.objects.pending().order_by("pk"):
        if store.has_draft(ward.state, proposal.pk, proposal.draft_file):
            continue
        path = store.proposal_dir(ward.state, proposal.pk)
        if proposal.pk in open_ones:
            sentence = _(
                "The draft of %(id)s is gone while its apply is unfinished: restore the draft first."
            )
            ward.note(
                "draft-missing-cut-off", sentence % {"id": proposal.pk}, path, agent_id=proposal.agent_id
            )
            continue
        sentence = _("The draft of %(id)s is gone from the disk.") % {"id": proposal.pk}
        fix = _("Mark it stale; what is left of it stays.")
        if ward.note("draft-missing", sentence, path, agent_id=proposal.agent_id, fix=fix):
            at, why = now(), _("Its draft is gone from the disk.")
            record = with_status(proposal.record, "stale", at, why)
            commit(proposal, record, Event.Type.STALE, ward.author, at, reason=why)
