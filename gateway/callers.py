"""Who is asking: one answer for pages, methods, commands and background work."""

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from gateway.errors import FORBIDDEN, GatewayError

if TYPE_CHECKING:
    from gateway.models import ApiToken, User

READ = "operator.read"
WRITE = "operator.write"
ADMIN = "operator.admin"
SCOPES = (READ, WRITE, ADMIN)

ROLES = ("viewer", "reviewer", "administrator")
ROLE_SCOPES: dict[str, frozenset[str]] = {
    "": frozenset(),
    "viewer": frozenset({READ}),
    "reviewer": frozenset({READ, WRITE}),
    "administrator": frozenset({READ, WRITE, ADMIN}),
}


@dataclass(frozen=True)
class Caller:
    """Whoever is behind one call.

    `kind`: `person` (signed in), `token` (a program), `command` (the shell of this host), `system`
    (our own background work). `agent_ids` None means every agent. `is_agent` marks a token that an
    agent holds: it can never decide what a person must. `session_key` is that agent's session, known
    from the token, never from a request.
    """

    kind: Literal["person", "token", "command", "system"]
    label: str
    scopes: frozenset[str] = frozenset()
    user: "User | None" = None
    token: "ApiToken | None" = None
    agent_ids: frozenset[str] | None = None
    is_agent: bool = False
    address: str = ""
    request_id: str = ""
    session_key: str = ""
    caps: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_person(self) -> bool:
        return self.kind == "person"

    def may(self, scope: str) -> bool:
        """Admin satisfies every scope, write satisfies read (contract §1.3)."""
        return scope in self.scopes or ADMIN in self.scopes or (scope == READ and WRITE in self.scopes)

    def require_scope(self, scope: str) -> None:
        """Raises GatewayError `MISSING_SCOPE` with the contract's details."""
        if not self.may(scope):
            raise GatewayError(
                _("This needs the right “%(scope)s”, which %(who)s does not have.")
                % {"scope": scope, "who": self.label},
                code="MISSING_SCOPE",
                rpc_code=FORBIDDEN,
                details={"code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": [scope]},
            )

    def allows_agent(self, agent_id: str) -> bool:
        return self.agent_ids is None or agent_id in self.agent_ids

    def require_agent(self, agent_id: str) -> None:
        """Raises GatewayError `AGENT_NOT_ALLOWED` where the caller's token is for other agents."""
        if not self.allows_agent(agent_id):
            raise GatewayError(
                _("%(who)s may not see or change agent “%(agent)s”.")
                % {"who": self.label, "agent": agent_id},
                code="AGENT_NOT_ALLOWED",
                rpc_code=FORBIDDEN,
                details={"code": "AGENT_NOT_ALLOWED", "agentId": agent_id},
            )


def role_of(user: object) -> str:
    """`viewer`, `reviewer`, `administrator`, or empty for somebody without a role or signed out.

    One query a request: the answer stays on the user object.
    """
    if not getattr(user, "is_authenticated", False) or not user.is_active:  # type: ignore[attr-defined]
        return ""
    if user.is_superuser:  # type: ignore[attr-defined]
        return "administrator"
    known = getattr(user, "_role", None)
    if known is None:
        names = set(user.groups.values_list("name", flat=True))  # type: ignore[attr-defined]
        known = next((role for role in reversed(ROLES) if role in names), "")
        user._role = known  # type: ignore[attr-defined]
    return known


def has_role(user: object, role: str) -> bool:
    """True where the user's role is `role` or above it."""
    mine = role_of(user)
    return bool(mine) and ROLES.index(mine) >= ROLES.index(role)


def client_address(request: HttpRequest) -> str:
    """The address of whoever is really asking, always a plain IP address or empty.

    `X-Forwarded-For` counts only from a named proxy, and only its last hop that is no proxy itself.
    """
    address = _plain_address(request.META.get("REMOTE_ADDR", ""))
    if address in settings.TRUSTED_PROXIES:
        for hop in reversed(request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")):
            candidate = _plain_address(hop.strip())
            if not candidate:
                break
            address = candidate
            if candidate not in settings.TRUSTED_PROXIES:
                break
    return address


def _plain_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def caller_of(request: HttpRequest) -> Caller:
    """The signed-in person behind a page request (no scopes at all for a stranger)."""
    user = request.user
    return Caller(
        kind="person",
        label=user.get_username() or "anonymous",
        scopes=ROLE_SCOPES[role_of(user)],
        user=user if user.is_authenticated else None,  # type: ignore[arg-type]
        address=client_address(request),
        request_id=getattr(request, "request_id", ""),
    )


def command_caller() -> Caller:
    """Whoever has this host's shell: an administrator, but not a person who read a page."""
    return Caller(kind="command", label="command line", scopes=frozenset(SCOPES))


def system_caller(label: str) -> Caller:
    """Our own background work, named in the trail by `label`."""
    return Caller(kind="system", label=label, scopes=frozenset(SCOPES))
