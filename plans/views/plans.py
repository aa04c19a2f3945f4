"""A plan's own page, its texts and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from archives.cards import Card, cards_of_paths
from archives.errors import ArchivesError
from archives.protocol import parse_path
from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.diffview import numbered_text
from openclaw_web.htmx import render_page
from plans.listing import list_runs
from plans.models import Confirmation, Plan, Run, Schedule
from plans.queries import revisions_of
from plans.services.lifecycle import change_settings, pause_plan, resume_plan, retire_plan, run_now, stop_run
from plans.services.queue import enqueue_runs
from plans.views.shared import (
    base_of,
    disk_note,
    find_plan,
    find_revision,
    may_act,
    read_text,
    revision_diff,
    revision_text,
    stands_again,
)

State = Plan.State
HISTORY_SHOWN = 100
RUNS_SHOWN = 8
OUTPUTS_SHOWN = 6


@dataclass(frozen=True)
class Act:
    """One thing to do with a confirmed plan: its button, and what it will do in a sentence."""

    key: str
    label: str
    icon: str
    says: str
    reason: bool = False


@role_required("viewer")
@require_safe
def plan_page(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Schedule, runs, outputs, the promise, history, and what to do."""
    return show_plan(request, find_plan(uid))


def show_plan(
    request: HttpRequest, plan: Plan, *, problem: str = "", settings_problem: str = "", status: int = 200
) -> HttpResponse:
    """The plan's page, with a refusal shown on it where there was one."""
    schedule = Schedule.objects.filter(plan=plan).first()
    page = list_runs(plan, size=RUNS_SHOWN)
    runs = _with(page.rows, plan)
    confirmation = _last_confirmation(plan)
    context: dict[str, object] = {
        "plan": plan,
        "schedule": schedule,
        "runs": runs,
        "more_runs": bool(page.cursor),
        "outputs": newest_outputs(plan, runs),
        "confirmation": confirmation,
        "revisions": list(revisions_of(plan)[:HISTORY_SHOWN]),
        "may_act": may_act(request),
        "actions": actions_of(plan, confirmation, going=any(run.is_open for run in runs)),
        "problem": problem,
        "settings_problem": settings_problem,
    }
    if plan.current is not None:
        plan.current.plan = plan
        context |= read_text(plan, plan.current.raw).context()
        context |= _held_context(plan) | {"disk_note": disk_note(plan)}
    return render_page(request, "plans/plan.html", context, status=status)


def _with(runs: list[Run], plan: Plan) -> list[Run]:
    for run in runs:
        run.plan = plan
    return runs


def _last_confirmation(plan: Plan) -> Confirmation | None:
    found = plan.confirmations.select_related("person", "revision").defer(
        "revision__content", "revision__text"
    )
    return found.order_by("-id").first()


def _held_context(plan: Plan) -> dict[str, object]:
    """The difference that holds the plan."""
    if plan.state != State.HELD or plan.current is None:
        return {}
    base, confirmed = base_of(plan)
    if base is None:
        return {}
    return {
        "files": [revision_diff(plan, base, plan.current)],
        "back_again": stands_again(plan, base, confirmed),
    }


def newest_outputs(plan: Plan, runs: list[Run], *, limit: int = OUTPUTS_SHOWN) -> list[Card]:
    """Cards of what the newest runs archived; what has gone since shows as missing."""
    paths = []
    for run in runs:
        for output in run.outputs:
            try:
                paths.append(parse_path(str(output.get("path", ""))))
            except ArchivesError:
                continue  # a run's record may hold what another version wrote
    return cards_of_paths(plan.agent_id, paths[:limit]) if paths else []


def actions_of(plan: Plan, confirmation: Confirmation | None, *, going: bool) -> list[Act]:
    """What the state allows; the services decide again."""
    confirmed = confirmation is not None and confirmation.revision_id == plan.current_id
    found = []
    if confirmed and not going and plan.state in (State.ACTIVE, State.PAUSED, State.ENDED):
        says = _("Runs the confirmed text once, now. The schedule stays as it is.")
        found.append(Act("run", _("Run now"), "play", says))
    if going:
        says = _(
            "Asks the run that is going on to stop; it ends within seconds. What the agent did until then stays done."
        )
        found.append(Act("stop", _("Stop the run"), "square", says))
    if plan.state == State.ACTIVE:
        says = _("No due time counts until somebody resumes it. A run that is going on goes on.")
        found.append(Act("pause", _("Pause"), "pause", says, reason=True))
    if plan.state == State.PAUSED:
        says = _("Due times count from now on. What was due while it was paused is not made up for.")
        found.append(Act("resume", _("Resume"), "play", says))
    if plan.state == State.HELD and confirmed:
        says = _(
            "Due times count from now on, if the confirmed text stands in PLAN.md again; else it stays held."
        )
        found.append(Act("resume", _("Resume"), "play", says))
    if plan.state != State.RETIRED:
        says = _(
            "Nothing of “%(name)s” runs again; a queued run is skipped. PLAN.md stays as it is. This cannot be taken back."
        )
        found.append(
            Act("retire", _("Retire"), "archive", says % {"name": plan.name or plan.task_id}, reason=True)
        )
    return found


