"""Long-run tasks: 100,000 of them, 1,000 due, looked through by a watchdog pass; and the board's pages."""

from datetime import datetime, timedelta

from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from bench.measure import Table, median_time
from gateway.models import User
from longrun import clock
from longrun.models import LongTask, TaskEvent
from longrun.services.watchdog import check_due, run_watchdog

TASKS, DUE = 100_000, 1_000
STATES = ("executing", "analyzing", "waiting", "blocked", "handoff", "done")


def run(table: Table) -> None:
    """Prints the audit and the whole pass against the bare query, and the board at 100 and 100,000 tasks."""
    now = timezone.now()
    page_small = _page_time(_fill(100, 1, now))
    LongTask.objects.all().delete()
    client = _fill(TASKS, DUE, now)
    table.note(f"{LongTask.objects.count():,} tasks, {LongTask.objects.due_for_watchdog(now).count():,} due")
    columns = ", ".join(
        connection.ops.quote_name(str(field.column)) for field in LongTask._meta.concrete_fields
    )
    bare = f"SELECT {columns} FROM longrun_longtask WHERE watch_at <= %s ORDER BY watch_at, id"  # noqa: S608

    def fetch() -> None:
        with connection.cursor() as cursor:
            cursor.execute(bare, [connection.ops.adapt_datetimefield_value(now)])
            if len(cursor.fetchall()) != DUE:
                raise AssertionError("the bare query and the pass do not look at the same tasks")

    base = median_time(fetch)
    table.row("audit (watchdog check)", median_time(check_due), "its bare query", base)
    table.row("pass that finds 1,000 anew and writes them", _first_pass(), "its bare query", base)
    run_watchdog()
    table.row("pass that finds the same again", median_time(run_watchdog, times=7), "its bare query", base)
    table.row("board page, 100,000 tasks", _page_time(client), "the board of 100 tasks", page_small)
    LongTask.objects.all().delete()


def _first_pass() -> float:
    def undone() -> float:
        with transaction.atomic():
            point = transaction.savepoint()
            began = timezone.now()
            if run_watchdog()["count"] != DUE:
                raise AssertionError("the pass did not find what is due")
            took = (timezone.now() - began).total_seconds()
            transaction.savepoint_rollback(point)
        return took

    return sorted(undone() for _i in range(5))[2]


def _fill(count: int, due: int, now: datetime) -> Client:
    """`count` tasks over all states, exactly `due` of them silent for too long; a signed-in viewer."""
    made = []
    for number in range(count):
        late = number < due
        state = "executing" if late else STATES[number % len(STATES)]
        at = now - timedelta(minutes=20 if late else 1, microseconds=number)
        task = LongTask(
            agent_id=f"agent-{number % 7}",
            name=f"task {number}",
            state=state,
            origin_session_key="agent:main:main",
            goal="A goal of ordinary length, in a few words",
            note="the next step",
            created_at=at,
            started_at=at,
            updated_at=at,
            last_advance_at=at,
        )
        if state == "waiting":
            task.next_check_at = now + timedelta(hours=1)
        made.append(clock.refresh(task))
    LongTask.objects.bulk_create(made, batch_size=2000)
    TaskEvent.objects.create(task=LongTask.objects.all()[0], kind="state", actor="bench")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    user, _made = User.objects.get_or_create(username="bench")
    user.groups.add(Group.objects.get_or_create(name="viewer")[0])
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


def _page_time(client: Client) -> float:
    def load() -> None:
        if client.get("/tasks/").status_code != 200:
            raise AssertionError("the board did not load")

    return median_time(load, times=7)
