"""The curator: what is used, what overlaps, each agent's limits and rules, reviews, and learning."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.htmx import render_page
from workshop.queries import curation as reads
from workshop.services.requests import learn_from_conversations
from workshop.services.rules import set_desk_rules


@role_required("viewer")
@require_GET
def curator(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(request: HttpRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    context = {"found": reads.curation(caller_of(request), agent_id), "problem": problem}
    return render_page(request, "workshop/curator.html", context, status=status)


@role_required("reviewer")
@require_POST
def learn(request: HttpRequest) -> HttpResponse:
    """Open an ordinary session in which the agent learns from past conversations."""
    try:
        session = learn_from_conversations(request.POST.get("agent") or None, caller=caller_of(request))
    except AppError as error:
        return _page(request, problem=error.message, status=422)
    messages.success(
        request,
        _(
            "Session %(session)s is asked for. It begins when the request is received; below stands how far it is."
        )
        % {"session": session.session_key},
    )
    return redirect("workshop:curator")


@role_required("administrator")
@require_POST
def rules(request: HttpRequest) -> HttpResponse:
    """`agent`, `approval_policy` (empty: as in openclaw.json), `two_person`."""
    try:
        set_desk_rules(
            request.POST.get("agent", ""),
            approval_policy=request.POST.get("approval_policy", ""),
            two_person="two_person" in request.POST,
            caller=caller_of(request),
        )
    except AppError as error:
        return _page(request, problem=error.message, status=422)
    messages.success(request, _("The rules are kept."))
    return redirect("workshop:curator")
