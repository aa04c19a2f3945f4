"""Home, health and activity."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from gateway.access import role_required
from openclaw_web.htmx import render_page


@role_required("viewer")
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The Inbox: what waits for a person."""
    return render_page(request, "openclaw_web/inbox.html")


@role_required("viewer")
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Whether everything behind the pages works."""
    return render_page(request, "openclaw_web/health.html")


@role_required("viewer")
@require_safe
def activity(request: HttpRequest) -> HttpResponse:
    """The audit trail and the event ledger."""
    return render_page(request, "openclaw_web/activity.html")


@login_not_required
@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """`{"ok": true}` while this process answers; tells a stranger nothing else."""
    return JsonResponse({"ok": True, "status": "live"})


@role_required("viewer")
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """What every app finds for `q`."""
    return render_page(request, "openclaw_web/search.html", {"query": request.GET.get("q", "").strip()[:200]})
