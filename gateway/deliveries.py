"""The delivery ledger: every message that the dashboard has for a session, and what is really known of it.

Generated, attempted and received are three facts. Nothing here, and nobody above, may say more than the
row says. Source: truth rules of `seeds/long-run-mode.txt`; spec/longrun.md §6.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway import events
from gateway.callers import Caller
from gateway.errors import AppError
from gateway.models import Delivery, DeliveryAttempt
from gateway.models.deliveries import DeliveryQuerySet
from gateway.transports import Transport, transport_for

Outcome = Delivery.Outcome
MAX_TEXT = 200_000
# After a failure nobody but a person sends again before this; the last one failed, it is left for a person.
RETRY_AFTER = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))
MAX_TRIES = len(RETRY_AFTER) + 1


class DeliveryError(AppError):
    """A message that cannot be queued, or a report that contradicts the ledger."""


def queue_message(
    *,
    agent_id: str,
    session_key: str,
    text: str,
    purpose: str,
    dedupe_key: str,
    caller: Caller,
    subject: str = "",
    expires_at: datetime | None = None,
) -> Delivery:
    """Writes a message into the ledger as generated; sending is `attempt_delivery`.

    The same `dedupe_key` (up to 200 characters) returns the first message unchanged, however often it is
    announced. `purpose` is a slug (`progress`, `revision_request`); `subject` names what it is about
    (`proposal:<id>`), for lists; after `expires_at` it is not sent any more.
    Raises DeliveryError `DELIVERY_NO_SESSION`, `DELIVERY_EMPTY`, `DELIVERY_TOO_LONG` or
    `DELIVERY_OTHER_SESSION`.
    """
    if not session_key.strip():
        raise DeliveryError(
            _("There is no session to send this to; there is no default one."), code="DELIVERY_NO_SESSION"
        )
    if not text.strip():
        raise DeliveryError(_("There is nothing to send: the message is empty."), code="DELIVERY_EMPTY")
    if len(text) > MAX_TEXT:
        raise DeliveryError(
            _("The message has %(count)s characters; the limit is %(limit)s.")
            % {"count": len(text), "limit": MAX_TEXT},
            code="DELIVERY_TOO_LONG",
        )
    try:
        with transaction.atomic():
            delivery = Delivery.objects.create(
                agent_id=agent_id,
                session_key=session_key,
                text=text,
                purpose=purpose,
                subject=subject,
                dedupe_key=dedupe_key,
                made_by=caller.label[:200],
                expires_at=expires_at,
            )
            _tell("delivery.generated", delivery, caller)
            return delivery
    except IntegrityError:
        first = Delivery.objects.filter(dedupe_key=dedupe_key).first()
        if first is None:
            raise
        if first.session_key != session_key:
            raise DeliveryError(
                _("This message was already made for another session, “%(session)s”.")
                % {"session": first.session_key},
                code="DELIVERY_OTHER_SESSION",
            ) from None
        return first


def attempt_delivery(delivery: Delivery, *, caller: Caller | None = None) -> Delivery:
    """Tries once to send, and returns the message as it then stands.

    Nothing is sent where it is received, expired, held by another sender or within the cool-down
    (`DELIVERY_COOLDOWN_SECONDS`), or where no transport is open: then it stays as it was. A failed message
    waits longer after each failure (`RETRY_AFTER`) and is left alone after `MAX_TRIES`, unless a person asks.
    Two callers at once send once. Call it outside of transactions.
    """
    delivery.refresh_from_db()
    by_hand = caller is not None and caller.is_person
    if delivery.attempt_count >= MAX_TRIES and not by_hand:
        return delivery
    transport = transport_for(delivery)
    if transport is None or _already_lies_there(delivery, transport):
        return delivery
    attempt = _claim(delivery, transport.name, timezone.now(), by_hand=by_hand)
    if attempt is None:
        return delivery
    sent = transport.send(delivery)
    return _settle(attempt, sent.outcome, sent.error, caller, via=transport.name)


def report_attempt(
    delivery: Delivery, *, outcome: str, error: str = "", caller: Caller, transport: str = "agent"
) -> Delivery:
    """Records a try that somebody else made, such as the agent's own reply in its session.

    A late `failed` or `unknown` never undoes what was received.
    Raises DeliveryError `DELIVERY_REASON_MISSING` for a failure without its reason.
    """
    caller.require_agent(delivery.agent_id)
    if outcome == Outcome.FAILED and not error.strip():
        raise DeliveryError(_("Say why the sending failed."), code="DELIVERY_REASON_MISSING")
    now = timezone.now()
    with transaction.atomic():
        attempt = DeliveryAttempt.objects.create(delivery=delivery, transport=transport[:20], started_at=now)
        Delivery.objects.filter(pk=delivery.pk).update(
            attempted_at=now, attempt_count=F("attempt_count") + 1, transport=transport[:20]
        )
        Delivery.objects.filter(pk=delivery.pk, received_at=None).update(hold_until=now + cooldown())
    return _settle(attempt, Outcome(outcome), error, caller, via=caller.label)


def acknowledge(delivery: Delivery, *, caller: Caller) -> Delivery:
    """Records that the session has the message: also late, when its outcome was `unknown` or `failed`.

    Confirming twice keeps the first moment. A message that nobody tried to send counts as one try by
    the one who confirms it, since somebody must have carried it.
    """
    caller.require_agent(delivery.agent_id)
    newest = delivery.attempts.last()
    if newest is None:
        return report_attempt(delivery, outcome=Outcome.DELIVERED, caller=caller)
    return _settle(newest, Outcome.DELIVERED, "", caller, via=caller.label)


def fetch_inbox(session_key: str, *, caller: Caller, agent_id: str, limit: int = 20) -> list[Delivery]:
    """The messages that lie in a session's inbox, oldest first; they stay until acknowledged.

    Only messages that were put there are handed out: what another transport carries is not shown twice.
    Raises GatewayError where the caller may not act for `agent_id`.
    """
    caller.require_agent(agent_id)
    now = timezone.now()
    waiting = list(
        Delivery.objects.open(now)
        .filter(agent_id=agent_id, session_key=session_key, transport="inbox")
        .order_by("id")[: max(1, min(limit, 100))]
    )
    Delivery.objects.filter(pk__in=[item.pk for item in waiting], fetched_at=None).update(fetched_at=now)
    for item in waiting:
        item.fetched_at = item.fetched_at or now
    return waiting


def deliver_open(*, caller: Caller, limit: int = 200) -> int:
    """Tries what is open, free to be sent and has a way to go, oldest first; returns how many were looked at.

    What nobody can carry now takes no turn from what somebody can.
    """
    due = Delivery.objects.sendable().filter(attempt_count__lt=MAX_TRIES).exclude(transport="agent")
    tried = 0
    for delivery in _carried(due).order_by("id")[:limit]:
        attempt_delivery(delivery, caller=caller)
        tried += 1
    return tried


def cooldown() -> timedelta:
    """How long a message whose fate is unknown is not sent again."""
    return timedelta(seconds=settings.DELIVERY_COOLDOWN_SECONDS)


def longest_hold() -> timedelta:
    """How far ahead `hold_until` of a message can lie; one beyond it was left by a clock that went back."""
    return max(cooldown(), *RETRY_AFTER)


def _carried(due: DeliveryQuerySet) -> DeliveryQuerySet:
    """Those of `due` for whose agent a way is open; what lies in an inbox only where there is a better one."""
    direct: list[str] = []
    boxed: list[str] = []
    for agent_id in due.order_by().values_list("agent_id", flat=True).distinct():
        transport = transport_for(Delivery(agent_id=agent_id))
        if transport is not None:
            (boxed if transport.name == "inbox" else direct).append(agent_id)
    return due.filter(Q(agent_id__in=direct) | Q(agent_id__in=boxed) & ~Q(transport="inbox"))


def _already_lies_there(delivery: Delivery, transport: Transport) -> bool:
    """A message in the inbox is not put there twice; a better transport may still take it over."""
    return transport.name == "inbox" and delivery.transport == "inbox"


def _claim(delivery: Delivery, transport: str, now: datetime, *, by_hand: bool) -> DeliveryAttempt | None:
    """Takes the message for one try. The conditional update lets exactly one sender through.

    A person need not wait after a failure; after `unknown` everybody waits, for it may have arrived.
    """
    free = Q(hold_until=None) | Q(hold_until__lte=now)
    if by_hand:
        free |= Q(outcome=Outcome.FAILED)
    with transaction.atomic():
        taken = (
            Delivery.objects.filter(pk=delivery.pk, received_at=None)
            .filter(free)
            .filter(Q(expires_at=None) | Q(expires_at__gt=now))
            .update(
                hold_until=now + cooldown(),
                attempted_at=now,
                attempt_count=F("attempt_count") + 1,
                outcome=Outcome.UNKNOWN,
                error="",
                transport=transport,
            )
        )
        if not taken:
            return None
        return DeliveryAttempt.objects.create(delivery=delivery, transport=transport, started_at=now)


def _settle(
    attempt: DeliveryAttempt, outcome: Delivery.Outcome, error: str, caller: Caller | None, *, via: str
) -> Delivery:
    """Writes what a try came to. Only `delivered` sets `received_at`, and nothing takes it back."""
    now = timezone.now()
    rows = Delivery.objects.filter(pk=attempt.delivery_id, received_at=None)
    with transaction.atomic():
        DeliveryAttempt.objects.filter(pk=attempt.pk).exclude(outcome=Outcome.DELIVERED).update(
            outcome=outcome, error=error[:2000], ended_at=now
        )
        if outcome == Outcome.DELIVERED:
            changed = rows.update(
                outcome=outcome, received_at=now, received_via=via[:200], error="", hold_until=None
            )
        elif outcome == Outcome.FAILED:
            changed = rows.update(outcome=outcome, error=error[:2000], hold_until=_retry_at(attempt, now))
        else:
            changed = rows.update(outcome=outcome, error=error[:2000])
        delivery = Delivery.objects.get(pk=attempt.delivery_id)
        if changed:
            word = {Outcome.DELIVERED: "received", Outcome.FAILED: "failed"}.get(outcome, "attempted")
            _tell(f"delivery.{word}", delivery, caller)
    return delivery


def _retry_at(attempt: DeliveryAttempt, now: datetime) -> datetime | None:
    """Before when a message that failed is not sent again; what an agent sends itself is its own affair."""
    if attempt.transport == "agent":
        return None
    tries = Delivery.objects.values_list("attempt_count", flat=True).get(pk=attempt.delivery_id)
    return now + RETRY_AFTER[min(tries, len(RETRY_AFTER)) - 1]


def _tell(kind: str, delivery: Delivery, caller: Caller | None) -> None:
    events.publish(
        kind,
        agent_id=delivery.agent_id,
        subject=f"delivery:{delivery.pk}",
        data={
            "purpose": delivery.purpose,
            "about": delivery.subject,
            "sessionKey": delivery.session_key,
            "outcome": delivery.outcome,
            "transport": delivery.transport,
            "error": delivery.error,
        },
        caller=caller,
    )
