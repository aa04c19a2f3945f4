"""The pages around archives: the list, one archive and its tabs, lint. Files are in `views_files.py`."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from archives import indexer, plan_file, queries, services
from archives.cards import card_of_row, render_agent_markdown
from archives.errors import ArchivesError, NotThere
from archives.kinds import KINDS
from archives.links import links_of, names_of
from archives.models import Archive, Bucket, Workspace
from archives.places import history_of
from archives.protocol import is_safe_id, read_timestamp
from archives.queries import Filter
from archives.texts import FINDINGS
from gateway.access import role_required
from gateway.callers import caller_of
from openclaw_web.htmx import render_page

_FRESHENED = 20  # workspaces looked at when the list opens; each costs one stat
_YES_NO = {"yes": True, "no": False}


@role_required("viewer")
@require_safe
def archives(request: HttpRequest) -> HttpResponse:
    """All archives of all agents, newest first; with a search, the files that match."""
    wanted = _filter_of(request)
    spaces = list(queries.workspaces())
    for workspace in spaces[:_FRESHENED]:
        if wanted.agent_id in ("", workspace.agent_id):
            indexer.refresh_list(workspace)
    before = request.GET.get("before", "").replace("\0", "")
    files = None
    page = None
    if wanted.query.strip():
        files = queries.search_files(wanted, before=before)
        found = [(row, card_of_row(row, row.workspace.agent_id)) for row in files.rows]
    else:
        page = queries.list_archives(wanted, before=before)
        names = queries.latest_names(page.rows)
        known = names_of([(row.workspace.agent_id, row.archive_id) for row in page.rows])
        for row in page.rows:
            row.latest = names.get(row.pk, [])
            row.known_as = known.get((row.workspace.agent_id, row.archive_id), "")
        found = []
    context = {
        "wanted": wanted,
        "page": page,
        "files": files,
        "found": found,
        "cursor": (files or page).cursor,  # type: ignore[union-attr]
        "workspaces": spaces,
        "broken": [one for one in spaces if one.scan_error and wanted.agent_id in ("", one.agent_id)],
        "kinds": KINDS,
        "several": len(spaces) > 1,
    }
    return render_page(request, "archives/archives.html", context, region="archive-list")


@role_required("viewer")
@require_safe
def archive(request: HttpRequest, agent_id: str, archive_id: str) -> HttpResponse:
    """One archive: its buckets as a timeline of cards."""
    found = _archive(agent_id, archive_id)
    page = queries.list_shelves(found, before=request.GET.get("before", "").replace("\0", ""))
    shelves = [
        {"shelf": shelf, "cards": [card_of_row(file, agent_id) for file in shelf.files]}
        for shelf in page.rows
    ]
    context = _archive_context(found, "outputs") | {"shelves": shelves, "cursor": page.cursor}
    return render_page(request, "archives/archive.html", context, region="shelves")


@role_required("viewer")
@require_safe
def news(request: HttpRequest, agent_id: str, archive_id: str) -> HttpResponse:
    """Says that outputs have come since the page was opened; 204 while nothing has changed.

    The page itself does not move: somebody may be reading a preview in it.
    """
    found = _archive(agent_id, archive_id)
    if request.GET.get("seen") == _state_of(found):
        return HttpResponse(status=204)
    return render_page(request, "archives/_news.html", {"archive": found})


@role_required("viewer")
@require_safe
def bucket(request: HttpRequest, agent_id: str, archive_id: str, timestamp: str) -> HttpResponse:
    """All files of one bucket, in pages by name."""
    found = _archive(agent_id, archive_id)
    rows = Bucket.objects.filter(archive=found, timestamp=timestamp).select_related("archive")
    row = rows.first() if read_timestamp(timestamp) else None
    if row is None:
        raise Http404(_("This archive has no bucket “%(bucket)s”.") % {"bucket": timestamp})
    page = queries.list_bucket(row, after=request.GET.get("after", "").replace("\0", ""))
    context = _archive_context(found, "outputs") | {
        "bucket": row,
        "cards": [card_of_row(file, agent_id) for file in page.rows],
        "cursor": page.cursor,
    }
    return render_page(request, "archives/bucket.html", context, region="bucket-files")


@role_required("viewer")
@require_safe
def plan(request: HttpRequest, agent_id: str, archive_id: str) -> HttpResponse:
    """PLAN.md as it is on the disk now, with its earlier texts."""
    found = _archive(agent_id, archive_id)
    return render_page(request, "archives/plan.html", _plan_context(found, None))


@role_required("viewer")
@require_safe
def plan_revision(request: HttpRequest, agent_id: str, archive_id: str, number: int) -> HttpResponse:
    """One earlier text of a plan."""
    found = _archive(agent_id, archive_id)
    return render_page(request, "archives/plan.html", _plan_context(found, number))


@role_required("viewer")
@require_safe
def checks(request: HttpRequest, agent_id: str, archive_id: str) -> HttpResponse:
    """What of this one archive breaks the protocol."""
    found = _archive(agent_id, archive_id)
    report = services.lint_archives(found.workspace, archive_id=archive_id)
    context = _archive_context(found, "checks") | {"findings": _worded(report.findings), "report": report}
    return render_page(request, "archives/checks.html", context)


@role_required("viewer")
@require_safe
def lint_all(request: HttpRequest) -> HttpResponse:
    """Leads to the lint page of the chosen agent, or the first one."""
    known = queries.workspaces()
    chosen = known.filter(agent_id=getattr(request, "agent_id", "")).first() or known.first()
    if chosen is None:
        return render_page(request, "archives/lint.html", {"workspaces": []})
    return redirect("archives:lint", chosen.agent_id)


@role_required("viewer")
@require_safe
def lint(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Everything in one agent's workspace that breaks the protocol."""
    return _lint_page(request, _workspace(agent_id))


