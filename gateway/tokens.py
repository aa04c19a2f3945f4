"""Programs' keys: made once, stored hashed, checked in one place."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.core.cache import caches
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway import audit
from gateway.callers import SCOPES, Caller
from gateway.errors import GatewayError
from gateway.models import ApiToken
from openclaw_web.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX = "ocw_"
_TOUCHED_EVERY = timedelta(minutes=1)
_REFUSED_EVERY = timedelta(minutes=1)
_BY_DIGEST = Prepared(lambda digest: ApiToken.objects.filter(digest=digest), 1)


def make_token(
    name: str,
    *,
    scopes: "Iterable[str]",
    caller: Caller,
    agent_ids: "Iterable[str] | None" = None,
    is_agent: bool = False,
    session_key: str = "",
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Makes a token; returns it with its secret, which is shown now and never again.

    `agent_ids` None means every agent; a token that an agent holds must name exactly one.
    Raises GatewayError for an unknown scope or an agent's token without its agent.
    """
    wanted = sorted(set(scopes))
    if not name.strip():
        raise GatewayError(_("Give the token a name that says who uses it."), code="TOKEN_NAME_MISSING")
    if unknown := [scope for scope in wanted if scope not in SCOPES]:
        raise GatewayError(
            _("There is no such right: %(scopes)s.") % {"scopes": ", ".join(unknown)}, code="UNKNOWN_SCOPE"
        )
    agents = sorted(set(agent_ids)) if agent_ids is not None else None
    if is_agent and (agents is None or len(agents) != 1):
        raise GatewayError(
            _("A token held by an agent belongs to exactly one agent."), code="TOKEN_AGENT_MISSING"
        )
    secret = _PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        name=name.strip()[:120],
        prefix=secret[: len(_PREFIX) + 6],
        digest=digest_of(secret),
        scopes=wanted,
        agent_ids=agents,
        is_agent=is_agent,
        session_key=session_key,
        created_by=caller.user,
        expires_at=expires_at,
    )
    audit.record(caller, "token.make", subject=str(token), detail={"scopes": wanted, "agents": agents})
    return token, secret


def revoke_token(token: ApiToken, *, caller: Caller) -> ApiToken:
    """Ends a token at once; ending it twice is no error."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    audit.record(caller, "token.revoke", subject=str(token))
    token.refresh_from_db()
    return token


def caller_for_secret(secret: str, *, address: str = "", request_id: str = "") -> Caller | None:
    """The caller behind a bearer secret, or None where it is unknown, revoked or expired; then it is in the trail."""
    now = timezone.now()
    token = _BY_DIGEST.first(digest_of(secret))
    if token is None or not token.is_usable(now):
        _record_refusal(token, address, request_id)
        return None
    if token.last_used_at is None or now - token.last_used_at > _TOUCHED_EVERY:
        # Not on every call: a busy agent would otherwise write a row a call.
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return Caller(
        kind="token",
        label=f"token {token.name}",
        scopes=frozenset(token.scopes),
        token=token,
        agent_ids=None if token.agent_ids is None else frozenset(token.agent_ids),
        is_agent=token.is_agent,
        address=address,
        request_id=request_id,
        session_key=token.session_key,
    )


def _record_refusal(token: ApiToken | None, address: str, request_id: str) -> None:
    """One entry a minute for each address: a stranger must not be able to fill the trail."""
    if not caches["default"].add(f"token:refused:{address}", True, _REFUSED_EVERY.total_seconds()):
        return
    stranger = Caller(kind="token", label="unknown token", address=address, request_id=request_id)
    reason = "unknown" if token is None else "revoked" if token.revoked_at else "expired"
    subject = "" if token is None else str(token)
    audit.record(stranger, "token.refused", subject=subject, outcome="refused", reason=reason)


def digest_of(secret: str) -> str:
    """SHA-256 in hex. The secrets are random (256 bits), so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
