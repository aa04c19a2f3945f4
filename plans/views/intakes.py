"""From a wish to a written plan, a page a step: wish, details, ORA."""

from __future__ import annotations

import json
from hashlib import sha256
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from agents.queries import agent_choices
from agents.roster import load_roster
from archives.identity import identity_of_session
from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.htmx import render_page, wants_region
from plans.drafts import Baseline
from plans.drafts import Intake as Answer
from plans.errors import PlansError
from plans.models import Intake
from plans.schedule import Timing
from plans.schedule_text import read_schedule
from plans.services.intakes import agree_ora, answer_intake, answer_of, drop_intake, start_intake, write_plan
from plans.views.shared import may_act

TEXTS = ("name", "objective", "result")


@role_required("viewer")
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """One line of words; the answer is a whole draft on a page of its own."""
    caller = caller_of(request)
    wish, problem = request.GET.get("wish", "")[:4000], ""
    agents = agent_choices(caller)
    chosen = request.POST.get("agent") or request.GET.get("for") or _agent_at_hand(request)
    if request.method == "POST":
        wish = request.POST.get("wish", "")
        zone = timezone.get_current_timezone_name()
        try:
            intake = start_intake(wish, agent_id=chosen, caller=caller, zone=zone)
            return redirect(intake)
        except AppError as error:
            problem = error.message
    context = {
        "wish": wish,
        "problem": problem,
        "agents": agents if may_act(request) else [],
        "chosen_agent": chosen,
        "examples": _examples(),
        "may_act": may_act(request),
    }
    return render_page(request, "plans/start.html", context, status=422 if problem else 200)


def _agent_at_hand(request: HttpRequest) -> str:
    """The agent that is looked at, else the roster's default."""
    return request.agent_id or load_roster().default_id  # type: ignore[attr-defined]


def _examples() -> list[str]:
    return [
        _("every weekday at 8, write a brief of the support mail of the day before"),
        _("every Friday afternoon, list the contracts that end within 30 days"),
        _("every 2 hours, check that the five dashboards answer"),
        _("tomorrow 07:30, remind me of the supplier call with its last minutes"),
    ]


@role_required("viewer")
@require_http_methods(["GET", "HEAD", "POST"])
def intake(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The draft with its options, then its ORA; agreeing writes PLAN.md and schedules nothing."""
    found = get_object_or_404(Intake.objects.select_related("plan"), uid=uid)
    if found.state == Intake.State.WRITTEN and found.plan is not None:
        return redirect("plans:review", found.plan.uid)
    if found.state == Intake.State.DROPPED:
        messages.info(request, _("This wish was put away."))
        return redirect("plans:list")
    if request.method == "POST":
        return _answer(request, found)
    return _show(request, found, step=request.GET.get("step", ""))


def _answer(request: HttpRequest, found: Intake) -> HttpResponse:
    caller, do = caller_of(request), request.POST.get("do", "update")
    step = request.GET.get("step", "")
    try:
        if do == "drop":
            drop_intake(found, caller=caller)
            messages.success(request, _("The wish was put away."))
            return redirect("plans:list")
        if step == "ora":
            return _answer_ora(request, found, do)
        answer_intake(
            found,
            caller=caller,
            chosen={
                key: request.POST[key]
                for key in ("frequency", "deliverable", "failure")
                if key in request.POST
            },
            other=request.POST.get("other", ""),
            overrides={"schedule": request.POST.get("schedule", "")},
        )
    except AppError as error:
        found.refresh_from_db()
        return _show(request, found, step=step, problem=error.message, typed=True, status=422)
    if getattr(request, "htmx", None):
        return _show(request, found)
    return redirect(f"{found.get_absolute_url()}?step=ora" if do == "ora" else found.get_absolute_url())


def _answer_ora(request: HttpRequest, found: Intake, do: str) -> HttpResponse:
    """Words written over the draft, or the yes to the ORA that was shown."""
    caller = caller_of(request)
    changed = _changed_words(request, answer_of(found).baseline)
    if do == "words" or changed:
        if changed:
            answer_intake(found, caller=caller, overrides=changed)
        if do == "agree":
            messages.info(request, _("Your words are in the ORA now. Look at it once more, then agree."))
        return redirect(f"{found.get_absolute_url()}?step=ora#ora-title")
    if request.POST.get("seen") != fingerprint(answer_of(found).baseline):
        message = _("The draft changed since this page was opened. Look at the ORA below, then agree.")
        raise PlansError(message, code="DRAFT_CHANGED")
    agree_ora(found, caller=caller)
    plan = write_plan(found, caller=caller)
    messages.success(request, _("PLAN.md is written. Nothing is scheduled yet: read it, then confirm it."))
    return redirect(f"{reverse('plans:review', args=[plan.uid])}?tab=plan")


def _changed_words(request: HttpRequest, baseline: Baseline) -> dict[str, object]:
    """Only what differs from the draft: an untouched text keeps following the options."""
    changed: dict[str, object] = {}
    for key in TEXTS:
        typed = request.POST.get(key, getattr(baseline, key)).replace("\r\n", "\n").strip()
        if typed != getattr(baseline, key).strip():
            changed[key] = typed
    if "actions" in request.POST:
        lines = [line.strip() for line in request.POST["actions"].splitlines() if line.strip()]
        if lines != [" ".join(action.split()) for action in baseline.actions]:
            changed["actions"] = lines
    return changed


def fingerprint(baseline: Baseline) -> str:
    """Names the ORA that a page shows, so that another one is not agreed to by mistake."""
    told = [baseline.name, baseline.objective, baseline.result, *baseline.actions, baseline.schedule]
    return sha256(json.dumps(told).encode()).hexdigest()


def _show(
    request: HttpRequest,
    found: Intake,
    *,
    step: str = "",
    problem: str = "",
    typed: bool = False,
    status: int = 200,
) -> HttpResponse:
    draft = answer_of(found)
    post = request.POST if typed else {}
    words = {key: post.get(key, getattr(draft.baseline, key)) for key in TEXTS}
    words["actions"] = post.get(
        "actions", "\n".join(" ".join(action.split()) for action in draft.baseline.actions)
    )
    context = {
        "intake": found,
        "draft": draft,
        "step": step if step == "ora" else "",
        "timing": _timing(draft, found),
        "other": post.get("other", found.other),
        "schedule_text": post.get("schedule", found.overrides.get("schedule", "")),
        "schedule_problem": problem if typed and step != "ora" and post.get("schedule") else "",
        "problem": problem,
        "words": words,
        "words_open": typed,
        "seen": fingerprint(draft.baseline),
        "path": _path(found),
        "may_act": may_act(request),
    }
    if status == 200 and wants_region(request, "draft"):
        return render_page(request, "plans/_details_step.html", context, region="draft")
    return render_page(request, "plans/intake.html", context, status=status)


def _timing(draft: Answer, found: Intake) -> Timing | None:
    try:
        return read_schedule(draft.baseline.schedule, now=found.created_at, zone=found.zone).anchored(
            timezone.now()
        )
    except PlansError:
        return None


def _path(found: Intake) -> str:
    try:
        return f"archives/{identity_of_session(found.session_key).archive_id}/PLAN.md"
    except AppError:
        return "archives/…/PLAN.md"
