"""One helper between a view and HTMX: the whole page, or the region that was asked for.

Imports no app, so every app may use it.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def wants_region(request: HttpRequest, region: str | None) -> bool:
    """True where HTMX asks to swap `region` (an element id) alone.

    Boosted links and history restores are navigation: they get the whole page.
    """
    htmx = getattr(request, "htmx", None)
    if not region or not htmx or htmx.boosted or htmx.history_restore_request:
        return False
    return htmx.target == region


def render_page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    region: str | None = None,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """Renders `template`, or only its partial `region` where HTMX asks for the element of that id.

    The partial is named like the element it fills (`{% partialdef queue inline %}` for `id="queue"`).
    """
    name = f"{template}#{region}" if wants_region(request, region) else template
    response = render(request, name, context, status=status)
    # The two forms of one address must not be mistaken for each other by any cache.
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    for header, value in (headers or {}).items():
        response[header] = value
    return response
