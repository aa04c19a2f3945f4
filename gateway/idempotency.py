"""The same key returns the first answer, also after a restart, and also while two repeats race."""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import BaseModel

from gateway.callers import Caller
from gateway.errors import UNAVAILABLE, AppError, GatewayError
from gateway.models import IdempotencyRecord

LONGEST_KEY = 256
KEPT_FOR = timedelta(days=7)
# A first call that has not answered by now died with its process; a repeat may take its place.
ABANDONED_AFTER = timedelta(minutes=5)


def answer_once(method: str, params: BaseModel, caller: Caller, work: Callable[[], Any]) -> Any:
    """Runs `work` for the first call with this caller, method and key; repeats get its payload.

    A refusal (AppError) is not an answer: it frees the key, so that a corrected call may use it again.
    Raises GatewayError `IDEMPOTENCY_KEY_REUSED` for other params under a used key, `IDEMPOTENCY_KEY_TOO_LONG`, and
    `IN_FLIGHT` (retryable) while the first call still runs.
    """
    digest = hashlib.sha256(params.model_dump_json().encode()).hexdigest()
    owner = f"{caller.kind}:{caller.token.pk if caller.token else caller.label}"[:220]
    key = params.idempotency_key  # type: ignore[attr-defined]
    if len(key) > LONGEST_KEY:
        raise GatewayError(
            _("An idempotency key has at most %(limit)d characters.") % {"limit": LONGEST_KEY},
            code="IDEMPOTENCY_KEY_TOO_LONG",
        )
    now = timezone.now()
    claimed, record = _claim(owner, method, key, digest, now)
    if not claimed:
        if record.params_digest != digest:
            raise GatewayError(
                _("The idempotency key was used before with other params."), code="IDEMPOTENCY_KEY_REUSED"
            )
        if record.answer is not None:
            return record.answer["payload"]
        raise GatewayError(
            _("The first call with this idempotency key is still running."),
            code="IN_FLIGHT",
            rpc_code=UNAVAILABLE,
            retryable=True,
        )
    try:
        payload = work()
    except AppError:
        record.delete()
        raise
    record.answer = {"payload": payload}
    record.save(update_fields=["answer"])
    return payload


def _claim(owner: str, method: str, key: str, digest: str, now: Any) -> tuple[bool, IdempotencyRecord]:
    with transaction.atomic():
        record, created = IdempotencyRecord.objects.get_or_create(
            owner=owner, method=method, key=key, defaults={"params_digest": digest, "created_at": now}
        )
    if created:
        return True, record
    taken_over = IdempotencyRecord.objects.filter(
        pk=record.pk, answer=None, created_at=record.created_at, created_at__lt=now - ABANDONED_AFTER
    ).update(created_at=now, params_digest=digest)
    return bool(taken_over), record


def forget_old_answers(now: Any = None) -> int:
    """Deletes answers older than seven days; returns how many."""
    gone, _per_model = IdempotencyRecord.objects.filter(
        created_at__lt=(now or timezone.now()) - KEPT_FOR
    ).delete()
    return gone
