"""What a person decides about a proposal. Each answer opens the next one; a refusal keeps what was typed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from gateway.access import role_required
from gateway.callers import Caller, caller_of
from gateway.errors import AppError
from workshop import sentences
from workshop.errors import WorkshopError
from workshop.models import Generation, Proposal
from workshop.queries import desk as reads
from workshop.queries.desk import View
from workshop.queries.files import generation_bundle
from workshop.services.decisions import apply_proposal, quarantine_proposal, reject_proposal
from workshop.services.evaluations import evaluate_proposal
from workshop.services.quarantine import reject_quarantined
from workshop.services.recovery import decide_recovery
from workshop.services.requests import request_revision
from workshop.services.rollbacks import roll_back_proposal
from workshop.views import drawing
from workshop.views.actions import Asked, session_of
from workshop.views.missing import gone_page
from workshop.views.review import review_page

_TYPED = {"request": "words"}


@dataclass(frozen=True, slots=True)
class Wish:
    """One decision as it was posted."""

    view: View
    caller: Caller
    revision: str
    typed: str
    yes: bool
    once: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.view.desk.id, self.view.proposal.pk


def _apply(wish: Wish) -> str:
    applied = apply_proposal(
        *wish.key, expected_revision_hash=wish.revision, acknowledged=wish.yes, caller=wish.caller
    )
    return _("Applied: “%(skill)s” is live.") % {"skill": applied.skill_name}


def _reject(wish: Wish) -> str:
    locked = wish.view.proposal.status == Proposal.Status.QUARANTINED
    end = reject_quarantined if locked else reject_proposal
    end(*wish.key, expected_revision_hash=wish.revision, reason=wish.typed or None, caller=wish.caller)
    return _("Rejected: “%(skill)s” stays as it is.") % {"skill": wish.view.proposal.skill_name}


def _quarantine(wish: Wish) -> str:
    quarantine_proposal(
        *wish.key, expected_revision_hash=wish.revision, reason=wish.typed or None, caller=wish.caller
    )
    return _("Locked away: the proposal of “%(skill)s” is in quarantine.") % {
        "skill": wish.view.proposal.skill_name
    }


def _request(wish: Wish) -> str:
    if not wish.typed and not wish.view.tray:
        raise sentences.refuse(
            "words-blank", _("Say what should be different, or put a remark into the tray.")
        )
    remarks = list(wish.view.tray)
    request_revision(
        *wish.key,
        expected_revision_hash=wish.revision,
        instructions=wish.typed or _("Please look at these remarks."),
        session_key=session_of(wish.view),
        idempotency_key=wish.once or str(uuid.uuid4()),
        comments=remarks,
        caller=wish.caller,
    )
    return _("Handed to the delivery ledger for %(session)s. The history tells when it has arrived.") % {
        "session": session_of(wish.view)
    }


def _evaluate(wish: Wish) -> str:
    evaluate_proposal(*wish.key, expected_revision_hash=wish.revision, caller=wish.caller)
    return _("Evaluated: see the checks.")


def _roll_back(wish: Wish) -> str:
    roll_back_proposal(*wish.key, reason=wish.typed or None, caller=wish.caller)
    return _("Rolled back: “%(skill)s” is as it was before.") % {"skill": wish.view.proposal.skill_name}


def _keep_live(wish: Wish) -> str:
    decide_recovery(*wish.key, keep="live", caller=wish.caller)
    return _("The live files stay as they are.")


def _keep_earlier(wish: Wish) -> str:
    if not wish.yes:
        raise sentences.refuse(
            "needs-acknowledgement",
            _("What stands there now would be gone. Confirm that the earlier skill is to come back."),
        )
    decide_recovery(*wish.key, keep="earlier", caller=wish.caller)
    return _("The earlier skill stands again.")


_DO: dict[str, Callable[[Wish], str]] = {
    "apply": _apply,
    "reject": _reject,
    "quarantine": _quarantine,
    "request": _request,
    "evaluate": _evaluate,
    "rollback": _roll_back,
    "live": _keep_live,
    "earlier": _keep_earlier,
}
# These leave the proposal on the desk, so it stays open.
_STAYS = {"evaluate": "checks", "rollback": "", "earlier": ""}


@role_required("reviewer")
@require_POST
def decide(request: HttpRequest, proposal_id: str, action: str) -> HttpResponse:
    """`revision` is the hash that was on screen; `reason` or `words` what was typed; `yes` the second yes."""
    if action not in _DO:
        raise Http404
    try:
        view = reads.view(None, proposal_id, caller_of(request))
    except WorkshopError as error:
        return gone_page(request, proposal_id, error)
    typed = request.POST.get(_TYPED.get(action, "reason"), "").replace("\r\n", "\n").strip()
    wish = Wish(
        view,
        caller_of(request),
        request.POST.get("revision", ""),
        typed,
        "yes" in request.POST,
        request.POST.get("once", "")[:100],
    )
    following = _following(request, view.proposal)
    try:
        said = _DO[action](wish)
    except AppError as error:
        return _refused(request, wish, action, error)
    if action not in _STAYS:
        # The way back to what was just left: to roll it back, or to read the reason again.
        url = reverse("workshop:proposal", args=[proposal_id])
        said = format_html('{} <a href="{}">{}</a>', said, url, _("Look at it again"))
    messages.success(request, said)
    if action in _STAYS:
        tab = _STAYS[action]
        if tab:
            return redirect("workshop:tab", proposal_id, tab)
        return redirect("workshop:proposal", proposal_id)
    return redirect(following)


def _following(request: HttpRequest, proposal: Proposal) -> str:
    """The next item of the queue, asked before the decision takes this one out of it; after the last one,
    whatever waits longest."""
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    following = reads.neighbours(proposal, agent_id)[1]
    if following is None:
        rest = reads.queue_of(agent_id).exclude(pk=proposal.pk)
        following = rest.values_list("pk", flat=True).first()
    if following is None:
        return reverse("workshop:desk")
    return f"{reverse('workshop:proposal', args=[following])}?landed=1"


def _refused(request: HttpRequest, wish: Wish, action: str, error: AppError) -> HttpResponse:
    """The desk again, as it is now: the panel open, the words kept, and what changed meanwhile."""
    fresh = reads.view(wish.view.desk.id, wish.view.proposal.pk, wish.caller)
    asked = Asked(action, wish.typed, error.message, wish.yes)
    return review_page(
        request,
        fresh,
        "checks" if action == "evaluate" else "",
        asked=asked,
        changes=_changes(request, fresh, wish.revision, error),
        status=422,
    )


def _changes(request: HttpRequest, view: View, seen: str, error: AppError) -> dict[str, Any]:
    """What is different from what the person had on screen."""
    changes: dict[str, Any] = {"sentence": error.message, "code": error.code}
    if seen == view.proposal.revision_hash:
        return changes
    old = Generation.objects.filter(proposal=view.proposal, revision_hash=seen).first()
    new = next((item for item in view.generations if item.version == view.proposal.version), None)
    if old is None or new is None:
        return changes
    sides = [generation_bundle(view.desk, item) for item in (old, new)]
    pairs = [pair for pair in drawing.version_pairs(*sides) if pair.change != "same"]
    changes["files"] = drawing.draw_files(pairs, request=request)
    return changes | {"old": old, "new": new}