@role_required("viewer")
@require_POST
def act(request: HttpRequest, uid: UUID, action: str) -> HttpResponse:
    """Pause, resume, run now, stop or retire; a refusal stands on the plan's page."""
    plan, caller = find_plan(uid), caller_of(request)
    reason = request.POST.get("reason", "").strip()[:400]
    try:
        if action == "run":
            run = run_now(plan, caller=caller)
            enqueue_runs([run.pk])
            return redirect(run)
        if action == "pause":
            pause_plan(plan, caller=caller, reason=reason)
            messages.success(request, _("Paused. Nothing is due until somebody resumes it."))
        elif action == "stop":
            going = plan.runs.open().select_related("plan").first()
            if going is not None:
                stop_run(going, caller=caller)
                return redirect(going)
            messages.info(request, _("No run of this plan is going on."))
        elif action == "resume":
            resume_plan(plan, caller=caller)
            messages.success(request, _("Resumed. The next due time stands beside."))
        elif action == "retire":
            retire_plan(plan, caller=caller, reason=reason)
            messages.success(request, _("Retired. Nothing of it runs again."))
        else:
            raise Http404(_("There is no such action."))
    except AppError as error:
        return show_plan(request, find_plan(uid), problem=error.message, status=422)
    return redirect(plan)


@role_required("viewer")
@require_POST
def settings(request: HttpRequest, uid: UUID) -> HttpResponse:
    """What happens to missed times, how long a run may take, whether what was interrupted runs again."""
    plan = find_plan(uid)
    limit = request.POST.get("time_limit", "").strip()
    try:
        change_settings(
            plan,
            caller=caller_of(request),
            missed=request.POST.get("missed", ""),
            rerun_interrupted=request.POST.get("rerun_interrupted") == "on",
            announce=request.POST.get("announce") == "on",
            time_limit=int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 9 else 0,
        )
    except AppError as error:
        return show_plan(request, find_plan(uid), settings_problem=error.message, status=422)
    messages.success(request, _("Saved."))
    return redirect(plan)


@role_required("viewer")
@require_safe
def runs(request: HttpRequest, uid: UUID) -> HttpResponse:
    """All runs of a plan, newest due first, by key."""
    plan, after = find_plan(uid), request.GET.get("after", "")
    page = list_runs(plan, after=after)
    _with(page.rows, plan)
    return render_page(request, "plans/runs.html", {"plan": plan, "page": page, "after": after})


@role_required("viewer")
@require_safe
def revision(request: HttpRequest, uid: UUID, number: int) -> HttpResponse:
    """One text as it was."""
    plan = find_plan(uid)
    found = find_revision(plan, number)
    tab = "raw" if request.GET.get("tab") == "raw" else ""
    context = {
        "plan": plan,
        "revision": found,
        "confirmation": getattr(found, "confirmation", None),
        "earlier": plan.revisions.filter(number__lt=number)
        .order_by("-number")
        .values_list("number", flat=True)
        .first(),
        "tab": tab,
        **read_text(plan, found.raw).context(),
    }
    if tab == "raw":
        context["raw"] = numbered_text(revision_text(found))
    return render_page(request, "plans/revision.html", context)


@role_required("viewer")
@require_safe
def diff(request: HttpRequest, uid: UUID, old: int, new: int) -> HttpResponse:
    """The difference of any two texts of a plan; `?view=split` side by side."""
    plan = find_plan(uid)
    before, after = find_revision(plan, old), find_revision(plan, new)
    split = request.GET.get("view") == "split"
    context = {
        "plan": plan,
        "old": before,
        "new": after,
        "split": split,
        "files": [revision_diff(plan, before, after, split=split)],
    }
    return render_page(request, "plans/diff.html", context)


@role_required("viewer")
@require_safe
def compare(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The form of the history: to the page of the difference that was chosen."""
    plan = find_plan(uid)
    numbers = [request.GET.get(name, "") for name in ("old", "new")]
    if not all(text.isascii() and text.isdigit() and len(text) < 9 for text in numbers):
        raise Http404(_("Choose two revisions."))
    return redirect("plans:diff", plan.uid, int(numbers[0]), int(numbers[1]))
