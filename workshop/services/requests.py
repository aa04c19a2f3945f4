"""Words to the owning agent: a wish for a revision, or the start of learning from past conversations.

Both go through the delivery ledger and change no proposal by themselves; what is known of the sending is in the
ledger's row, not here.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from gateway import audit, deliveries
from gateway.callers import WRITE, Caller
from gateway.models import Delivery
from gateway.schedules import hand_over
from workshop import drafts, sentences
from workshop.desks import Desk, load_proposal, open_desk
from workshop.errors import WorkshopError
from workshop.models import Comment, LearningSession, Proposal, RevisionRequest
from workshop.names import storable, trim
from workshop.services import bound

MAX_INSTRUCTIONS = 32_768
PURPOSE, LEARN_PURPOSE = "revision_request", "learning"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request and its delivery; `status` is the contract's: `started`, or `ok` once it was received."""

    request: RevisionRequest
    delivery: Delivery

    @property
    def status(self) -> str:
        return "ok" if self.delivery.received_at else "started"


def request_revision(
    agent_id: str | None,
    proposal_id: str,
    *,
    expected_revision_hash: str,
    instructions: str,
    session_key: str,
    idempotency_key: str,
    target_agent_id: str | None = None,
    comments: Sequence[Comment] = (),
    caller: Caller,
) -> Sent:
    """Send a person's words, with the gathered remarks, to a session of the owning agent.

    Without remarks the session gets exactly `instructions` (contract §2.7). The same key in the same session
    returns the first request. Raises WorkshopError; nothing of the proposal changes.
    """
    caller.require_scope(WRITE)
    desk = open_desk(agent_id, caller)
    proposal = load_proposal(desk, proposal_id)
    if not proposal.is_pending:
        raise sentences.refuse("not-pending", _("Only a pending proposal can be sent back for a revision."))
    bound.require_revision(proposal, expected_revision_hash)
    drafts.check_words(instructions=instructions, session_key=session_key)
    target = open_desk(target_agent_id, caller) if target_agent_id is not None else desk
    key = full_session_key(session_key, target)
    text = compose(instructions, comments)
    if len(text) > MAX_INSTRUCTIONS:
        raise sentences.refuse(
            "instructions-too-long",
            _("The request has %(size)s characters with its remarks; %(limit)s are allowed.")
            % {"size": len(text), "limit": MAX_INSTRUCTIONS},
        )
    request = _store(proposal, target, key, text, idempotency_key, comments, caller)
    delivery = deliveries.queue_message(
        agent_id=target.id,
        session_key=key,
        text=request.instructions,
        purpose=PURPOSE,
        dedupe_key=_dedupe_key(key, idempotency_key),
        subject=f"proposal:{proposal.pk}",
        caller=caller,
    )
    if request.delivery_id is None:
        RevisionRequest.objects.filter(pk=request.pk).update(delivery_id=delivery.pk)
        hand_over("workshop.tasks.send_message", delivery.pk)
    return Sent(request, delivery)


def full_session_key(session_key: str, desk: Desk) -> str:
    """`agent:<id>:<rest>`; a bare key belongs to the agent. Raises WorkshopError `other-agents-session`."""
    key = trim(session_key)
    if not key.startswith("agent:"):
        return f"agent:{desk.id}:{key}"
    if not key.startswith(f"agent:{desk.id}:"):
        raise sentences.refuse(
            "other-agents-session",
            _("This session belongs to another agent than %(agent)s.") % {"agent": desk.id},
        )
    return key


def compose(instructions: str, comments: Sequence[Comment]) -> str:
    """The words, then the remarks with their places, as one message."""
    if not comments:
        return instructions
    lines = [instructions.rstrip(), ""] if instructions.strip() else []
    for comment in comments:
        place = comment.path or _("the proposal as a whole")
        at = f"{place}:{comment.line}" if comment.line else place
        if comment.side == Comment.Side.OLD:
            at = _("%(at)s of the live file") % {"at": at}
        lines.append(f"- {at} (v{comment.version}): {comment.body}")
        if comment.quote:
            lines.append(f"  > {comment.quote}")
    return "\n".join(lines)


