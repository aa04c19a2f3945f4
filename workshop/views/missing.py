"""Pages for what is not there, or whose agent is gone: said in words, with the way on."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse

from gateway.callers import caller_of
from openclaw_web.htmx import render_page
from workshop.errors import WorkshopError
from workshop.models import Proposal
from workshop.queries import desk as reads
from workshop.views import shown


def gone_page(request: HttpRequest, proposal_id: str, error: WorkshopError) -> HttpResponse:
    """A proposal that cannot be opened. An orphan (its agent is gone from the roster) is shown by its record;
    anything else is 404."""
    orphan = Proposal.objects.filter(pk=proposal_id).first() if error.code == "unknown-agent" else None
    if orphan is None:
        raise Http404(error.message)
    return render_page(
        request,
        "workshop/orphan.html",
        {
            "proposal": orphan,
            "record": orphan.record,
            "error": error,
            "queue": shown.queue_of(request, orphan.pk),
            "folders": reads.folder_looked_in(caller_of(request), None),
        },
        region="desk",
    )
