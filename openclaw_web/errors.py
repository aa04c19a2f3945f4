"""Calm answers where there is no page: in the reader's language, with the request id, without JavaScript.

Programs (everything below `/api/`) get the same in the one shape that they read, `{"ok": false, "error": …}`.
"""

import re

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import loader
from django.utils.html import format_html
from django.utils.translation import get_language, get_language_bidi
from django.utils.translation import gettext as _
from django.views.decorators.csrf import requires_csrf_token

from gateway.callers import role_of
from gateway.errors import FORBIDDEN, INVALID_REQUEST, UNAVAILABLE

TEMPLATE = "openclaw_web/error.html"
_OF_DJANGO = re.compile(r"No \w+ matches the given query\.")


@requires_csrf_token
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(
        request,
        400,
        _("The request could not be understood"),
        _("Something in the address or the form was not in order. Go back and try again."),
    )


@requires_csrf_token
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """What the gate says, where it said something; people without any role are told how to get one."""
    user = getattr(request, "user", None)
    if getattr(user, "is_authenticated", False) and not role_of(user):
        return _page(
            request,
            403,
            _("Your account has no role yet"),
            _("An administrator of this site gives you one: viewer, reviewer or administrator."),
            no_role=True,
        )
    said = str(exception) if isinstance(exception, PermissionDenied) and exception.args else ""
    return _page(request, 403, _("This is not yours to do"), said or _("Your account may not open this."))


@requires_csrf_token
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """What the view said is missing, where it said so; not Django's own words about models and patterns."""
    said = exception.args[0] if exception is not None and exception.args else ""
    if not isinstance(said, str) or _OF_DJANGO.fullmatch(said):
        said = ""
    return _page(
        request,
        404,
        _("There is nothing here"),
        said or _("The address leads nowhere. What it named may have been moved, decided or deleted."),
        search=True,
    )


@requires_csrf_token
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form from a page that is too old, or from somewhere else."""
    return _page(
        request,
        403,
        _("This form is too old"),
        _(
            "Nothing was changed. You may have signed in or out in another tab since. "
            "Go back, reload the page, and send it again; copy long text first."
        ),
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """The one page for faults. It asks neither the database nor the session: they may be what is broken."""
    title = _("Something went wrong on the server")
    if _is_program(request):
        return _told(
            request, 500, title, _("Tell an administrator the number %(id)s.") % {"id": _request_id(request)}
        )
    says = _("It was not you. Try again; if it stays, tell an administrator the number below.")
    context = {
        "status": 500,
        "title": title,
        "says": says,
        "request_id": _request_id(request),
        "LANGUAGE_CODE": get_language(),
        "reading": {
            "direction": "rtl" if get_language_bidi() else "ltr",
            "theme": request.COOKIES.get("theme", ""),
        },
        "plain": True,
    }
    try:
        page = loader.render_to_string(TEMPLATE, context)
    except Exception:  # noqa: BLE001 (whatever broke the page, this one must still be said)
        page = format_html(
            '<!doctype html><html lang="{}"><title>500</title><h1>{}</h1><p>{}</p><p>{}</p></html>',
            get_language() or settings.LANGUAGE_CODE,
            title,
            says,
            context["request_id"],
        )
    return HttpResponse(page, status=500)


def _is_program(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def _request_id(request: HttpRequest) -> str:
    return getattr(request, "request_id", "")


def _told(request: HttpRequest, status: int, title: str, says: str) -> JsonResponse:
    code = {403: FORBIDDEN, 500: UNAVAILABLE}.get(status, INVALID_REQUEST)
    error = {"code": code, "message": f"{title}. {says}", "details": {"requestId": _request_id(request)}}
    return JsonResponse({"ok": False, "error": error}, status=status)


def _page(request: HttpRequest, status: int, title: str, says: str, **more: bool) -> HttpResponse:
    if _is_program(request):
        return _told(request, status, title, says)
    context = {
        "status": status,
        "title": title,
        "says": says,
        "request_id": _request_id(request),
        "LANGUAGE_CODE": get_language(),
        **more,
    }
    return render(request, TEMPLATE, context, status=status)
