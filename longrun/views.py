"""The board, one task, and what a person does with it."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from longrun import queries
from longrun.forms import FORMS, ActionForm, action_forms
from longrun.models import Boundary, LongTask
from longrun.queries import COLUMNS
from longrun.services.heartbeat import send_now
from longrun.services.people import decide
from longrun.shown import Card
from openclaw_web.htmx import render_page, wants_region

_LIVE = ("task-live", "task-timeline")
_SHOWN = 6
_PAGE = 30


@role_required("viewer")
@require_GET
def board(request: HttpRequest) -> HttpResponse:
    """Tasks by state: the newest of each, or one state page by page."""
    agent_id = request.agent_id  # type: ignore[attr-defined]
    state = request.GET.get("state", "")
    if state and state not in COLUMNS:
        raise Http404
    counts = queries.counts_by_state(agent_id)
    mark = queries.board_mark()
    if wants_region(request, "board") and request.GET.get("mark") == mark:
        return HttpResponse(status=204)
    size, after = (_PAGE, _cursor(request)) if state else (_SHOWN, None)
    columns = [
        _column(one, counts[one], queries.column(one, agent_id=agent_id, after=after, size=size), size)
        for one in COLUMNS
        if (one == state if state else counts[one])
    ]
    return render_page(
        request,
        "longrun/board.html",
        {
            "columns": columns,
            "tabs": [(one, LongTask.State(one).label, counts[one]) for one in COLUMNS],
            "state": state,
            "total": sum(counts.values()),
            "mark": mark,
            "cursor": columns[0]["cursor"] if state and columns else "",
        },
        region="board",
    )


@role_required("viewer")
@require_GET
def task(request: HttpRequest, pk: int) -> HttpResponse:
    """One task: what it says, what was seen, its messages, its timeline and the actions."""
    row = _task(pk)
    asked = any(wants_region(request, region) for region in _LIVE)
    if asked and request.GET.get("mark") == queries.task_mark(row):
        return HttpResponse(status=204)
    return _page(request, row)


@role_required("reviewer")
@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """One action of a person: mark waiting, block, hand off, resume, done."""
    row = _task(pk)
    if action not in FORMS:
        raise Http404
    form = FORMS[action](request.POST, prefix=action)
    if not form.is_valid():
        return _page(request, row, failed=action, form=form)
    try:
        changed = decide(row, state=form.state, report=form.report(), caller=caller_of(request))
    except AppError as error:
        field = (error.details or {}).get("field")
        form.add_error(field if field in form.fields else None, error.message)
        return _page(request, row, failed=action, form=form)
    messages.success(
        request,
        _("“%(name)s” is now %(state)s.") % {"name": changed.name, "state": changed.get_state_display()},
    )
    return redirect("longrun:task", pk)


@role_required("reviewer")
@require_POST
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Sends a short progress at once, and says what became of it."""
    row = _task(pk)
    try:
        delivery = send_now(row, caller=caller_of(request))
    except AppError as error:
        messages.error(request, error.message)
        return redirect("longrun:task", pk)
    if delivery.is_received:
        messages.success(request, _("The progress was received in the session."))
    elif delivery.outcome == "failed":
        messages.error(request, _("The progress was not received: %(why)s") % {"why": delivery.reason})
    elif delivery.outcome == "unknown":
        messages.warning(request, _("Sending was tried; it is not known yet whether it arrived."))
    else:
        messages.warning(
            request,
            _("The progress was generated. There is no way to send it: see Health for what to set up."),
        )
    return redirect("longrun:task", pk)


def _task(pk: int) -> LongTask:
    return get_object_or_404(LongTask.objects.select_related("last_delivery", "progress"), pk=pk)


def _page(
    request: HttpRequest, row: LongTask, *, failed: str = "", form: ActionForm | None = None
) -> HttpResponse:
    before = request.GET.get("before", "")
    lines, older = queries.timeline(row, before=int(before) if before.isdecimal() else None)
    context: dict[str, Any] = {
        "task": row,
        "card": Card.of(row, timezone.now()),
        "contradictions": queries.contradictions(row),
        "lines": lines,
        "cursor": older or "",
        "forms": action_forms(row, failed, form),
        "failed": failed,
        "boundaries": Boundary.objects.exists(),
        "mark": queries.task_mark(row),
        "earlier": bool(before),
    }
    region = next((one for one in _LIVE if wants_region(request, one)), None)
    return render_page(request, "longrun/task.html", context, region=region, status=422 if failed else 200)


def _column(state: str, total: int, rows: list[LongTask], size: int) -> dict[str, Any]:
    now = timezone.now()
    more = len(rows) > size
    rows = rows[:size]
    return {
        "state": state,
        "label": LongTask.State(state).label,
        "total": total,
        "cards": [Card.of(row, now) for row in rows],
        "cursor": f"{rows[-1].updated_at.isoformat()}~{rows[-1].pk}" if more else "",
    }


def _cursor(request: HttpRequest) -> tuple[datetime, int] | None:
    moment, _tilde, pk = request.GET.get("before", "").partition("~")
    try:
        return datetime.fromisoformat(moment), int(pk)
    except ValueError:
        return None
