"""The review desk: one proposal on five tabs, one of its generations, and the difference of any two."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from gateway.access import role_required
from gateway.callers import caller_of, has_role
from gateway.models import Delivery
from openclaw_web.diffview import numbered_text
from openclaw_web.htmx import render_page
from openclaw_web.markdown import render_markdown
from workshop import bundle
from workshop.errors import WorkshopError
from workshop.models import Generation
from workshop.queries import desk as reads
from workshop.queries.desk import View
from workshop.queries.files import FilePair, generation_bundle
from workshop.views import drawing, shown
from workshop.views.actions import Asked, actions_of, apply_sentence, session_of
from workshop.views.missing import gone_page

REGION = "desk"
# What an address says about how one came: `landed` after a decision, `said` after a remark. It does not stay in it.
_ARRIVALS = {"landed", "said"}


@role_required("viewer")
@require_GET
def proposal(request: HttpRequest, proposal_id: str, tab: str = "") -> HttpResponse:
    """One proposal. `?view=split|unified`, `?at=<file>:<line>` opens a remark there, `?file=` one file."""
    if tab and tab not in shown.TABS:
        raise Http404
    try:
        view = reads.view(None, proposal_id, caller_of(request))
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    return review_page(request, view, tab)


def review_page(
    request: HttpRequest,
    view: View,
    tab: str = "",
    *,
    asked: Asked | None = None,
    writing: shown.Writing | None = None,
    changes: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The desk with `view` open. `asked`, `writing`: what was refused, to be shown with its reason;
    `changes`: what became different under the reader's eyes."""
    tab = tab or shown.default_tab(view)
    may = has_role(request.user, "reviewer")
    tray = [shown.remark_of(view, comment, where=True) for comment in view.tray]
    actions = actions_of(view, tray, asked) if may else []
    context = {
        **_head_context(request, view, tab, writing),
        **_tab_context(request, view, tab, writing),
        "actions": actions,
        # What was typed for an action that is no longer offered must not be lost.
        "kept": asked.value if asked and not any(action.open for action in actions) else "",
        "what": apply_sentence(view) if view.proposal.is_pending else "",
        "may": may,
        "landed": "landed" in request.GET,
        "said": request.GET.get("said", ""),
        "changes": changes,
    }
    response = render_page(request, "workshop/review.html", context, region=REGION, status=status)
    if status != 200:
        # The address on screen stays the page's, not the one that was posted to.
        response["HX-Push-Url"] = "false"
    elif request.GET.keys() & _ARRIVALS:
        response["HX-Push-Url"] = _address(request)
    remember_layout(request, response)
    return response


def _address(request: HttpRequest) -> str:
    """Where the reader is, for the address bar: what is open, and nothing else that came behind the "?"."""
    if request.GET.get("text") == "raw":
        return f"{request.path}?text=raw"
    file = request.GET.get("file", "")
    is_one = file.isascii() and file.isdigit() and len(file) < 4
    return f"{request.path}?file={file}" if is_one else request.path


def remember_layout(request: HttpRequest, response: HttpResponse) -> None:
    """`?view=split|unified` holds for the next difference too."""
    if request.GET.get("view") in ("split", "unified"):
        response.set_cookie(drawing.SPLIT_COOKIE, request.GET["view"], max_age=31536000, samesite="Lax")


def _head_context(
    request: HttpRequest, view: View, tab: str, writing: shown.Writing | None
) -> dict[str, Any]:
    """Queue, head and tabs, and the difference that the head sums up."""
    tabs = shown.tabs_of(view, tab)
    here = request.path if request.method == "GET" else tabs[0].url
    files = drawing.draw_files(
        view.pairs, request=request, view=view, here=here, writing=writing, talk=tab == "diff"
    )
    outdated = [comment for comment in view.comments if view.is_outdated(comment)]
    return {
        "view": view,
        "proposal": view.proposal,
        "record": view.record,
        "status_tone": shown.status_pill(view.proposal)[0],
        "queue": shown.queue_of(request, view.proposal.pk),
        "tabs": tabs,
        "tab": tab,
        "files": files,
        "summary": drawing.summary_of(files),
        "split": drawing.wants_split(request),
        "outdated": [shown.remark_of(view, comment, where=True) for comment in outdated],
        "underneath": shown.underneath(view),
    }


def _tab_context(request: HttpRequest, view: View, tab: str, writing: shown.Writing | None) -> dict[str, Any]:
    if tab == "text":
        return _text_context(request, view, writing)
    if tab == "files":
        return _file_context(request, view, writing)
    if tab == "checks":
        scan, evaluation = view.record["scan"], view.record.get("evaluation")
        return {
            "findings": shown.findings_of(view),
            "scanned_at": shown.instant(scan.get("scannedAt")),
            "evaluation": evaluation,
            "evaluated_at": shown.instant(evaluation.get("completedAt")) if evaluation else None,
        }
    if tab == "history":
        return _history_context(view)
    return {}


