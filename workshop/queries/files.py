"""The files of a proposal and of its generations: what applying changes, and what a revision changed."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from workshop import bundle, sentences, store
from workshop.desks import Desk
from workshop.errors import FileProblem
from workshop.models import Generation, Proposal, Rollback
from workshop.services import livefiles
from workshop.store import Bundle


@dataclass(frozen=True, slots=True)
class FilePair:
    """One file of the difference that applying would make. None on a side: it is not there. Binary live
    files have `binary` set and no texts."""

    path: str
    before: str | None
    after: str | None
    binary: bool = False

    @property
    def change(self) -> str:
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "same" if self.before == self.after and not self.binary else "changed"


def pairs(desk: Desk, proposal: Proposal, stored: Bundle) -> list[FilePair]:
    """The files that applying writes, before and after."""
    planned = livefiles.plan(desk, proposal, stored)
    before = _applied_before(proposal) if not proposal.is_pending else None
    found = []
    for path, data in [planned[-1], *planned[:-1]]:
        old = before.get(path) if before is not None else _live_bytes(desk, f"{proposal.target_dir}/{path}")
        found.append(_pair(path, old, data))
    return found


def _applied_before(proposal: Proposal) -> dict[str, bytes | None] | None:
    """What an applied proposal found; None for one that never wrote, which is compared with today."""
    rollback = Rollback.objects.filter(pk=proposal.pk).exclude(state=Rollback.State.OPEN).first()
    if rollback is None:
        return None
    return {file.path: bytes(file.previous or b"") if file.existed else None for file in rollback.files.all()}


def _live_bytes(desk: Desk, rel: str) -> bytes | None:
    try:
        return livefiles.read_live(desk, rel)
    except (FileProblem, FileNotFoundError):
        return None


def _pair(path: str, before: bytes | None, after: bytes | None) -> FilePair:
    try:
        return FilePair(
            path,
            before.decode() if before is not None else None,
            after.decode() if after is not None else None,
        )
    except UnicodeDecodeError:
        return FilePair(path, None if before is None else "", None if after is None else "", binary=True)


@dataclass(frozen=True, slots=True)
class OldBundle:
    """A generation as it can be read today: `bundle` None means that `sentence` says why not."""

    generation: Generation
    bundle: Bundle | None
    sentence: str = ""


def generation_bundle(desk: Desk, generation: Generation) -> OldBundle:
    """The files of any generation, verified against its record."""
    if generation.removed_at:
        return OldBundle(generation, None, _("This generation was removed by the retention setting."))
    proposal = generation.proposal
    draft = store.draft_file(generation.uuid) if generation.uuid else bundle.DRAFT_NAME
    try:
        found = store.read_bundle(desk.state, proposal.pk, draft, generation.draft_hash, generation.support)
    except FileProblem as problem:
        return OldBundle(generation, None, sentences.file_problem(problem, what="stored").message)
    return OldBundle(generation, found)


def generation_pairs(before: OldBundle, after: OldBundle) -> list[FilePair]:
    """The difference of two generations, PROPOSAL.md first."""
    sides: list[dict[str, bytes]] = [
        {bundle.DRAFT_NAME: side.bundle.draft, **{f.path: f.data for f in side.bundle.support}}
        if side.bundle
        else {}
        for side in (before, after)
    ]
    paths = dict.fromkeys([bundle.DRAFT_NAME, *sides[0], *sides[1]])
    return [
        _pair(path, sides[0].get(path), sides[1].get(path))
        for path in paths
        if path in sides[0] or path in sides[1]
    ]
