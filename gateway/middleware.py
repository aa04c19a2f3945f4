"""What every request passes: its id, a trusted proxy's sign-in, and how its reader likes to read."""

import logging
import re
import secrets
import time
import zoneinfo
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.template.response import SimpleTemplateResponse
from django.utils import timezone, translation

from gateway.audit import record
from gateway.callers import caller_of
from openclaw_web.logs import current_request_id

logger = logging.getLogger(__name__)

GetResponse = Callable[[HttpRequest], HttpResponse]
_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def request_id(get_response: GetResponse) -> GetResponse:
    """Gives each request an id of our own making (never the client's), in the log and in the answer."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.request_id = secrets.token_hex(8)  # type: ignore[attr-defined]
        token = current_request_id.set(request.request_id)  # type: ignore[attr-defined]
        began = time.monotonic()
        try:
            response = get_response(request)
            # The path alone: what stands behind "?" can hold what somebody searched for.
            logger.info(
                "%s %s %d in %.0f ms",
                request.method,
                request.path,
                response.status_code,
                (time.monotonic() - began) * 1000,
            )
        finally:
            current_request_id.reset(token)
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        return response

    return middleware


def proxy_sign_in(get_response: GetResponse) -> GetResponse:
    """Signs in the person a trusted proxy names in `PROXY_USER_HEADER`; off unless both settings are set.

    Only people who exist here already: a proxy proves who somebody is, not that they may come in.
    """
    header = (
        "HTTP_" + settings.PROXY_USER_HEADER.upper().replace("-", "_") if settings.PROXY_USER_HEADER else ""
    )

    def middleware(request: HttpRequest) -> HttpResponse:
        name = request.META.get(header, "") if header else ""
        if name and request.META.get("REMOTE_ADDR") in settings.TRUSTED_PROXIES:
            if request.user.get_username() != name:
                user = get_user_model().objects.filter(username=name, is_active=True).first()
                if user is not None:
                    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
                    record(caller_of(request), "person.signed_in", subject=name, detail={"by": "proxy"})
        return get_response(request)

    return middleware


def reader(get_response: GetResponse) -> GetResponse:
    """Activates the reader's language and time zone, and notes which agent they look at.

    Language: the person's, else the cookie's, else the browser's. Zone: the person's, else the one
    the page told us by cookie, else `READER_TIME_ZONE`. Agent: `?agent=<id>`, kept in the session;
    `?agent=` (empty) means all.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        user = request.user if request.user.is_authenticated else None
        # The person's own choice is only read once the cookie, set by the switch, says nothing.
        chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME) or getattr(user, "language", "")
        language = (
            chosen if chosen in dict(settings.LANGUAGES) else translation.get_language_from_request(request)
        )
        zone = getattr(user, "time_zone", "") or request.COOKIES.get("tz", "") or settings.READER_TIME_ZONE
        request.agent_id = _chosen_agent(request)  # type: ignore[attr-defined]
        with translation.override(language), timezone.override(_zone(zone)):
            request.LANGUAGE_CODE = language  # type: ignore[attr-defined]
            response = get_response(request)
            if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
                response.render()  # while the language is active
        response.setdefault("Content-Language", language)
        return response

    return middleware


class CompressPages(GZipMiddleware):
    """Compresses pages. Streams (events, zips) and downloads go out as they are: gzip would hold them back.

    A page's secrets are the masked CSRF token, new in every answer, and Django pads the length by chance.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)


def no_nul(get_response: GetResponse) -> GetResponse:
    """No name has a NUL, and PostgreSQL cannot even look for one: 404 in a path, 400 behind the "?"."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info:
            raise Http404
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("NUL in the query")
        return get_response(request)

    return middleware


def _chosen_agent(request: HttpRequest) -> str:
    asked = request.GET.get("agent")
    if asked is None:
        return request.session.get("agent_id", "")
    if asked and not _AGENT_ID.fullmatch(asked):
        asked = ""
    if request.user.is_authenticated and asked != request.session.get("agent_id", ""):
        request.session["agent_id"] = asked
    return asked


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return zoneinfo.ZoneInfo("UTC")
