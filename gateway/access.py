"""The one gate in front of pages. Every view names the role it needs; a guard test walks them all."""

import functools
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from gateway.audit import record
from gateway.callers import ROLES, caller_of, has_role

View = Callable[..., Any]
_SAFE = ("GET", "HEAD", "OPTIONS")


def role_required(role: str, *, unsafe: str = "") -> Callable[[View], View]:
    """Lets a view answer only people of `role` or above; others get 403, and it is in the trail.

    Requests that may change something (everything but GET, HEAD and OPTIONS) need `unsafe`, by default a
    reviewer at least: a viewer changes nothing unless a view says so (their own account, say).
    Strangers never come this far: LoginRequiredMiddleware sends them to sign in.
    """
    unsafe = unsafe or ("reviewer" if role == "viewer" else role)
    for name in (role, unsafe):
        if name not in ROLES:
            raise ValueError(f"no such role: {name}")

    def needed(request: HttpRequest) -> str:
        return role if request.method in _SAFE else unsafe

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            _require(request, needed(request))
            return view(request, *args, **kwargs)

        guarded.required_role = role  # type: ignore[attr-defined]
        return guarded

    return decorate


def _require(request: HttpRequest, role: str) -> None:
    if has_role(request.user, role):
        return
    record(
        caller_of(request),
        "page.refused",
        subject=f"{request.method} {request.path}"[:200],
        outcome="refused",
    )
    raise PermissionDenied(
        _("Your account may not do this. It needs the role “%(role)s”.") % {"role": _(role)}
    )
