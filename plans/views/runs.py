"""One run: when, how it came out, what it left, whether that arrived. Follows a run that is going on."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from archives.blocks import read_blocks
from archives.cards import render_agent_markdown
from gateway.access import role_required
from gateway.callers import caller_of
from gateway.errors import AppError
from openclaw_web.htmx import render_page, wants_region
from plans.models import Plan, Run, Schedule
from plans.services.lifecycle import stop_run
from plans.services.revisions import default_zone
from plans.views.plans import newest_outputs
from plans.views.shared import may_act

OUTPUTS_SHOWN = 24
DELIVERY_TAKES = timedelta(minutes=2)  # at the most; a delivery that is tried later is a matter of its own


@role_required("viewer")
@require_safe
def run_page(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One run. The region that follows it answers 204 while all is as the page has it (`?seen=`)."""
    run = _find(uid)
    if wants_region(request, "run") and request.GET.get("seen") == version_of(run):
        return HttpResponse(status=204)
    return _show(request, run)


@role_required("viewer")
@require_POST
def stop(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Asks a run to stop; it ends within seconds."""
    run = _find(uid)
    try:
        stop_run(run, caller=caller_of(request))
    except AppError as error:
        return _show(request, _find(uid), problem=error.message, status=422)
    return redirect(run)


def _find(uid: UUID) -> Run:
    found = Run.objects.select_related(
        "plan", "delivery", "confirmation__person", "confirmation__revision"
    ).defer("confirmation__revision__content", "confirmation__revision__text")
    return get_object_or_404(found, uid=uid)


def version_of(run: Run) -> str:
    """Changes with everything that the page shows of a run that is going on."""
    delivery = run.delivery
    told = (
        run.status,
        run.outcome,
        run.attempts,
        run.stop_requested_at,
        run.reason,
        run.not_before,
        len(run.text),
        len(run.outputs),
        delivery and (delivery.attempt_count, delivery.received_at, delivery.outcome),
        _awaits_delivery(run),
        # The bar moves in tenths; the seconds beside it count by themselves.
        _elapsed(run) * 10 // max(run.plan.time_limit, 1),
    )
    return sha256("\0".join(map(str, told)).encode()).hexdigest()[:16]


def _awaits_delivery(run: Run) -> bool:
    """Just over, and its result is on the way to the plan's session."""
    lately = run.ended_at is not None and timezone.now() - run.ended_at < DELIVERY_TAKES
    sends = run.plan.announce and run.plan.session_key and run.session_key
    return bool(lately and sends and (run.delivery is None or not run.delivery.attempt_count))


def _elapsed(run: Run) -> int:
    if run.started_at is None:
        return 0
    return max(int(((run.ended_at or timezone.now()) - run.started_at).total_seconds()), 0)


def _counted(seconds: int) -> str:
    """`00:04:05`, as the page's script counts on from there."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _show(request: HttpRequest, run: Run, *, problem: str = "", status: int = 200) -> HttpResponse:
    plan = run.plan
    shown = set(map(str, read_blocks(run.text).cards)) if run.text else set()
    found = newest_outputs(plan, [run], limit=OUTPUTS_SHOWN)
    zone = Schedule.objects.filter(plan=plan).values_list("zone", flat=True).first()
    context = {
        "run": run,
        "plan": plan,
        "zone": zone or default_zone(plan.agent_id),
        "version": version_of(run),
        "follows": run.is_open or _awaits_delivery(run),
        "elapsed": _elapsed(run),
        "counted": _counted(_elapsed(run)),
        "final_text": render_agent_markdown(run.text, plan.agent_id) if run.text else "",
        "cards": [card for card in found if str(card.path) not in shown],
        "shown_above": bool(shown),
        "usage": _usage(run),
        "may_act": may_act(request),
        "may_run": plan.state in (Plan.State.ACTIVE, Plan.State.PAUSED, Plan.State.ENDED),
        "problem": problem,
    }
    return render_page(request, "plans/run.html", context, region="run", status=status)


def _usage(run: Run) -> list[tuple[str, str]]:
    """Tokens by kind, as far as the runner told."""
    labels = (
        ("input", _("Tokens in")),
        ("output", _("Tokens out")),
        ("total", _("Tokens in all")),
    )
    found = [
        (label, number_format(run.usage[key], force_grouping=True))
        for key, label in labels
        if isinstance(run.usage.get(key), int)
    ]
    if run.usage.get("model"):
        found.append((_("Model"), str(run.usage["model"])[:80]))
    return found
