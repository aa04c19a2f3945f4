"""Write a proposal, propose an update, revise: one form, one validator, a draft that is kept."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from agents.roster import load_roster
from gateway.access import role_required
from gateway.callers import Caller, caller_of
from gateway.errors import AppError
from openclaw_web.credentials import masked
from openclaw_web.htmx import render_page
from workshop import bundle
from workshop.config import MAX_DESCRIPTION_BYTES, rules_of
from workshop.errors import WorkshopError
from workshop.forms import FileRow, ProposalForm
from workshop.models import Proposal
from workshop.queries import desk as reads
from workshop.queries import skills as skill_reads
from workshop.queries.desk import View
from workshop.queries.files import generation_bundle
from workshop.services.proposals import create_proposal, propose_update
from workshop.services.revisions import revise_proposal
from workshop.supportpaths import MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, ROOTS
from workshop.views import drawing
from workshop.views.missing import gone_page


@role_required("reviewer")
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A new proposal. `?skill=<agent>/<folder>` updates that skill, `?from=<proposal>` starts from its draft."""
    caller = caller_of(request)
    if request.method == "GET":
        return _form_page(request, _start(request, caller))
    form = ProposalForm.posted(request.POST, request.FILES)
    form.agent_id = form.agent_id or request.agent_id or _only_agent()  # type: ignore[attr-defined]
    if form.check() and "check" not in request.POST:
        try:
            proposal = _propose(form, caller)
        except AppError as error:
            form.refuse(error)
        else:
            messages.success(
                request, _("Proposed: “%(skill)s” waits for a decision.") % {"skill": proposal.skill_name}
            )
            return redirect("workshop:proposal", proposal.pk)
    return _form_page(request, form, status=422)


def _only_agent() -> str:
    agents = load_roster().agents
    return agents[0].id if len(agents) == 1 else ""


def _propose(form: ProposalForm, caller: Caller) -> Proposal:
    if form.kind == "update":
        return propose_update(
            form.agent_id,
            skill_name=form.name,
            content=form.content,
            description=form.description or None,
            support_files=form.support,
            goal=form.goal or None,
            evidence=form.evidence or None,
            caller=caller,
        )
    return create_proposal(
        form.agent_id,
        name=form.name,
        description=form.description,
        content=form.content,
        support_files=form.support,
        goal=form.goal or None,
        evidence=form.evidence or None,
        caller=caller,
    )


def _start(request: HttpRequest, caller: Caller) -> ProposalForm:
    """The empty form, or one filled from a live skill or an earlier proposal."""
    agent_id = request.agent_id or _only_agent()  # type: ignore[attr-defined]
    if skill := request.GET.get("skill"):
        owner, _slash, folder = skill.partition("/")
        try:
            page = skill_reads.skill_page(owner, folder, caller)
        except AppError as error:
            raise Http404(error.message) from error
        main = next((file.text for file in page.files if file.path == bundle.SKILL_NAME), "") or ""
        return ProposalForm(owner, "update", page.row.skill.name, content=bundle.read(main).body.lstrip("\n"))
    if source := request.GET.get("from"):
        try:
            view = reads.view(None, source, caller)
        except WorkshopError as error:
            raise Http404(error.message) from error
        return _from_view(view)
    return ProposalForm(agent_id)


def _from_view(view: View) -> ProposalForm:
    """A form with everything an earlier proposal says, against the skill as it stands now."""
    record, stored = view.record, view.bundle
    exists = any(pair.path == bundle.SKILL_NAME and pair.before is not None for pair in view.pairs)
    return ProposalForm(
        view.desk.id,
        "update" if exists else "create",
        record["target"]["skillName"],
        record["description"],
        bundle.read(stored.text).body.lstrip("\n") if stored else "",
        record.get("goal", ""),
        record.get("evidence", ""),
        files=[FileRow.of(file.path, file.text) for file in stored.support] if stored else [],
    )


@role_required("reviewer")
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Revise a pending proposal: saving publishes the next version, bound to the one that was opened."""
    caller = caller_of(request)
    try:
        view = reads.view(None, proposal_id, caller)
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    if view.bundle is None or not view.proposal.is_pending:
        raise Http404(_("Only a pending proposal with its draft can be edited."))
    if request.method == "GET":
        return _form_page(request, _from_view(view), view=view)
    form = ProposalForm.posted(request.POST, request.FILES)
    form.agent_id, form.kind = view.desk.id, view.proposal.kind
    form.name = view.record["target"]["skillName"]
    newer = None
    if form.check():
        try:
            revised = revise_proposal(
                view.desk.id,
                proposal_id,
                content=form.content,
                support_files=form.support,
                description=form.description,
                goal=form.goal,
                evidence=form.evidence,
                expected_revision_hash=request.POST.get("revision", ""),
                caller=caller,
            )
        except AppError as error:
            form.refuse(error)
            newer = _newer(request, view)
        else:
            messages.success(request, _("Saved as version %(version)s.") % {"version": revised.version})
            return redirect("workshop:proposal", proposal_id)
    return _form_page(request, form, view=view, newer=newer, status=422)


def _newer(request: HttpRequest, view: View) -> dict | None:
    """The difference between the version that was opened and the present one, where there is a newer one."""
    seen = request.POST.get("revision", "")
    if seen == view.proposal.revision_hash:
        return None
    old = next((item for item in view.generations if item.revision_hash == seen), None)
    if old is None:
        return None
    sides = [generation_bundle(view.desk, item) for item in (old, view.generations[0])]
    pairs = drawing.version_pairs(*sides)
    return {
        "old": old,
        "new": view.generations[0],
        "files": drawing.draw_files([pair for pair in pairs if pair.change != "same"], request=request),
    }


def _form_page(
    request: HttpRequest,
    form: ProposalForm,
    *,
    view: View | None = None,
    newer: dict | None = None,
    status: int = 200,
) -> HttpResponse:
    rules = rules_of(form.agent_id)
    rivals = Proposal.objects.of_agent(form.agent_id).pending().filter(skill_name=form.name)
    return render_page(
        request,
        "workshop/form.html",
        {
            "form": form,
            # For titles and keys; the field itself keeps what was typed.
            "titled": masked(form.name),
            "draft_key": masked(f"{form.agent_id}-{form.kind}-{form.name or 'new'}"),
            "view": view,
            "proposal": view.proposal if view else None,
            "newer": newer,
            "rivals": rivals.order_by("created_at")[:5] if form.name and view is None else (),
            "agents": load_roster().agents,
            "max_description": MAX_DESCRIPTION_BYTES,
            "max_content": rules.max_skill_bytes,
            "max_files": MAX_FILES,
            "max_file": MAX_FILE_BYTES,
            "max_total": MAX_TOTAL_BYTES,
            "roots": ROOTS,
            "checked": "check" in request.POST and form.check(),
        },
        status=status,
    )
