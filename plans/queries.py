"""Reads for pages, methods and commands: the review page, lists, what waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from archives.queries import default_zone
from gateway.waiting import Waiting
from plans.errors import PlansError
from plans.models import ChangeRequest, Confirmation, Intake, Plan, Revision, Run
from plans.planfile import Entry, PlanFile, read_plan_file
from plans.planfile_check import Problem, entry_timing, find_problems, holds
from plans.schedule import Timing, upcoming
from plans.schedule_words import describe_timing
from plans.sentences import tell
from plans.services.revisions import OnDisk, look_at_disk

State = Plan.State
STALLED_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Review:
    """Everything the review page shows of one plan.

    `file` and `entry` are those of the current revision; problem lines count in that file. `digest` is what Confirm
    posts back. `drifted`: the disk differs from the current revision by now (`on_disk` says how). `baseline` is the
    last confirmed revision, else the one before, else None; `baseline_confirmed` tells which. `instants` are the next
    five due instants (UTC), `words` the schedule in words. `blocked`: Confirm would be refused.
    """

    plan: Plan
    revision: Revision
    file: PlanFile
    entry: Entry | None
    digest: str
    problems: tuple[Problem, ...]
    timing: Timing | None
    words: str
    instants: tuple[datetime, ...]
    baseline: Revision | None
    baseline_confirmed: bool
    confirmation: Confirmation | None
    on_disk: OnDisk
    drifted: bool

    @property
    def blocked(self) -> bool:
        return bool(self.problems) or self.drifted or self.confirmation is not None


def review_plan(plan: Plan, *, now: datetime | None = None) -> Review | None:
    """The review of a plan's current text; None while it has none."""
    now = now or timezone.now()
    revision = plan.current
    if revision is None:
        return None
    file = read_plan_file(revision.raw)
    found = file.find(plan.task_id)
    zone = default_zone(plan.agent_id)
    confirmation = Confirmation.objects.filter(revision=revision).select_related("person").first()
    problems = find_problems(file, plan.task_id, archive_id=plan.archive_id, now=now, zone=zone)
    timing = _timing_of(found, now, zone)
    on_disk = look_at_disk(plan)
    baseline = baseline_of(plan)
    return Review(
        plan=plan,
        revision=revision,
        file=file,
        entry=found[0] if found else None,
        digest=revision.file_digest,
        problems=() if confirmation else tuple(problems),
        timing=timing,
        words=describe_timing(timing) if timing else "",
        instants=tuple(next_instants(plan, timing, now=now)),
        baseline=baseline,
        baseline_confirmed=baseline is not None and Confirmation.objects.filter(revision=baseline).exists(),
        confirmation=confirmation,
        on_disk=on_disk,
        drifted=on_disk.file is None or not holds(revision.seal, on_disk.file, plan.task_id),
    )


def _timing_of(found: Sequence[Entry], now: datetime, zone: str) -> Timing | None:
    if not found or not found[0].value("Schedule"):
        return None
    try:
        return entry_timing(found[0], now=now, zone=zone)
    except PlansError:
        return None  # `find_problems` says why


def next_instants(
    plan: Plan, timing: Timing | None, *, now: datetime | None = None, count: int = 5
) -> list[datetime]:
    """The next due instants; an interval that is not confirmed yet is counted as if confirmed now."""
    now = now or timezone.now()
    if timing is None:
        return []
    schedule = getattr(plan, "schedule", None)
    if timing.anchor is None and schedule is not None and schedule.kind == timing.kind:
        timing = timing.anchored(schedule.anchor or now)
    return upcoming(timing.anchored(now) if timing.anchor is None else timing, now, count)


def baseline_of(plan: Plan) -> Revision | None:
    """What the current text is compared with: the last confirmed revision before it, else the one before it."""
    if plan.current is None:
        return None
    earlier = Revision.objects.filter(plan=plan, number__lt=plan.current.number).order_by("-number")
    return earlier.filter(confirmation__isnull=False).first() or earlier.first()


def revisions_of(plan: Plan) -> QuerySet[Revision]:
    """Newest first, each with its confirmation and person where there is one; without the file's bytes."""
    return (
        Revision.objects.filter(plan=plan)
        .select_related("confirmation__person")
        .defer("content")
        .order_by("-number")
    )


