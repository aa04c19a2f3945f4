"""Changing a plan's text, or only its rhythm: PLAN.md first, and then a new confirmation."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID
from zoneinfo import available_timezones

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from archives.queries import default_zone
from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.htmx import render_page
from plans.errors import PlansError
from plans.models import Plan, Revision
from plans.planfile_check import LONGEST_ENTRY
from plans.planfile_write import put_entry
from plans.services.decisions import edit_plan, set_schedule
from plans.services.revisions import follow_file
from plans.views.shared import Reading, find_plan, find_revision, may_act, read_text, revision_diff


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Every IANA zone, for the form's suggestions; found by walking folders, so once a process."""
    return tuple(sorted(available_timezones()))


@role_required("reviewer")
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The entry's text, with its checks beside it. `do=check` saves nothing; a refusal keeps what was typed."""
    plan = _editable(uid)
    if request.method != "POST":
        assert plan.current is not None
        return _show(request, plan, text=plan.current.text)
    text, seen = request.POST.get("text", "").replace("\r\n", "\n"), request.POST.get("seen", "")
    if request.POST.get("do") == "check":
        return _show(request, plan, text=text, seen=seen, checked=True)
    try:
        revision = edit_plan(plan, text=text, seen=seen, caller=caller_of(request))
    except AppError as error:
        return _refused(request, plan, error, text=text, seen=seen)
    return _saved(request, plan, revision)


@role_required("reviewer")
@require_POST
def schedule(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Another rhythm: the line Schedule of PLAN.md changes and nothing else."""
    plan = _editable(uid)
    typed = {name: request.POST.get(name, "").strip() for name in ("kind", "value", "zone")}
    seen = request.POST.get("seen", "")
    assert plan.current is not None
    try:
        revision = set_schedule(plan, **typed, seen=seen, caller=caller_of(request))
    except AppError as error:
        if error.code == "PLAN_CHANGED":
            return _refused(request, plan, error, text=plan.current.text, seen=seen, typed=typed)
        return _show(
            request, plan, text=plan.current.text, typed=typed, rhythm_problem=error.message, status=422
        )
    return _saved(request, plan, revision)


@role_required("reviewer")
@require_POST
def restore(request: HttpRequest, uid: UUID, number: int) -> HttpResponse:
    """Puts an earlier text back into PLAN.md, as a new revision that awaits confirmation."""
    plan = _editable(uid)
    earlier = find_revision(plan, number)
    seen = request.POST.get("seen", "")
    try:
        revision = edit_plan(plan, text=earlier.text, seen=seen, caller=caller_of(request))
    except AppError as error:
        return _refused(request, plan, error, text=earlier.text, seen=seen)
    return _saved(request, plan, revision)


def _editable(uid: UUID) -> Plan:
    plan = find_plan(uid)
    if plan.current is None or plan.state == Plan.State.RETIRED:
        raise Http404(_("This plan is retired; its text does not change any more."))
    return plan


def _saved(request: HttpRequest, plan: Plan, revision: Revision) -> HttpResponse:
    messages.success(
        request,
        _("Revision %(number)d is written. It waits for a confirmation; until then nothing is scheduled.")
        % {"number": revision.number},
    )
    return redirect(reverse("plans:review", args=[plan.uid]))


def _refused(
    request: HttpRequest,
    plan: Plan,
    error: AppError,
    *,
    text: str,
    seen: str,
    typed: dict[str, str] | None = None,
) -> HttpResponse:
    """The words stay; where the file moved on, what moved is shown and the form now stands on the newest text."""
    if error.code != "PLAN_CHANGED":
        return _show(request, plan, text=text, seen=seen, problem=error.message, checked=True, status=422)
    follow_file(plan, caller=caller_of(request))
    return _show(
        request, _editable(plan.uid), text=text, saw=seen, conflict=error.message, typed=typed, status=422
    )


def _show(
    request: HttpRequest,
    plan: Plan,
    *,
    text: str,
    seen: str = "",
    saw: str = "",
    problem: str = "",
    conflict: str = "",
    typed: dict[str, str] | None = None,
    rhythm_problem: str = "",
    checked: bool = False,
    status: int = 200,
) -> HttpResponse:
    revision = plan.current
    assert revision is not None
    reading, refused = _reading(plan, revision, text)
    before = (
        plan.revisions.filter(file_digest=saw).exclude(pk=revision.pk).order_by("-number").first()
        if saw
        else None
    )
    context = {
        "plan": plan,
        "revision": revision,
        "seen": seen or revision.file_digest,
        "text": text,
        "max_bytes": LONGEST_ENTRY,
        "problem": problem or (refused if checked else ""),
        "conflict": conflict,
        "conflict_says": _("Nothing was written. Saving again puts your text over what stands there now."),
        "saw": before,
        "since": [revision_diff(plan, before, revision)] if before is not None else [],
        "rhythm_form": typed or _rhythm_of(plan, reading),
        "rhythm_problem": rhythm_problem,
        "zones": zone_names(),
        "may_act": may_act(request),
        **reading.context(),
    }
    return render_page(request, "plans/edit.html", context, status=status)


def _reading(plan: Plan, revision: Revision, text: str) -> tuple[Reading, str]:
    """The file as it would be with this text, and why it cannot be so where it cannot."""
    try:
        return read_text(plan, put_entry(revision.raw, plan.task_id, text)), ""
    except PlansError as error:
        return read_text(plan, text.encode("utf-8", "replace")), error.message


def _rhythm_of(plan: Plan, reading: Reading) -> dict[str, str]:
    """The present schedule as the form has it: kind, value, zone."""
    line = reading.entry.value("Schedule") if reading.entry else ""
    kind, _space, rest = line.partition(" ")
    value = rest.rpartition(" (")[0] or rest
    zone = reading.timing.zone if reading.timing else default_zone(plan.agent_id)
    return {"kind": kind if kind in ("at", "every", "cron") else "cron", "value": value, "zone": zone}
