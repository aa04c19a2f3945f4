"""Lists of proposals: the desk with what waits, the quarantine, and what was decided."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET

from gateway.access import role_required
from gateway.callers import caller_of
from openclaw_web.htmx import render_page
from workshop.config import rules_of
from workshop.errors import WorkshopError
from workshop.models import Proposal
from workshop.names import is_proposal_id
from workshop.queries import desk as reads
from workshop.views import shown
from workshop.views.review import review_page

PAGE = 50
_DECIDED = (
    Proposal.Status.APPLIED,
    Proposal.Status.REJECTED,
    Proposal.Status.STALE,
    Proposal.Status.QUARANTINED,
)


@role_required("viewer")
@require_GET
def desk(request: HttpRequest) -> HttpResponse:
    """The proposal that waits longest, open on the desk; without one, where the page has looked."""
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    caller = caller_of(request)
    for proposal in reads.queue_of(agent_id)[: shown.QUEUE_LENGTH]:
        try:
            return review_page(request, reads.view(proposal.agent_id, proposal.pk, caller))
        except WorkshopError as error:
            # Its agent is gone from the roster: the queue shows it, the next one opens.
            if error.code != "unknown-agent":
                raise
    return render_page(
        request,
        "workshop/empty.html",
        {
            "queue": shown.queue_of(request),
            "folders": reads.folder_looked_in(caller, agent_id),
            "decided": Proposal.objects.of_agent(agent_id).decided().exists(),
        },
        region="desk",
    )


@role_required("viewer")
@require_GET
def quarantine(request: HttpRequest) -> HttpResponse:
    """What is locked away: why, the rule and the line, and how much of the limit it takes."""
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    rows = list(reads.find(agent_id, status=Proposal.Status.QUARANTINED)[:200])
    counts: dict[str, dict[str, int]] = {}
    counted = Proposal.objects.of_agent(agent_id).counted().order_by().values_list("agent_id", "status")
    for owner, status in counted:
        mine = counts.setdefault(owner, {"pending": 0, "quarantined": 0})
        mine[status] += 1
    agents = {agent.id: agent for agent in reads.visible_agents(caller_of(request), agent_id)}
    limits = [
        {
            "agent": agents[owner].name,
            **mine,
            "total": sum(mine.values()),
            "limit": rules_of(owner).max_pending,
        }
        for owner, mine in sorted(counts.items())
        if owner in agents
    ]
    return render_page(
        request,
        "workshop/quarantine.html",
        {
            "rows": [(row, _critical(row)) for row in rows],
            "limits": limits,
            "folders": reads.folder_looked_in(caller_of(request), agent_id),
        },
    )


def _critical(proposal: Proposal) -> list[dict]:
    return [
        finding for finding in (proposal.scan.get("findings") or []) if finding["severity"] == "critical"
    ][:3]


@role_required("viewer")
@require_GET
def decided(request: HttpRequest) -> HttpResponse:
    """What was decided and why, newest first, read by key. `?status=`, `?kind=`, `?q=`."""
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    status, kind = request.GET.get("status", ""), request.GET.get("kind", "")
    text = request.GET.get("q", "").strip()[:200]
    rows = reads.find(
        agent_id,
        status=status if status in _DECIDED else "",
        kind=kind if kind in Proposal.Kind.values else "",
        text=text,
    ).filter(status__in=_DECIDED)
    after = _cursor(request.GET.get("before", ""))
    if after:
        at, last = after
        rows = rows.filter(Q(updated_at__lt=at) | Q(updated_at=at, pk__gt=last))
    found = list(rows.defer("record_json", "target_tree_json")[: PAGE + 1])
    page = found[:PAGE]
    cursor = f"{page[-1].updated_at.isoformat()}~{page[-1].pk}" if len(found) > PAGE else ""
    return render_page(
        request,
        "workshop/decided.html",
        {
            "rows": [(row, *shown.status_pill(row)) for row in page],
            "cursor": cursor,
            "statuses": [(item.value, item.label) for item in _DECIDED],
            "kinds": Proposal.Kind.choices,
            "status": status,
            "kind": kind,
            "text": text,
            "filtered": bool(status or kind or text or after),
            "folders": reads.folder_looked_in(caller_of(request), agent_id),
        },
        region="decided",
    )


def _cursor(text: str) -> tuple[datetime, str] | None:
    at, _tilde, last = text.partition("~")
    try:
        moment = parse_datetime(at)
    except ValueError:
        return None
    return (moment, last) if moment and moment.tzinfo and is_proposal_id(last) else None
