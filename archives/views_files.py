"""One archived file: its page, its preview, its bytes. Every answer is read from the disk, by safe paths only."""

import os
from dataclasses import dataclass
from typing import BinaryIO

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from archives import queries, services
from archives.cards import Card, card_of_row, render_agent_markdown
from archives.disk import FileFacts
from archives.errors import ArchivesError
from archives.indexer import instant_of_ns
from archives.kinds import inline_type, sandbox_type
from archives.links import links_of
from archives.models import Workspace
from archives.opening import open_folder, open_in_folder
from archives.preview import Preview, make_preview
from archives.protocol import ROOT, ArchivePath, check_id, check_timestamp, parse_path
from archives.streams import SANDBOX_POLICY, ZipPieces, disposition, list_files, send_file
from gateway.access import role_required
from openclaw_web.htmx import render_page

MAX_OFFSET = 1 << 50


@dataclass(slots=True)
class Opened:
    """An archived file held open, with what the pages need of it."""

    workspace: Workspace
    path: ArchivePath
    handle: BinaryIO
    facts: FileFacts

    @property
    def card(self) -> Card:
        return Card(
            self.workspace.agent_id, self.path, self.facts.size, instant_of_ns(self.facts.modified_ns)
        )


@role_required("viewer")
@require_safe
def file(request: HttpRequest, agent_id: str, archive_id: str, subpath: str) -> HttpResponseBase:
    """One file's page: the preview, and its neighbours in the bucket."""
    opened = _open(agent_id, archive_id, subpath)
    if opened.path.is_plan:
        opened.handle.close()
        return redirect("archives:plan", agent_id, archive_id)
    with opened.handle:
        shown = _preview(request, opened)
    archive = queries.find_archive(agent_id, archive_id)
    row = queries.find_file(archive, opened.path.bucket, opened.path.name) if archive else None
    before, after = queries.neighbours(row) if row else (None, None)
    context = {
        "card": opened.card,
        "shown": shown,
        "owner": agent_id,
        "archive_id": archive_id,
        "before": before and card_of_row(before, agent_id),
        "after": after and card_of_row(after, agent_id),
        "links": links_of(agent_id, archive_id),
    }
    return render_page(request, "archives/file.html", context)


@role_required("viewer")
@require_safe
def preview(request: HttpRequest, agent_id: str, archive_id: str, subpath: str) -> HttpResponse:
    """A preview alone, for a card that opens in place; with `from`, only the next piece of it."""
    opened = _open(agent_id, archive_id, subpath)
    with opened.handle:
        shown = _preview(request, opened)
    part = "piece" if shown.start else "preview"
    return render_page(request, f"archives/_preview.html#{part}", {"card": opened.card, "shown": shown})


@role_required("viewer")
@require_safe
def raw(request: HttpRequest, agent_id: str, archive_id: str, subpath: str) -> HttpResponseBase:
    """The bytes for a page of ours to show: images, PDF, sound, film, text. What may run is not sent this way."""
    opened = _open(agent_id, archive_id, subpath)
    content_type = inline_type(opened.path.name)
    if content_type is None:
        opened.handle.close()
        return redirect(opened.card.download_url)
    return _send(request, opened, content_type, download=False)


@role_required("viewer")
@require_safe
def sandbox(request: HttpRequest, agent_id: str, archive_id: str, subpath: str) -> HttpResponseBase:
    """HTML or SVG for a sandboxed frame, under a policy that allows no script, no form and no request."""
    opened = _open(agent_id, archive_id, subpath)
    content_type = sandbox_type(opened.path.name)
    if content_type is None:
        opened.handle.close()
        return redirect(opened.card.download_url)
    response = _send(request, opened, content_type, download=False)
    response["Content-Security-Policy"] = SANDBOX_POLICY
    return response


@role_required("viewer")
@require_safe
def download(request: HttpRequest, agent_id: str, archive_id: str, subpath: str) -> HttpResponseBase:
    """The file itself, with ranges and an ETag."""
    return _send(request, _open(agent_id, archive_id, subpath), "application/octet-stream", download=True)


@role_required("viewer")
@require_safe
def zip_archive(request: HttpRequest, agent_id: str, archive_id: str) -> HttpResponseBase:
    """A whole archive, its plan included, as a zip made while it is sent."""
    return _zip(agent_id, archive_id, "")


@role_required("viewer")
@require_safe
def zip_bucket(request: HttpRequest, agent_id: str, archive_id: str, timestamp: str) -> HttpResponseBase:
    """One bucket as a zip made while it is sent."""
    return _zip(agent_id, archive_id, timestamp)


def _open(agent_id: str, archive_id: str, subpath: str) -> Opened:
    try:
        workspace = services.workspace_of(agent_id)
        path = parse_path(f"{ROOT}/{check_id(archive_id)}/{subpath}")
        with open_folder(workspace.path, path.folders) as folder:
            handle = open_in_folder(folder, path.name, str(path))
    except ArchivesError as error:
        raise Http404(error.message) from error
    facts = os.fstat(handle.fileno())
    return Opened(workspace, path, handle, FileFacts(path.name, facts.st_size, facts.st_mtime_ns))


def _preview(request: HttpRequest, opened: Opened) -> Preview:
    start = min(_number(request, "from"), MAX_OFFSET)
    if start >= opened.facts.size:
        start = 0
    return make_preview(
        opened.handle,
        opened.path.name,
        opened.facts.size,
        start=start,
        line=max(_number(request, "line"), 1),
        markdown=lambda text: render_agent_markdown(text, opened.workspace.agent_id, beside=opened.path),
    )


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0


def _send(request: HttpRequest, opened: Opened, content_type: str, *, download: bool) -> HttpResponseBase:
    return send_file(
        request,
        opened.handle,
        opened.path.name,
        content_type,
        size=opened.facts.size,
        mtime_ns=opened.facts.modified_ns,
        download=download,
    )


def _zip(agent_id: str, archive_id: str, timestamp: str) -> HttpResponseBase:
    try:
        workspace = services.workspace_of(agent_id)
        files = list_files(
            workspace.path, check_id(archive_id), check_timestamp(timestamp) if timestamp else ""
        )
    except ArchivesError as error:
        raise Http404(error.message) from error
    if not files:
        raise Http404(_("There is nothing to download here."))
    response = StreamingHttpResponse(ZipPieces(workspace.path, files), content_type="application/zip")
    name = f"{archive_id}-{timestamp}.zip" if timestamp else f"{archive_id}.zip"
    response["Content-Disposition"] = disposition(name, download=True)
    response["Last-Modified"] = timezone.now().strftime("%a, %d %b %Y %H:%M:%S GMT")
    response["Cache-Control"] = "private, no-store"
    return response
