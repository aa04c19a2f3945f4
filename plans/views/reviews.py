"""The review desk: read a plan, confirm it, ask for changes. What a refusal meets is shown beside what was typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.desk import Queue, QueueItem, Tab
from openclaw_web.diffview import FileDiff, numbered_text
from openclaw_web.htmx import render_page, wants_region
from plans.conversation import conversation_of
from plans.listing import waiting_plans
from plans.models import Plan, Revision
from plans.queries import revisions_of
from plans.schedule_words import describe_timing
from plans.services.decisions import confirm_plan, request_changes
from plans.services.revisions import follow_file
from plans.views.shared import (
    Reading,
    base_of,
    disk_note,
    find_plan,
    identity_warnings,
    may_act,
    read_text,
    revision_diff,
    revision_text,
    stands_again,
)
from plans.wording import waiting_sentence

State = Plan.State
OPEN_STATES = (State.AWAITING, State.CHANGES, State.HELD)
HISTORY_SHOWN = 100
TABS = ("diff", "plan", "talk", "raw", "history")


@dataclass
class Asked:
    """What a decision page shows beyond the plan: the open question, what was typed, why it was refused."""

    ask: str = ""
    words: str = ""
    comments: list[dict[str, object]] = field(default_factory=list)
    problem: str = ""
    conflict: str = ""
    seen_digest: str = ""


@role_required("viewer")
@require_safe
def review(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One plan on the desk: `?tab=`, and `?ask=confirm|changes` with the question open (`&line=` comments)."""
    plan = find_plan(uid)
    if plan.current is None:
        raise Http404(_("This plan has no text yet."))
    ask = request.GET.get("ask", "")
    asked = Asked(ask=ask if ask in ("confirm", "changes") and may_act(request) else "")
    if asked.ask == "changes":
        newest = request.GET.getlist("line")[-1:]
        asked.comments = [
            {"line": line, "text": "", "newest": [str(line)] == newest} for line in _lines_asked(request)
        ]
    return show_review(request, plan, asked)


