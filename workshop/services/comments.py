"""Remarks on a generation, and the tray in which they gather until they are sent."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _

from gateway.callers import WRITE, Caller
from workshop import drafts, sentences
from workshop.desks import load_proposal, open_desk
from workshop.models import Comment
from workshop.names import storable, trim

MAX_CHARACTERS = 4000


def add_comment(
    agent_id: str | None,
    proposal_id: str,
    *,
    body: str,
    path: str = "",
    line: int | None = None,
    side: str = Comment.Side.NEW,
    quote: str = "",
    caller: Caller,
) -> Comment:
    """Remark on a line (from 1) of a file, on a file, or (without `path`) on the whole of the present
    generation. `side` old: the line is one of the live file, which the proposal would change. Raises WorkshopError `comment-blank`, `comment-too-long`, `no-such-file`, `literal-secret`."""
    caller.require_scope(WRITE)
    proposal = load_proposal(open_desk(agent_id, caller), proposal_id)
    text = trim(body)
    if not text:
        raise sentences.refuse("comment-blank", _("The remark is empty."))
    if len(text) > MAX_CHARACTERS:
        raise sentences.refuse(
            "comment-too-long",
            _("The remark has %(size)s characters; %(limit)s are allowed.")
            % {"size": len(text), "limit": MAX_CHARACTERS},
        )
    drafts.check_words(remark=text)
    known = {
        "",
        "PROPOSAL.md",
        "SKILL.md",
        *(item["path"] for item in proposal.record.get("supportFiles", [])),
    }
    if path not in known or (line is not None and line < 1) or side not in Comment.Side.values:
        raise sentences.refuse("no-such-file", _("This revision has no such file or line."))
    return Comment.objects.create(
        proposal=proposal,
        generation=proposal.generation,
        version=proposal.version,
        path=storable(path),
        line=line if path else None,
        side=side if path and line else Comment.Side.NEW,
        quote=storable(quote)[:500],
        body=storable(text),
        author=storable(caller.label)[:200],
        user=caller.user,
    )


def drop_comment(agent_id: str | None, proposal_id: str, comment_id: int, *, caller: Caller) -> Comment:
    """Take a remark back, while it is in the tray. Raises WorkshopError `comment-sent` or `not-found`."""
    caller.require_scope(WRITE)
    proposal = load_proposal(open_desk(agent_id, caller), proposal_id)
    comment = Comment.objects.filter(pk=comment_id, proposal=proposal).first()
    if comment is None:
        raise sentences.not_found()
    dropped = Comment.objects.in_tray().filter(pk=comment.pk).update(dropped_at=timezone.now())
    if not dropped:
        raise sentences.refuse("comment-sent", _("This remark was sent already, or taken back."))
    comment.refresh_from_db()
    return comment
