"""Remarks on lines and files: into the tray, and out of it."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.diffs import split_lines
from workshop import bundle, sentences
from workshop.errors import WorkshopError
from workshop.models import Comment
from workshop.queries import desk as reads
from workshop.queries.desk import View
from workshop.services.comments import add_comment, drop_comment
from workshop.views import shown
from workshop.views.actions import Asked
from workshop.views.missing import gone_page
from workshop.views.review import review_page

_TAB = re.compile(rf"(?:(?:{'|'.join(shown.TABS)})/)?(?:\?(?:text=raw|file=\d{{1,3}}))?")


@role_required("reviewer")
@require_POST
def add(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """`path`, `line` (empty: the whole file), `side` (`old`: a removed line), `body`; `revision` is the hash that was on
    screen."""
    caller = caller_of(request)
    try:
        view = reads.view(None, proposal_id, caller)
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    path, text = request.POST.get("path", ""), request.POST.get("line", "")
    line = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    side = Comment.Side.OLD if line and request.POST.get("side") == "old" else Comment.Side.NEW
    body = request.POST.get("body", "").replace("\r\n", "\n")
    try:
        if request.POST.get("revision") != view.proposal.revision_hash:
            raise sentences.refuse(
                "revision-changed",
                _("A new version came while you wrote. Your words are kept; look where they belong now."),
            )
        made = add_comment(
            view.desk.id,
            proposal_id,
            body=body,
            path=path,
            line=line or None,
            side=side,
            quote=_quote(view, path, line, side),
            caller=caller,
        )
    except AppError as error:
        known = path if shown.is_known_path(view, path) and path else bundle.SKILL_NAME
        at = -line if side == Comment.Side.OLD else line
        writing = shown.Writing(known, at, body, error.message)
        tab = "text" if known == bundle.DRAFT_NAME else "diff"
        return review_page(request, view, tab, writing=writing, status=422)
    back = _back(request, proposal_id)
    # The page opens at the new remark, with and without script.
    return redirect(f"{back}{'&' if '?' in back else '?'}said={made.pk}#remark-{made.pk}")


def _quote(view: View, path: str, line: int, side: str) -> str:
    """The line as it stands, kept with the remark so that it can be understood later."""
    if not line or view.bundle is None:
        return ""
    texts = {pair.path: pair.after or "" for pair in view.pairs} | {bundle.DRAFT_NAME: view.bundle.text}
    if side == Comment.Side.OLD:
        texts = {pair.path: pair.before or "" for pair in view.pairs}
    lines = split_lines(texts.get(path, ""))
    return lines[line - 1].rstrip("\r\n") if line <= len(lines) else ""


@role_required("reviewer")
@require_POST
def drop(request: HttpRequest, proposal_id: str, remark_id: int) -> HttpResponse:
    """Take a remark out of the tray. What was being typed for the request comes along and is kept."""
    caller = caller_of(request)
    try:
        view = reads.view(None, proposal_id, caller)
        drop_comment(view.desk.id, proposal_id, remark_id, caller=caller)
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    words = request.POST.get("words", "").strip()
    fresh = reads.view(view.desk.id, proposal_id, caller)
    if words and fresh.proposal.is_pending:
        return review_page(request, fresh, asked=Asked("request", words))
    return redirect(_back(request, proposal_id))


def _back(request: HttpRequest, proposal_id: str) -> str:
    """The tab that the form was opened on, nothing else that was posted as `back`."""
    here = reverse("workshop:proposal", args=[proposal_id])
    tab = _TAB.fullmatch(request.POST.get("back", "").removeprefix(here))
    return here + tab[0] if tab else here
