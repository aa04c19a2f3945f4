"""Pages of plans at 10 and at 10,000 active plans, each with a run: time as a ratio, and the number of queries."""

from datetime import datetime, timedelta

from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bench.crowd import make_crowd
from bench.measure import Table, median_time
from gateway.models import User
from plans.models import Confirmation, Plan, Revision, Run, Schedule

FEW, MANY = 10, 10_000
PAGES = {
    "plans list": "/plans/",
    "plans list, a search": "/plans/?words=Plan+7",
    "plans list, an empty shelf": "/plans/?state=paused",
    "plans calendar": "/plans/calendar/",
}


def run(table: Table) -> None:
    person = User.objects.create_user("bench-pages")
    person.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    _clear()
    now = timezone.now()
    _make(FEW, person, now)
    few = {name: _measure(client, address) for name, address in _pages().items()}
    _make(MANY - FEW, person, now)
    for name, address in _pages().items():
        seconds, queries = _measure(client, address)
        table.row(f"{name}, {MANY} plans", seconds, f"{FEW} plans", few[name][0])
        table.note(f"    queries: {few[name][1]} and {queries}")


def _pages() -> dict[str, str]:
    plan = Plan.objects.latest("id")
    return {**PAGES, "a plan": plan.get_absolute_url(), "a run": plan.runs.get().get_absolute_url()}


def _measure(client: Client, address: str) -> tuple[float, int]:
    assert client.get(address).status_code == 200, address
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    # Counted now: the next request empties the log.
    count = len(queries)
    return median_time(lambda: client.get(address), times=9), count


def _make(count: int, person: User, now: datetime) -> None:
    """Confirmed plans due within the next ten hours, and one run behind each."""
    known = set(Plan.objects.values_list("pk", flat=True))
    agent = f"crowd-{len(known)}"
    make_crowd(
        count, person, now=now, due_at=lambda n: now + timedelta(hours=1, minutes=n % 600), agent_id=agent
    )
    Run.objects.bulk_create(
        (
            Run(
                plan_id=confirmation.plan_id,
                confirmation=confirmation,
                due_at=now - timedelta(minutes=confirmation.pk % 600),
                status=Run.Status.ENDED,
                outcome=Run.Outcome.OK,
                outputs_found=True,
                ended_at=now,
            )
            for confirmation in Confirmation.objects.exclude(plan__in=known)
        ),
        batch_size=500,
    )


def _clear() -> None:
    """Another part may have left its crowd."""
    Run.objects.all().delete()
    Schedule.objects.all().delete()
    Plan.objects.update(state=Plan.State.RETIRED, current=None)
    Confirmation.objects.all().delete()
    Revision.objects.all().delete()
    Plan.objects.all().delete()