@role_required("viewer")
@require_POST
def confirm(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The yes to the text with the posted SHA-256; then the next plan that waits opens."""
    plan = find_plan(uid)
    digest = request.POST.get("digest", "")
    try:
        done = confirm_plan(plan, digest=digest, caller=caller_of(request))
    except AppError as error:
        return _refused(request, plan, error, Asked(seen_digest=digest))
    messages.success(
        request,
        _("Revision %(number)d of “%(name)s” is confirmed and scheduled: %(rhythm)s.")
        % {
            "number": done.revision.number,
            "name": plan.name or plan.task_id,
            "rhythm": describe_timing(done.schedule.timing),
        },
    )
    return redirect(_next_after(request, plan))


@role_required("viewer")
@require_POST
def ask_changes(request: HttpRequest, uid: UUID) -> HttpResponse:
    """A person's words (and comments on lines) to the plan's session; what became of them stands in the conversation."""
    plan = find_plan(uid)
    digest, words = request.POST.get("digest", ""), request.POST.get("text", "")
    comments = [
        {"line": int(line), "text": request.POST.get(f"comment-{line}", "")}
        for line in request.POST.getlist("line")
        if line.isascii() and line.isdigit() and len(line) < 7
    ]
    asked = Asked(ask="changes", words=words, comments=comments, seen_digest=digest)
    if plan.current is not None and digest != plan.current.file_digest:
        asked.conflict = _("The plan changed since you opened it; your words are kept below.")
        return show_review(request, plan, asked, status=422)
    try:
        request_changes(plan, text=words, comments=comments, caller=caller_of(request))
    except AppError as error:
        asked.problem = error.message
        return show_review(request, plan, asked, status=422)
    messages.success(request, _("Your words are kept; below stands whether they reached the session."))
    return redirect(f"{reverse('plans:review', args=[plan.uid])}?tab=talk")


@role_required("viewer")
@require_POST
def look(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Takes up what stands in PLAN.md now: a text that differs becomes a revision."""
    plan = find_plan(uid)
    before = plan.current_id
    after = follow_file(plan, caller=caller_of(request))
    if after.current_id == before:
        messages.info(request, _("There is nothing new to take up."))
    return redirect("plans:review", plan.uid)


def _refused(request: HttpRequest, plan: Plan, error: AppError, asked: Asked) -> HttpResponse:
    plan.refresh_from_db()
    if error.code == "PLAN_CHANGED":
        asked.conflict = error.message
    else:
        asked.problem, asked.conflict = error.message, error.message
    return show_review(request, plan, asked, status=422)


def _next_after(request: HttpRequest, plan: Plan) -> str:
    """After a decision the next item opens; the plan's own page where none waits."""
    rest = [item for item in waiting_plans(request.agent_id) if item.pk != plan.pk]  # type: ignore[attr-defined]
    return reverse("plans:review", args=[rest[0].uid]) if rest else plan.get_absolute_url()


def show_review(request: HttpRequest, plan: Plan, asked: Asked, *, status: int = 200) -> HttpResponse:
    """The desk for one plan; only the footer where HTMX asks for it."""
    revision = plan.current
    assert revision is not None
    revision.plan = plan
    reading = read_text(plan, revision.raw)
    base, base_confirmed = base_of(plan)
    tab = request.GET.get("tab") or request.POST.get("tab") or ("diff" if base else "plan")
    tab = tab if tab in TABS and (tab != "diff" or base) else "plan"
    context = {
        "plan": plan,
        "revision": revision,
        "base": base,
        "base_confirmed": base_confirmed,
        "back_again": stands_again(plan, base, base_confirmed),
        "tab": tab,
        "tab_template": f"plans/_tab_{tab}.html",
        "may_act": may_act(request),
        "open_to_decide": plan.state in OPEN_STATES,
        "confirmable": plan.state in OPEN_STATES and not reading.problems,
        "asked": asked,
        "comments": _with_quotes(asked.comments, reading),
        **reading.context(),
    }
    if wants_region(request, "decide") and status == 200:
        return render_page(request, "plans/_decide.html", context, region="decide")
    context |= _desk(request, plan, tab) | _tab_context(plan, revision, tab, base, reading, request)
    context |= _conflict(plan, revision, asked) | {"warnings": identity_warnings(plan)}
    return render_page(request, "plans/review.html", context, region="desk", status=status)


def _desk(request: HttpRequest, plan: Plan, tab: str) -> dict[str, object]:
    waiting = waiting_plans(request.agent_id)  # type: ignore[attr-defined]
    items = [
        QueueItem(
            url=reverse("plans:review", args=[item.uid]),
            title=item.name or item.task_id,
            detail=waiting_sentence(item),
            at=item.state_at,
            current=item.pk == plan.pk,
            agent=item.agent_id,
        )
        for item in waiting
    ]
    return {"queue": Queue(_("Waits for you"), items, len(items), _("Nothing waits for you."))}


def _tab_context(
    plan: Plan, revision: Revision, tab: str, base: Revision | None, reading: Reading, request: HttpRequest
) -> dict[str, object]:
    """The tabs, and what the open one shows."""
    count = plan.requests.count()
    labels = [
        ("plan", _("Plan"), "t", None),
        ("talk", _("Conversation"), "w", count or None),
        ("raw", _("Raw text"), "f", None),
        ("history", _("History"), "h", revision.number),
    ]
    if base is not None:
        labels.insert(
            0, ("diff", _("Difference to revision %(number)d") % {"number": base.number}, "d", None)
        )
    tabs = [
        Tab(
            name,
            label,
            f"{reverse('plans:review', args=[plan.uid])}?tab={name}",
            key,
            number,
            current=name == tab,
        )
        for name, label, key, number in labels
    ]
    found: dict[str, object] = {"tabs": tabs}
    if tab == "diff" and base is not None:
        found["files"] = [revision_diff(plan, base, revision)]
    elif tab == "talk":
        found["talk"] = conversation_of(plan)
    elif tab == "raw":
        found["raw"] = _numbered(plan, revision, reading, request)
    elif tab == "history":
        found["revisions"] = list(revisions_of(plan)[:HISTORY_SHOWN])
    return found


def _numbered(plan: Plan, revision: Revision, reading: Reading, request: HttpRequest) -> list[object]:
    """The whole file; a line's number opens a comment on it, beside those already begun."""
    link = ""
    if may_act(request):
        begun = "".join(f"line={line}&amp;" for line in _lines_asked(request))
        link = f"?tab=raw&amp;ask=changes&amp;{begun}line="
    marked = frozenset(problem.line for problem in reading.problems)
    return list(numbered_text(revision_text(revision), line_url=link, marked=marked))


def _conflict(plan: Plan, revision: Revision, asked: Asked) -> dict[str, object]:
    """What changed since the page was opened, or what the disk says now."""
    if asked.conflict:
        saw = (
            plan.revisions.filter(file_digest=asked.seen_digest)
            .exclude(pk=revision.pk)
            .order_by("-number")
            .first()
        )
        since: list[FileDiff] = [revision_diff(plan, saw, revision)] if saw is not None else []
        says = (
            _("Nothing was sent.")
            if asked.ask == "changes"
            else _("Nothing was confirmed and nothing is scheduled.")
        )
        return {"conflict": asked.conflict, "conflict_says": says, "saw": saw, "since": since}
    return {"disk_note": disk_note(plan)}


def _lines_asked(request: HttpRequest) -> list[int]:
    lines = [
        line
        for line in request.GET.getlist("line")[:20]
        if line.isascii() and line.isdigit() and len(line) < 7
    ]
    return sorted({int(line) for line in lines if int(line)})


def _with_quotes(comments: list[dict[str, object]], reading: Reading) -> list[dict[str, object]]:
    """Each comment with the line it is about."""
    lines = reading.file.raw.decode("utf-8", "replace").split("\n")
    return [
        {**comment, "quote": lines[int(str(comment["line"])) - 1][:200]}
        for comment in comments
        if 0 < int(str(comment["line"])) <= len(lines)
    ]
