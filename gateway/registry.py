"""One table of methods. Pages aside, every door (HTTP, command, later WebSocket) calls through here.

Apps register theirs in `<app>/rpc.py`, imported when Django starts. Source: spec/gateway.md §1, contract §1.6.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from gateway import audit
from gateway.callers import ADMIN, READ, SCOPES, WRITE, Caller
from gateway.errors import FORBIDDEN, INVALID_REQUEST, AppError
from gateway.idempotency import answer_once
from openclaw_web.credentials import masked

__all__ = ["ADMIN", "READ", "WRITE", "Encoded", "Method", "Params", "RpcError", "call", "method", "methods"]
logger = logging.getLogger(__name__)


class Params(BaseModel):
    """Base of every params schema: closed, strict types, camelCase on the wire.

    Texts that cannot be stored everywhere (a NUL, half a surrogate pair) and numbers over 64 bits are refused
    before any handler sees them, but for the fields named in `any_text`, whose service has words of its own.
    """

    any_text: ClassVar[frozenset[str]] = frozenset()
    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, validate_by_name=False, validate_by_alias=True
    )


class RpcError(Exception):
    """An error as it goes over the wire: `{code, message, details?, retryable?, retryAfterMs?}`."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retryable: bool | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        # A name or value that was sent wrongly may be a credential.
        self.message = masked(message)
        self.details = details
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms

    def as_dict(self) -> dict[str, Any]:
        whole = {
            "code": self.code,
            "message": self.message,
            "details": self.details,
            "retryable": self.retryable,
            "retryAfterMs": self.retry_after_ms,
        }
        return {key: value for key, value in whole.items() if value is not None}


class Encoded(dict[str, Any]):
    """A payload whose JSON text is kept already.

    `answer` is the HTTP door's whole answer, `{"ok": true, "payload": …}` in UTF-8, ready to be sent as it is:
    a long list is then not copied at every call.
    """

    HEAD, TAIL = b'{"ok": true, "payload": ', b"}"

    def __init__(self, payload: Mapping[str, Any], *parts: bytes) -> None:
        """`parts` together are the JSON of `payload`."""
        super().__init__(payload)
        self.answer = b"".join((self.HEAD, *parts, self.TAIL))

    @property
    def json(self) -> bytes:
        """The payload's own JSON, for other doors."""
        return self.answer[len(self.HEAD) : -len(self.TAIL)]


Handler = Callable[[Any, Caller], Any]


@dataclass(frozen=True)
class Method:
    """A capability: `name`, `params` schema, the `scope` it needs, and the handler that calls one service."""

    name: str
    params: type[Params]
    scope: str
    handler: Handler
    people_only: bool
    idempotent: bool

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring, for docs/methods.md."""
        return (self.handler.__doc__ or "").strip().split("\n")[0]


_methods: dict[str, Method] = {}


def method(
    name: str,
    *,
    params: type[Params],
    scope: str,
    people_only: bool = False,
    idempotent: bool = False,
) -> Callable[[Handler], Handler]:
    """Registers `handler(params, caller) -> payload` under `name`.

    `people_only`: refused to every caller that is not a signed-in person, whatever its scopes.
    `idempotent`: the params have `idempotency_key`; a repeated key returns the first answer.
    """
    if scope not in SCOPES:
        raise ValueError(f"{name}: no such scope {scope}")
    if idempotent and "idempotency_key" not in params.model_fields:
        raise ValueError(f"{name}: idempotent, but its params have no idempotency_key")

    def register(handler: Handler) -> Handler:
        if name in _methods:
            raise ValueError(f"method {name} is registered twice")
        _methods[name] = Method(name, params, scope, handler, people_only, idempotent)
        return handler

    return register


def methods() -> list[Method]:
    """All methods, by name."""
    return [_methods[name] for name in sorted(_methods)]


def call(name: str, params: Any, caller: Caller) -> Any:
    """Runs one method and returns its JSON-able payload.

    The order of refusals is the contract's (§1.6): unknown method, scope, params, then the service.
    Raises RpcError; refusals of scope and of people-only methods are in the audit trail.
    """
    found = _methods.get(name)
    if found is None:
        # A caller who may not administer must not be able to list methods by trying names.
        if not caller.may(ADMIN):
            raise _missing_scope(name, ADMIN, caller)
        raise RpcError(INVALID_REQUEST, _("There is no method “%(name)s”.") % {"name": name})
    if not caller.may(found.scope):
        raise _missing_scope(name, found.scope, caller)
    if found.people_only and not caller.is_person:
        audit.record(caller, "method.refused", subject=name, outcome="refused", reason="people only")
        raise RpcError(
            FORBIDDEN,
            _("“%(name)s” is for people: sign in and decide on the page.") % {"name": name},
            details={"code": "PEOPLE_ONLY", "method": name},
        )
    checked = _check(found, params)
    try:
        if found.idempotent and checked.idempotency_key:
            return answer_once(found.name, checked, caller, lambda: found.handler(checked, caller))
        return found.handler(checked, caller)
    except AppError as error:
        raise RpcError(
            error.rpc_code, error.message, details=error.details, retryable=error.retryable
        ) from error


def _check(found: Method, params: Any) -> Any:
    if problem := unstorable(params, but=found.params.any_text):
        raise RpcError(
            INVALID_REQUEST,
            _("invalid %(name)s params: %(problems)s") % {"name": found.name, "problems": problem},
        )
    try:
        return found.params.model_validate({} if params is None else params)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc']) or 'params'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        )
        raise RpcError(
            INVALID_REQUEST,
            _("invalid %(name)s params: %(problems)s") % {"name": found.name, "problems": problems},
        ) from error


def unstorable(params: Any, *, but: frozenset[str] = frozenset()) -> str:
    """Which of the params cannot be stored and why; empty where all can. Fields named in `but` are passed over."""
    waiting = [item for item in params.items() if item[0] not in but] if isinstance(params, dict) else []
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, str):
            if "\0" in value or not (value.isascii() or _is_whole(value)):
                return _("%(field)s: a text may not hold NUL or half a character") % {
                    "field": ascii(field)[1:-1]
                }
        elif isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                return _("%(field)s: the number is too large") % {"field": ascii(field)[1:-1]}
        elif isinstance(value, dict):
            waiting += [(f"{field}.{key}", item) for key, item in value.items()]
            waiting += [(f"{field}.{key}", key) for key in value]
        elif isinstance(value, list):
            waiting += [(f"{field}.{number}", item) for number, item in enumerate(value)]
    return ""


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _missing_scope(name: str, scope: str, caller: Caller) -> RpcError:
    audit.record(caller, "method.refused", subject=name[:120], outcome="refused", reason=f"needs {scope}")
    return RpcError(
        FORBIDDEN,
        _("“%(name)s” needs the right “%(scope)s”.") % {"name": name, "scope": scope},
        details={"code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": [scope]},
    )
