"""The HTTP door: methods by POST, their list, and the event stream."""

import json
from dataclasses import replace
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET

from gateway import registry
from gateway.access import role_required
from gateway.callers import Caller, caller_of, client_address
from gateway.registry import RpcError
from gateway.stream import Wanted, follow
from gateway.tokens import caller_for_secret

_STATUS = {"INVALID_REQUEST": 400, "FORBIDDEN": 403, "NOT_PAIRED": 401, "UNAVAILABLE": 503}
_MAX_BODY = 4 * 1024 * 1024


@csrf_exempt  # a bearer token needs no CSRF token; a signed-in person's call is checked below
@login_not_required
@never_cache
def rpc(request: HttpRequest, name: str) -> HttpResponse:
    """`POST /api/rpc/<method>`, body: the params as one JSON object. Source: spec/gateway.md §2.

    A connection declares its capabilities once; here each call may, by name in `OpenClaw-Caps: a, b`.
    """
    if request.method != "POST":
        error = RpcError("INVALID_REQUEST", _("Methods are called by POST."))
        return JsonResponse({"ok": False, "error": error.as_dict()}, status=405, headers={"Allow": "POST"})
    try:
        caller = _caller(request)
        if declared := request.headers.get("OpenClaw-Caps"):
            caller = replace(caller, caps=frozenset(filter(None, map(str.strip, declared.split(",")))))
        payload = registry.call(name, _params(request), caller)
    except RpcError as error:
        status = 401 if error.code == "UNAUTHORIZED" else _STATUS.get(error.code, 400)
        answer = JsonResponse({"ok": False, "error": error.as_dict()}, status=status)
        if status == 401:
            answer["WWW-Authenticate"] = "Bearer"
        return answer
    if isinstance(payload, registry.Encoded):
        return HttpResponse(payload.answer, content_type="application/json")
    return JsonResponse({"ok": True, "payload": payload})


@login_not_required
@never_cache
@require_GET
def method_list(request: HttpRequest) -> HttpResponse:
    """`GET /api/methods`: the methods that this caller may call."""
    try:
        caller = _caller(request, check_csrf=False)
    except RpcError as error:
        return JsonResponse({"ok": False, "error": error.as_dict()}, status=401)
    listed = [
        {
            "name": method.name,
            "scope": method.scope,
            "peopleOnly": method.people_only,
            "summary": method.summary,
            "params": method.params.model_json_schema(by_alias=True),
        }
        for method in registry.methods()
        if caller.may(method.scope)
    ]
    return JsonResponse({"methods": listed})


@role_required("viewer")
@never_cache
@require_GET
def event_stream(request: HttpRequest) -> HttpResponseBase:
    """`GET /events/stream?kinds=a,b.&about=…&plain=1`: the ledger's new events, as they come (SSE).

    Holds no thread. A server that would need one (WSGI) answers 204, which ends the browser's tries: its
    pages ask by themselves.
    """
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)
    ask = request.GET
    wanted = Wanted(
        kinds=frozenset(filter(None, ask.get("kinds", "").split(","))),
        # A page about one thing shows it whatever the agent switch says.
        agent_id="" if ask.get("about") else request.agent_id,  # type: ignore[attr-defined]
        about=ask.get("about", ""),
        plain=bool(ask.get("plain")),
    )
    last = request.headers.get("Last-Event-ID", "")
    after = int(last) if last.isdecimal() and len(last) < 19 else None
    response = StreamingHttpResponse(follow(wanted, after=after), content_type="text/event-stream")
    response["X-Accel-Buffering"] = "no"
    return response


def _caller(request: HttpRequest, *, check_csrf: bool = True) -> Caller:
    scheme, _space, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secret.strip():
        caller = caller_for_secret(
            secret.strip(),
            address=client_address(request),
            request_id=request.request_id,  # type: ignore[attr-defined]
        )
        if caller is not None:
            return caller
        raise RpcError("UNAUTHORIZED", _("The token is unknown, revoked or expired."))
    if not request.user.is_authenticated:
        raise RpcError("UNAUTHORIZED", _("Send a token: “Authorization: Bearer …”."))
    if check_csrf:
        checker = CsrfViewMiddleware(lambda _request: HttpResponse())
        checker.process_request(request)
        if checker.process_view(request, None, (), {}) is not None:  # type: ignore[arg-type]
            raise RpcError("FORBIDDEN", _("The page is too old: reload it and try again."))
    return caller_of(request)


def _params(request: HttpRequest) -> Any:
    if len(request.body) > _MAX_BODY:
        raise RpcError("INVALID_REQUEST", _("The request is larger than 4 MiB."))
    if not request.body.strip():
        return {}
    try:
        return json.loads(request.body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RpcError(
            "INVALID_REQUEST", _("The body is not JSON: %(problem)s.") % {"problem": error}
        ) from error


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")
