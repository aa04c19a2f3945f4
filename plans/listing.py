"""Reads for the list of plans and for its pages: by key, the same number of queries at any size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db.models import Count, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.dateparse import parse_datetime

from plans.models import Plan, Run
from plans.queries import open_intakes

PAGE_SIZE = 40
WAITING_LIMIT = 100
SHELVES: dict[str, tuple[str, ...]] = {
    "active": (Plan.State.ACTIVE,),
    "paused": (Plan.State.PAUSED,),
    "drafts": (Plan.State.CHANGES,),
    "retired": (Plan.State.ENDED, Plan.State.RETIRED),
}
# Behind every real instant: plans without a next run stand last.
_NEVER = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Page:
    """Some rows and the key to go on from; `cursor` is empty at the end."""

    rows: list
    cursor: str = ""


@dataclass
class PlanRow:
    """One line of the list: a plan and its newest run."""

    plan: Plan
    run: Run | None = None


@dataclass(frozen=True)
class Counts:
    """How many plans stand where, for the tabs."""

    by_shelf: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    plans: int = 0

    @property
    def total(self) -> int:
        """Plans, and wishes on their way to one."""
        return self.plans + self.by_shelf.get("drafts", 0)


def count_plans(agent_id: str) -> Counts:
    """Three queries: plans by state, those that wait, intakes that are open."""
    rows = Plan.objects.for_agent(agent_id).order_by().values_list("state").annotate(Count("id"))
    states = dict(rows)
    by_shelf = {name: sum(states.get(state, 0) for state in shelf) for name, shelf in SHELVES.items()}
    by_shelf["drafts"] += open_intakes(agent_id).count()
    return Counts(by_shelf, Plan.objects.for_agent(agent_id).waiting().count(), sum(states.values()))


def waiting_plans(agent_id: str, limit: int = WAITING_LIMIT) -> list[Plan]:
    """The review queue: to confirm or held, the one that waited longest first. With their current revisions."""
    found = Plan.objects.for_agent(agent_id).waiting().select_related("current", "schedule")
    return list(found.defer("current__content", "current__text").order_by("state_at", "id")[:limit])


def list_shelf(shelf: str, *, agent_id: str, words: str = "", after: str = "") -> Page:
    """One page of a shelf: active plans by their next run, the others by what changed last."""
    found = Plan.objects.for_agent(agent_id).filter(state__in=SHELVES[shelf])
    if words:
        found = found.filter(Q(name__icontains=words) | Q(task_id__icontains=words))
    found = found.select_related("schedule").annotate(key=_sort_key(shelf))
    ascending = shelf == "active"
    if cursor := _read_cursor(after):
        found = found.filter(_behind(*cursor, ascending=ascending))
    found = found.order_by("key", "id") if ascending else found.order_by("-key", "-id")
    rows = with_last_runs(found[: PAGE_SIZE + 1])
    more = len(rows) > PAGE_SIZE
    rows = rows[:PAGE_SIZE]
    return Page(rows, _cursor_of(rows[-1].plan) if more else "")


def with_last_runs(plans: Iterable[Plan]) -> list[PlanRow]:
    """The plans with the newest run of each, in two queries."""
    rows = [PlanRow(plan) for plan in plans]
    newest = Run.objects.filter(plan=OuterRef("pk")).order_by("-due_at", "-id").values("pk")[:1]
    ids = Plan.objects.filter(pk__in=[row.plan.pk for row in rows]).values(newest=Subquery(newest))
    runs = {run.plan_id: run for run in Run.objects.filter(pk__in=ids).defer("text", "outputs")}
    for row in rows:
        row.run = runs.get(row.plan.pk)
    return rows


def list_runs(plan: Plan, *, after: str = "", size: int = PAGE_SIZE) -> Page:
    """A plan's runs, newest due first."""
    found = plan.runs.defer("text").order_by("-due_at", "-id").annotate(key=F("due_at"))
    if cursor := _read_cursor(after):
        found = found.filter(_behind(*cursor, ascending=False))
    rows = list(found[: size + 1])
    return Page(rows[:size], _cursor_of(rows[size - 1]) if len(rows) > size else "")


def _sort_key(shelf: str) -> Coalesce | F:
    return Coalesce("schedule__next_due_at", Value(_NEVER)) if shelf == "active" else F("state_at")


def _behind(instant: datetime, pk: int, *, ascending: bool) -> Q:
    if ascending:
        return Q(key__gt=instant) | Q(key=instant, id__gt=pk)
    return Q(key__lt=instant) | Q(key=instant, id__lt=pk)


def _cursor_of(row: Plan | Run) -> str:
    return f"{row.key.isoformat()}~{row.pk}"  # type: ignore[union-attr]


def _read_cursor(text: str) -> tuple[datetime, int] | None:
    """What `_cursor_of` wrote; None for anything else, which then shows the first page."""
    stamp, _mark, pk = text.partition("~")
    try:
        instant = parse_datetime(stamp)
    except ValueError:
        return None
    if instant is None or instant.tzinfo is None or not (pk.isascii() and pk.isdigit()) or len(pk) > 18:
        return None
    return instant, int(pk)
