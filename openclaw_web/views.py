"""Home, health, activity and search."""

import hashlib

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agents.roster import load_roster
from gateway.access import role_required
from gateway.callers import caller_of
from gateway.clusters import worst_cluster
from openclaw_web.activity import TABS, load_activity, read_filters
from openclaw_web.health import recent_failures, run_checks, schedule_lines
from openclaw_web.htmx import render_page, wants_region
from openclaw_web.inbox import load_inbox
from openclaw_web.paths import state_dir
from openclaw_web.search import search_everywhere

_NOTHING_NEW = 204


@role_required("viewer")
@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The Inbox: what waits for a person, and whether background work goes on.

    An open page asks for region `pulse` with `seen`, the digest it shows, and `told`, what it was told since:
    204 while that is still right.
    """
    inbox = load_inbox(request.agent_id or None)  # type: ignore[attr-defined]
    state = worst_cluster()
    digest = f"{inbox.digest}-{state.name}-{state.status}"
    context = {"inbox": inbox, "cluster": state, "digest": digest}
    if wants_region(request, "pulse"):
        seen = request.GET.get("seen", "")
        if (request.GET.get("told") or seen) == digest:
            return HttpResponse(status=_NOTHING_NEW)
        # What stands in the page's flow stays there: the lines below it must not move by themselves.
        stood = bool(seen) and not seen.endswith("-up")
        context |= {
            "digest": seen,
            "changed": seen.split("-")[0] != inbox.digest,
            "stood": stood,
            "told": digest,
        }
        return render_page(request, "openclaw_web/inbox.html", context, region="pulse")
    if not inbox.total:
        context |= {"roster": load_roster(), "folder": state_dir(), "folder_exists": state_dir().exists()}
    return render_page(request, "openclaw_web/inbox.html", context)


@role_required("viewer")
@never_cache
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Whether everything behind the pages works; region `checks` is asked for again while the page is open."""
    checks = run_checks()
    digest = hashlib.sha256(repr([(c.name, c.tone, c.word) for c in checks]).encode()).hexdigest()[:16]
    if wants_region(request, "checks") and request.GET.get("seen") == digest:
        return HttpResponse(status=_NOTHING_NEW)
    context = {
        "checks": checks,
        "unwell": [check for check in checks if not check.well],
        "schedules": schedule_lines(),
        "failures": recent_failures(),
        "digest": digest,
        "looked_at": timezone.now(),
    }
    return render_page(request, "openclaw_web/health.html", context, region="checks")


@role_required("viewer")
@never_cache
@require_safe
def activity(request: HttpRequest) -> HttpResponse:
    """What was decided (the audit trail) and what happened (the event ledger), newest first.

    An open page asks for region `news` with `since`, its newest row: 204 while nothing came after it.
    """
    filters = read_filters(request)
    page = load_activity(filters)
    if wants_region(request, "news"):
        if not page.news:
            return HttpResponse(status=_NOTHING_NEW)
        return render_page(
            request, "openclaw_web/activity.html", {"page": page, "filters": filters}, region="news"
        )
    return render_page(
        request,
        "openclaw_web/activity.html",
        {"page": page, "filters": filters, "tabs": TABS},
        region="ledger",
    )


@role_required("viewer")
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """What every app finds for `q`, in the order of the rail."""
    query = request.GET.get("q", "").strip()[:200]
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    groups = search_everywhere(query, agent_id, caller_of(request)) if query else []
    return render_page(
        request, "openclaw_web/search.html", {"query": query, "groups": groups}, region="results"
    )


@login_not_required
@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """`{"ok": true}` while this process answers; tells a stranger nothing else."""
    return JsonResponse({"ok": True, "status": "live"})
