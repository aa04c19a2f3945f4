"""Bundles onto the disk and into the record, so that a kill at any point is undone by the next one who looks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from django.db import connection

from gateway import faults
from openclaw_web.prepared import Prepared
from workshop import locks, sentences, store
from workshop.desks import Desk
from workshop.drafts import Draft
from workshop.errors import FileProblem
from workshop.hashes import js_string
from workshop.ledger import Author
from workshop.models import Generation, Proposal, Publication
from workshop.records import version_number

_FORGET = f"DELETE FROM {Publication._meta.db_table} WHERE proposal_id = %s AND generation = %s"  # noqa: S608
_INTENTS = Prepared(lambda agent_id: Publication.objects.filter(agent_id=agent_id), 1)


@contextlib.contextmanager
def published(desk: Desk, proposal_id: str, target_dir: str, draft: Draft) -> Iterator[str]:
    """Write the bundle; the body commits the record that names it, with `claim` in the same transaction.

    If the body raises, the bundle is removed again. Raises WorkshopError when it cannot be written.
    """
    generation = store.new_generation_id()
    intent = Publication.objects.create(
        proposal_id=proposal_id,
        generation=generation,
        agent_id=desk.id,
        lock_name=locks.lock_name(desk.id, target_dir),
    )
    faults.reached("publish.intended")
    try:
        try:
            store.publish(desk.state, proposal_id, generation, draft.data, draft.support)
        except FileProblem as problem:
            raise sentences.file_problem(problem, what="stored") from problem
        yield generation
    except BaseException:
        _discard(desk, intent)
        raise


def _discard(desk: Desk, intent: Publication) -> None:
    if not Generation.objects.filter(proposal_id=intent.proposal_id, uuid=intent.generation).exists():
        store.remove_generation(desk.state, intent.proposal_id, intent.generation)
    intent.delete()


def claim(proposal: Proposal, generation: str, author: Author) -> Generation:
    """The generation's row, and the end of its intent; inside the transaction that makes it active."""
    record = json.loads(proposal.record_json)
    row = Generation.objects.create(
        proposal=proposal,
        uuid=generation,
        version=version_number(record["proposedVersion"]),
        draft_hash=proposal.draft_hash,
        revision_hash=proposal.revision_hash,
        description=proposal.description,
        support_json=js_string(record.get("supportFiles", [])),
        size_bytes=proposal.size_bytes,
        created_at=proposal.updated_at,
        person=author.label,
        user=author.caller.user,
    )
    with connection.cursor() as cursor:
        # Nothing hangs on an intent, so there is nothing for the ORM to collect first.
        cursor.execute(_FORGET, [proposal.pk, generation])
    return row


def sweep(desk: Desk) -> int:
    """Undo the publications of dead writers of this agent; returns how many.

    A writer holds its target's lock from before its intent until after its commit, so a lock that is free
    means that the writer is gone.
    """
    swept = 0
    for intent in _INTENTS.all(desk.id):
        try:
            with locks.hold(desk.state, intent.lock_name, wait=0):
                if Publication.objects.filter(pk=intent.pk).exists():
                    _discard(desk, intent)
                    swept += 1
        except locks.LockBusy:
            continue
    return swept
