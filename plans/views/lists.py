"""The list of plans and the calendar."""

from __future__ import annotations

from datetime import date, timedelta

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agents.queries import agent_choices
from gateway.access import role_required
from gateway.callers import caller_of
from openclaw_web.htmx import render_page
from plans.calendar import DAYS, read_week
from plans.listing import SHELVES, count_plans, list_shelf, waiting_plans
from plans.queries import open_intakes
from plans.views.shared import may_act


@role_required("viewer")
@require_safe
def plan_list(request: HttpRequest) -> HttpResponse:
    """What waits for a person, then one shelf of the rest."""
    agent_id = request.agent_id  # type: ignore[attr-defined]
    shelf = request.GET.get("state", "")
    shelf = shelf if shelf in SHELVES else "active"
    words, after = request.GET.get("words", "").strip()[:80], request.GET.get("after", "")
    counts = count_plans(agent_id)
    labels = _shelf_labels()
    context = {
        "counts": counts,
        "waiting": waiting_plans(agent_id),
        "shelf": shelf,
        "tabs": [
            {"key": key, "label": label, "count": counts.by_shelf[key]}
            for key, (label, _none) in labels.items()
        ],
        "nothing": labels[shelf][1],
        "words": words,
        "after": after,
        "page": list_shelf(shelf, agent_id=agent_id, words=words, after=after),
        "intakes": list(open_intakes(agent_id).order_by("-id")[:50])
        if shelf == "drafts" and not words
        else [],
        "may_act": may_act(request),
        "agents": agent_choices(caller_of(request)),
        "chosen_agent": agent_id,
    }
    return render_page(request, "plans/list.html", context, region="shelf")


def _shelf_labels() -> dict[str, tuple[str, str]]:
    """Key → (tab, what an empty shelf says)."""
    return {
        "active": (_("Active"), _("No plan is active. Confirm one, and its next run stands here.")),
        "paused": (_("Paused"), _("No plan is paused.")),
        "drafts": (_("Drafts"), _("No wish is on its way, and no plan waits for changes.")),
        "retired": (_("Ended and retired"), _("No plan has ended yet.")),
    }


@role_required("viewer")
@require_safe
def calendar(request: HttpRequest) -> HttpResponse:
    """Seven days from `?from=YYYY-MM-DD` (today on the reader's clock): past runs and the coming ones."""
    zone, now = timezone.get_current_timezone(), timezone.now()
    first = _day_asked(request.GET.get("from", "")) or now.astimezone(zone).date()
    week = read_week(first, zone=zone, agent_id=request.agent_id, now=now)  # type: ignore[arg-type, attr-defined]
    last = first + timedelta(days=DAYS - 1)
    day = _("j M Y")
    context = {
        "week": week,
        "cut": week.cut or any(day.more for day in week.days),
        "heading": _("%(first)s – %(last)s")
        % {"first": date_format(first, day), "last": date_format(last, day)},
        "earlier": first - timedelta(days=DAYS),
        "later": first + timedelta(days=DAYS),
    }
    return render_page(request, "plans/calendar.html", context)


def _day_asked(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    # A week that the calendar can still add to and take from.
    return day if 1971 <= day.year <= 8900 else None