def _text_context(request: HttpRequest, view: View, writing: shown.Writing | None) -> dict[str, Any]:
    if view.bundle is None:
        return {}
    source = bundle.read(view.bundle.text)
    place = shown.Place.of(request)
    raw = request.GET.get("text") == "raw" or bool(place and place.file == "p")
    context: dict[str, Any] = {
        "raw": raw,
        "name": source.name,
        "text_description": source.description,
        "block": "\n".join(source.lines or []),
    }
    if not raw:
        return context | {"html": render_markdown(source.body)}
    text = view.bundle.text
    talks = shown.talks_of(
        view,
        bundle.DRAFT_NAME,
        f"{request.path}?text=raw",
        form_at=place.line if place and place.file == "p" else None,
        most=text.count("\n") + 1,
        writing=writing,
        may=shown.may_remark(request, view),
    )
    hits = frozenset(
        finding["line"] for finding in shown.findings_of(view) if finding["file"] == bundle.DRAFT_NAME
    )
    line_url = "?at=p:" if shown.may_remark(request, view) else ""
    return context | {
        "sections": numbered_text(text, line_url=line_url, talks=talks, marked=hits),
        "top": talks.get(0),
    }


def _file_context(request: HttpRequest, view: View, writing: shown.Writing | None) -> dict[str, Any]:
    place = shown.Place.of(request)
    asked = place.file if place else request.GET.get("file", "0")
    index = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 4 else 0
    if index >= len(view.pairs):
        return {"open_file": None}
    pair = view.pairs[index]
    text = drawing.text_after(view, pair) or ""
    most = text.count("\n") + 1
    here = f"{request.path}?file={index}"
    may = shown.may_remark(request, view)
    talks = shown.talks_of(
        view,
        pair.path,
        here,
        form_at=place.line if place else None,
        most=most,
        writing=writing,
        may=may,
    )
    hits = frozenset(f["line"] for f in shown.findings_of(view) if f["file"] == pair.path)
    line_url = f"?at={index}:" if may else ""
    return {
        "open_file": index,
        "open_pair": pair,
        "sections": numbered_text(text, line_url=line_url, talks=talks, marked=hits),
        "top": talks.get(0),
    }


def _history_context(view: View) -> dict[str, Any]:
    requests = view.requests
    ledger = Delivery.objects.in_bulk([item.delivery_id for item in requests if item.delivery_id])
    versions = [generation.version for generation in view.generations]
    return {
        "generations": view.generations,
        "newest": versions[0] if versions else None,
        "before_newest": versions[1] if len(versions) > 1 else None,
        "events": view.events,
        "requests": [(item, ledger.get(item.delivery_id or 0)) for item in requests],
        "session": session_of(view),
    }


@role_required("viewer")
@require_GET
def generation(request: HttpRequest, proposal_id: str, version: int) -> HttpResponse:
    """One generation as it was published, with the remarks that were made on it."""
    try:
        view = reads.view(None, proposal_id, caller_of(request))
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    found = generation_bundle(view.desk, _generation(view, version))
    pairs = []
    if found.bundle:
        pairs = [FilePair(bundle.DRAFT_NAME, None, found.bundle.text)]
        pairs += [FilePair(file.path, None, file.text) for file in found.bundle.support]
    remarks = [
        shown.remark_of(view, comment, where=True)
        for comment in view.comments
        if comment.generation == found.generation.uuid
    ]
    return render_page(
        request,
        "workshop/generation.html",
        {
            "view": view,
            "proposal": view.proposal,
            "found": found,
            "files": drawing.draw_files(pairs, request=request),
            "remarks": remarks,
            "versions": [item.version for item in view.generations],
        },
    )


@role_required("viewer")
@require_GET
def choose(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """From two picked versions to the address of their difference."""
    old, new = request.GET.get("old", ""), request.GET.get("new", "")
    if not (old.isdecimal() and new.isdecimal() and len(old + new) < 14):
        raise Http404
    return redirect("workshop:compare", proposal_id, int(old), int(new))


@role_required("viewer")
@require_GET
def compare(request: HttpRequest, proposal_id: str, old: int, new: int) -> HttpResponse:
    """The difference of any two generations, at an address of its own."""
    try:
        view = reads.view(None, proposal_id, caller_of(request))
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    sides = [generation_bundle(view.desk, _generation(view, version)) for version in (old, new)]
    pairs = drawing.version_pairs(*sides)
    response = render_page(
        request,
        "workshop/compare.html",
        {
            "view": view,
            "proposal": view.proposal,
            "sides": sides,
            "files": drawing.draw_files(pairs, request=request),
            "versions": [item.version for item in view.generations],
            "old": old,
            "new": new,
            "split": drawing.wants_split(request),
        },
    )
    remember_layout(request, response)
    return response


def _generation(view: View, version: int) -> Generation:
    found = next((item for item in view.generations if item.version == version), None)
    if found is None:
        raise Http404(_("There is no such version."))
    return found