def _dedupe_key(session_key: str, idempotency_key: str) -> str:
    digest = hashlib.sha256(f"{session_key}\0{idempotency_key}".encode("utf-8", "replace")).hexdigest()
    return f"revision:{digest}"


def _store(
    proposal: Proposal,
    target: Desk,
    key: str,
    text: str,
    idempotency_key: str,
    comments: Sequence[Comment],
    caller: Caller,
) -> RevisionRequest:
    known = hashlib.sha256(idempotency_key.encode("utf-8", "replace")).hexdigest()
    try:
        with transaction.atomic():
            request = RevisionRequest.objects.create(
                proposal=proposal,
                generation=proposal.generation,
                version=proposal.version,
                revision_hash=proposal.revision_hash,
                instructions=storable(text),
                session_key=storable(key),
                agent_id=target.id,
                idempotency_key=known,
                person=storable(caller.label)[:200],
            )
            Comment.objects.in_tray().filter(pk__in=[item.pk for item in comments], proposal=proposal).update(
                request=request
            )
            audit.record(
                caller,
                "proposal.request_revision",
                subject=proposal.pk,
                agent_id=target.id,
                digest=proposal.revision_hash,
                reason=storable(text),
            )
            return request
    except IntegrityError:
        first = RevisionRequest.objects.filter(session_key=storable(key), idempotency_key=known).first()
        if first is None:
            raise
        return first


def learn_from_conversations(agent_id: str | None, *, caller: Caller) -> LearningSession:
    """Open an ordinary session whose first message asks the agent to learn from past conversations.

    There is no separate scan: the chat shows the work and its result. Raises WorkshopError `learning-off`.
    """
    caller.require_scope(WRITE)
    desk = open_desk(agent_id, caller)
    mode = desk.rules.mode
    if mode == "off":
        raise sentences.refuse(
            "learning-off",
            _("Learning is off for this agent (skills.workshop.autonomous.mode in openclaw.json)."),
        )
    key = f"agent:{desk.id}:dashboard:{uuid.uuid4()}"
    delivery = deliveries.queue_message(
        agent_id=desk.id,
        session_key=key,
        text=learning_message(mode),
        purpose=LEARN_PURPOSE,
        dedupe_key=f"learn:{key}"[:200],
        subject="workshop",
        caller=caller,
    )
    session = LearningSession.objects.create(
        agent_id=desk.id,
        session_key=key,
        mode=mode,
        delivery_id=delivery.pk,
        person=storable(caller.label)[:200],
    )
    audit.record(caller, "workshop.learn", subject=key, agent_id=desk.id)
    hand_over("workshop.tasks.open_session", session.pk)
    return session


def learning_message(mode: str) -> str:
    """The opening message. In English, as it is for the agent; the mode decides what it may do."""
    permission = {
        "propose": "Only propose: make or revise proposals with the skill_workshop tool and apply none.",
        "auto": "Make or revise proposals with the skill_workshop tool; apply one only where the approval policy "
        "of this Workshop lets you.",
    }[mode]
    return (
        "Learn from our past conversations.\n\n"
        "1. Look at the skills that exist in your Workshop, so that nothing is made twice.\n"
        "2. Choose the past conversations from which something can be learned: work that came back, corrections, "
        "ways that turned out well. Leave out private matters and anything secret.\n"
        "3. For each thing worth keeping, prefer an update of a skill that exists to a new one.\n"
        f"4. {permission}\n\n"
        f"Learning mode: {mode}. At the end say which conversations you used, what you proposed, and what you "
        "decided against and why."
    )


def require_delivery(delivery_id: int) -> Delivery:
    """The ledger's row. Raises WorkshopError `not-found`."""
    found = Delivery.objects.filter(pk=delivery_id).first()
    if found is None:
        raise WorkshopError(_("There is no such message."), code="not-found")
    return found