def requests_of(plan: Plan) -> QuerySet[ChangeRequest]:
    """The conversation about a plan, oldest first, with what is known of each delivery."""
    return (
        ChangeRequest.objects.filter(plan=plan)
        .select_related("delivery", "person", "revision", "answered_by")
        .defer("revision__content", "answered_by__content")
        .order_by("id")
    )


def list_plans(*, agent_id: str | None = None, state: str = "", text: str = "") -> QuerySet[Plan]:
    """Plans with their schedules, those that wait for a person first, then by what changed last."""
    plans = Plan.objects.for_agent(agent_id).select_related("schedule", "current").defer("current__content")
    if state:
        plans = plans.filter(state=state)
    if text:
        plans = plans.filter(
            Q(name__icontains=text) | Q(task_id__icontains=text) | Q(archive_id__icontains=text)
        )
    return plans.order_by("-state_at", "-id")


def list_runs(
    *,
    plan: Plan | None = None,
    agent_id: str | None = None,
    outcome: str = "",
    before: tuple[datetime, int] | None = None,
) -> QuerySet[Run]:
    """Runs, newest due first; `before` is the (due_at, id) of the last row of the page before."""
    runs = Run.objects.select_related("plan", "confirmation__person", "delivery")
    if plan is not None:
        runs = runs.filter(plan=plan)
    if agent_id:
        runs = runs.filter(plan__agent_id=agent_id)
    if outcome:
        runs = runs.filter(outcome=outcome)
    if before:
        runs = runs.filter(Q(due_at__lt=before[0]) | Q(due_at=before[0], pk__lt=before[1]))
    return runs.order_by("-due_at", "-id")


def waiting_count(agent_id: str | None) -> int:
    """How many plans and runs wait for a person."""
    return Plan.objects.for_agent(agent_id).waiting().count() + _stalled(agent_id).count()


def waiting(agent_id: str | None, limit: int) -> list[Waiting]:
    """Plans to confirm, plans held, plans that paused themselves, runs without a worker: oldest first."""
    plans = Plan.objects.for_agent(agent_id).waiting().select_related("current").defer("current__content")
    lines = [_plan_line(plan) for plan in plans.order_by("state_at")[:limit]]
    lines += [
        _stalled_line(run) for run in _stalled(agent_id).select_related("plan").order_by("due_at")[:limit]
    ]
    return sorted(lines, key=lambda line: (not line.urgent, line.at))[:limit]


def _plan_line(plan: Plan) -> Waiting:
    number = plan.current.number if plan.current else 0
    if plan.state == State.HELD:
        why, tone = tell(plan.state_reason), "bad"
    elif plan.state == State.PAUSED:
        why, tone = tell(plan.state_reason), "warn"
    else:
        why, tone = (
            _("Revision %(number)d has to be read and confirmed; nothing is scheduled.") % {"number": number},
            "info",
        )
    return Waiting(
        kind="plan",
        title=str(plan),
        why=why,
        url=plan.get_absolute_url()
        if plan.state == State.PAUSED
        else reverse("plans:review", args=[plan.uid]),
        at=plan.state_at,
        word=plan.get_state_display(),
        tone=tone,  # type: ignore[arg-type]
        urgent=plan.state == State.HELD,
        agent_id=plan.agent_id,
    )


def _stalled(agent_id: str | None) -> QuerySet[Run]:
    """Runs queued for over ten minutes that no back-off explains: there is no worker for them."""
    now = timezone.now()
    runs = Run.objects.filter(status=Run.Status.QUEUED, created_at__lt=now - STALLED_AFTER).filter(
        Q(not_before=None) | Q(not_before__lt=now - STALLED_AFTER)
    )
    return runs.filter(plan__agent_id=agent_id) if agent_id else runs


def _stalled_line(run: Run) -> Waiting:
    return Waiting(
        kind="run",
        title=str(run.plan),
        why=_("Queued, and no worker has taken it for over ten minutes."),
        url=run.get_absolute_url(),
        at=run.created_at,
        word=run.get_status_display(),
        tone="warn",
        urgent=False,
        agent_id=run.plan.agent_id,
    )


def open_intakes(agent_id: str | None) -> QuerySet[Intake]:
    """Wishes on their way, newest first."""
    intakes = Intake.objects.filter(state__in=[Intake.State.OPEN, Intake.State.AGREED])
    return intakes.filter(agent_id=agent_id) if agent_id else intakes
