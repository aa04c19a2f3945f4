"""The roster, one agent, one workspace file; and the few forms for agents made here."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.entries import Agent
from agents.errors import AgentsError
from agents.forms import FIELD_OF_CODE, AgentForm, MakeAgentForm
from agents.models import MadeAgent
from agents.queries import (
    agent_rows,
    fault_of,
    file_note,
    file_purpose,
    file_state,
    folder_sentence,
    folder_state,
    oddity_sentence,
)
from agents.roster import load_roster
from agents.services import change_agent, make_agent, remove_agent
from agents.store import FILE_NAMES, WorkspaceFile, list_files, read_file
from archives.cards import render_agent_markdown
from gateway.access import role_required
from gateway.callers import caller_of
from gateway.demo import is_demo
from openclaw_web.htmx import render_page
from openclaw_web.markdown import plain
from openclaw_web.paths import state_dir


@role_required("viewer")
@require_GET
def roster(request: HttpRequest) -> HttpResponse:
    """All agents, where they come from, and what is wrong with openclaw.json, if anything is."""
    found = load_roster()
    rows, after = agent_rows(found, request.GET.get("after", ""))
    return render_page(
        request,
        "agents/roster.html",
        {
            "roster": found,
            "rows": [(row, folder_sentence(row.folder, row.agent)) for row in rows],
            "after": after,
            "fault": fault_of(found),
            "oddities": [oddity_sentence(oddity) for oddity in found.oddities],
            "config_path": found.source,
            "is_demo": is_demo(state_dir()),
        },
    )


@role_required("viewer")
@require_GET
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One agent: who it is, where it lives, its workspace files, and the way to everything else of it."""
    found = load_roster()
    one = _agent_or_404(found.find(agent_id))
    files = list_files(one.workspace)
    folder = folder_state(one, files)
    return render_page(
        request,
        "agents/agent.html",
        {
            "agent": one,
            "made": MadeAgent.objects.filter(agent_id=one.id).first() if one.source == "dashboard" else None,
            "files": [_shown(file) for file in files],
            "folder": folder,
            "folder_says": folder_sentence(folder, one),
            "looked_at": files[0].looked_at,
            "fault": fault_of(found),
            "is_default": one.id == found.default_id and not found.selection_required,
            "source": found.source,
        },
    )


@role_required("viewer")
@require_GET
def file(request: HttpRequest, agent_id: str, name: str) -> HttpResponse:
    """One workspace file, rendered or raw, with what was read and when."""
    one = _agent_or_404(load_roster().find(agent_id))
    if name not in FILE_NAMES:
        raise Http404
    found = read_file(one.workspace, name)
    raw = request.GET.get("view") == "raw"
    html = ""
    if found.was_read:
        html = plain(found.text) if raw else render_agent_markdown(found.text, one.id)
    return render_page(
        request,
        "agents/file.html",
        {"agent": one, "file": _shown(found), "raw": raw, "html": html, "names": FILE_NAMES},
        region="file",
    )


@role_required("administrator")
@require_http_methods(["GET", "POST"])
def make(request: HttpRequest) -> HttpResponse:
    """Makes an agent in the dashboard."""
    form = MakeAgentForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = make_agent(caller_of(request), **form.cleaned_data)
        except AgentsError as error:
            form.add_error(FIELD_OF_CODE[error.code], error.message)
        else:
            messages.success(request, _("“%(name)s” is on the roster.") % {"name": made.name})
            return redirect("agents:agent", made.agent_id)
    return _form_page(request, form, None)


@role_required("administrator")
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Changes an agent that was made in the dashboard."""
    made = get_object_or_404(MadeAgent, agent_id=agent_id)
    now = {"name": made.name, "workspace": made.workspace, "description": made.description}
    form = AgentForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        try:
            change_agent(made, caller_of(request), **form.cleaned_data)
        except AgentsError as error:
            form.add_error(FIELD_OF_CODE[error.code], error.message)
        else:
            messages.success(request, _("“%(name)s” is changed.") % {"name": made.name})
            return redirect("agents:agent", made.agent_id)
    return _form_page(request, form, made)


@role_required("administrator")
@require_POST
def remove(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Takes an agent made in the dashboard off the roster; its files stay."""
    made = get_object_or_404(MadeAgent, agent_id=agent_id)
    name = made.name
    remove_agent(made, caller_of(request))
    messages.success(
        request, _("“%(name)s” is off the roster. Its files are where they were.") % {"name": name}
    )
    return redirect("agents:roster")


def _agent_or_404(found: Agent | None) -> Agent:
    if found is None:
        raise Http404
    return found


def _form_page(request: HttpRequest, form: AgentForm, made: MadeAgent | None) -> HttpResponse:
    context = {"form": form, "made": made, "state_dir": state_dir()}
    return render_page(request, "agents/form.html", context, status=422 if form.errors else 200)


def _shown(found: WorkspaceFile) -> dict[str, object]:
    tone, word, why = file_state(found)
    return {
        "file": found,
        "purpose": file_purpose(found.name),
        "note": file_note(found),
        "tone": tone,
        "word": word,
        "why": why,
    }