@role_required("reviewer")
@require_POST
def lint_copy(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Make the verified copy that one finding offers."""
    workspace = _workspace(agent_id)
    path = request.POST.get("path", "")
    if not path:
        raise BadRequest("path is missing")
    try:
        stored = services.copy_finding(workspace, path, caller=caller_of(request))
    except ArchivesError as error:
        return _lint_page(request, workspace, failed={path: error.message}, status=422)
    messages.success(request, _("Copied and read back: %(path)s") % {"path": stored.path})
    back = request.POST.get("archive", "")
    if back:
        return redirect("archives:checks", agent_id, back)
    return redirect("archives:lint", agent_id)


def _lint_page(
    request: HttpRequest, workspace: Workspace, *, failed: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    report, problem = None, ""
    try:
        report = services.lint_archives(workspace)
    except NotThere as error:
        problem = error.message
    context = {
        "workspace": workspace,
        "workspaces": queries.workspaces(),
        "report": report,
        "problem": problem,
        "findings": _worded(report.findings, failed) if report else [],
    }
    return render_page(request, "archives/lint.html", context, region="findings", status=status)


def _worded(findings: Any, failed: dict[str, str] | None = None) -> list[dict[str, Any]]:
    return [
        {
            "finding": one,
            "title": FINDINGS[one.code][0],
            "why": FINDINGS[one.code][1],
            "failed": (failed or {}).get(one.path, ""),
        }
        for one in findings
    ]


def _filter_of(request: HttpRequest) -> Filter:
    given = request.GET
    day, kind = given.get("day", ""), given.get("kind", "")
    return Filter(
        agent_id=getattr(request, "agent_id", ""),
        day=day if queries.is_day(day) else "",
        kind=kind if kind in {one.code for one in KINDS} else "",
        plan=_YES_NO.get(given.get("plan", "")),
        fallback=_YES_NO.get(given.get("fallback", "")),
        query=given.get("q", "").replace("\0", "")[:200],
    )


def _workspace(agent_id: str) -> Workspace:
    try:
        return services.workspace_of(agent_id)
    except NotThere as error:
        raise Http404(error.message) from error


def _archive(agent_id: str, archive_id: str) -> Archive:
    """The archive's row, brought in step with the disk first."""
    workspace = _workspace(agent_id)
    found = indexer.refresh_archive(workspace, archive_id, wait=False) if is_safe_id(archive_id) else None
    if found is None:
        raise Http404(
            _("Agent “%(agent)s” has no archive “%(archive)s”.") % {"agent": agent_id, "archive": archive_id}
        )
    return found


def _archive_context(found: Archive, tab: str) -> dict[str, Any]:
    agent_id = found.workspace.agent_id
    return {
        "archive": found,
        "owner": agent_id,
        "tab": tab,
        "outputs": found.file_count - int(found.has_plan),
        "seen": _state_of(found),
        "links": links_of(agent_id, found.archive_id),
    }


def _state_of(found: Archive) -> str:
    return f"{found.sort_key}|{found.file_count}|{found.total_size}"


def _plan_context(found: Archive, number: int | None) -> dict[str, Any]:
    history = history_of(found.workspace.agent_id)
    revisions = plan_file.list_revisions(history, found.archive_id)
    context = _archive_context(found, "plan") | {"number": number, "problem": ""}
    try:
        present = plan_file.read_plan(found.workspace.path, found.archive_id)
        data = (
            plan_file.read_revision(history, found.archive_id, number) if number else present and present[0]
        )
    except ArchivesError as error:
        if number and isinstance(error, NotThere):
            raise Http404(error.message) from error
        present, data = None, None
        context["problem"] = error.message
    now = plan_file.digest(present[0]) if present else ""
    context["revisions"] = [one for one in reversed(revisions) if one.sha256 != now or one.number == number]
    if data:
        text = data.decode("utf-8", "replace")
        context |= {
            "html": render_agent_markdown(text, found.workspace.agent_id),
            "sha256": plan_file.digest(data),
            "size": len(data),
        }
    return context
