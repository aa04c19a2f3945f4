"""One process of a world of its own: set it up, tick, run a cluster, tell its rows. Killed at a fault point if asked.

    python -m tests.plans.process WHAT '{"at": "2026-12-07T09:00:00Z", "fault": "after rows", …}'

The environment says which database, broker and data dir. A fault kills the whole process group with SIGKILL, the way
a power cut would: nothing is caught, nothing is cleaned up. A clock that is elsewhere is `time_machine`, inherited by
every process the cluster forks.
"""

import json
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import django
import time_machine

FAULTS = {
    "before rows are committed": ("plans.services.ticking", "_count"),
    "after rows": ("plans.services.ticking", "enqueue_runs"),
    "after taking": ("plans.services.running", "look_at_disk"),
    "after the program": ("plans.services.running", "find_outputs"),
    "before the end is written": ("plans.services.running", "_finish"),
}


def main() -> None:
    what, options = sys.argv[1], json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}")
    if options.get("at"):
        moment = datetime.fromisoformat(options["at"].replace("Z", "+00:00"))
        time_machine.travel(moment, tick=options.get("moving", True)).start()
    django.setup()
    if options.get("fault"):
        arm(options["fault"])
    print(json.dumps(globals()[f"do_{what}"](options)), flush=True)


def arm(fault: str) -> None:
    """From now on the named step kills this process and all it belongs to."""
    module, name = FAULTS[fault]

    def die(*_args: object, **_options: object) -> None:
        os.killpg(os.getpgid(0), signal.SIGKILL)

    __import__(module)
    setattr(sys.modules[module], name, die)


def do_setup(options: dict) -> list[str]:
    """A database with people and `count` plans of agent `main`, confirmed, all with the schedule given."""
    from django.core.management import call_command

    from agents.roster import sync_workspaces
    from gateway.models import User

    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    user, _created = User.objects.get_or_create(username="reviewer")
    root = Path(os.environ["OPENCLAW_WEB_DATA_DIR"]).parent / "workspace"
    root.mkdir(exist_ok=True)
    # The roster is real too: a live cluster follows it, and forgets a workspace that it does not name.
    state = Path(os.environ["OPENCLAW_STATE_DIR"])
    state.mkdir(exist_ok=True)
    (state / "openclaw.json").write_text(
        json.dumps({"agents": {"list": [{"id": "main", "workspace": str(root)}]}})
    )
    sync_workspaces()
    return [make_plan(user, number, options) for number in range(options.get("count", 1))]


def make_plan(user: object, number: int, options: dict) -> str:
    from gateway.callers import Caller
    from plans.models import Plan
    from plans.services import decisions, intakes, lifecycle

    scopes = frozenset({"operator.read", "operator.write"})

    def person(request: str) -> Caller:
        return Caller("person", "reviewer", scopes, user=user, request_id=f"{number}-{request}")

    intake = intakes.start_intake(
        "daily at 9 check the build", agent_id="main", caller=person("wish"), zone="UTC"
    )
    intakes.answer_intake(intake, caller=person("answer"), overrides={"schedule": options["schedule"]})
    intakes.agree_ora(intake, caller=person("agree"))
    plan = intakes.write_plan(intake, caller=person("write"))
    decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=person("confirm"))
    if options.get("settings"):
        lifecycle.change_settings(Plan.objects.get(pk=plan.pk), caller=person("set"), **options["settings"])
    return str(plan.uid)


def do_tick(options: dict) -> dict:
    from plans.services.ticking import tick

    done = tick()
    return {"queued": len(done.queued), "recovered": done.recovered, "sent": done.sent}


def do_cluster(options: dict) -> None:
    """A real cluster, until it is killed."""
    from django.core.management import call_command

    call_command("cluster")


def do_enqueue_again(options: dict) -> int:
    """Every run's message once more, whatever its state: the broker delivered twice."""
    from django_q.tasks import async_task

    from plans.models import Run

    runs = list(Run.objects.values_list("pk", flat=True))
    for run in runs:
        async_task("plans.tasks.run_turn", run, cluster="turns")
    return len(runs)


def do_run_again(options: dict) -> str:
    """A run by hand of the first plan, queued."""
    from gateway.callers import command_caller
    from plans.models import Plan
    from plans.services import lifecycle
    from plans.services.queue import enqueue_runs

    run = lifecycle.run_now(Plan.objects.order_by("pk")[0], caller=command_caller())
    enqueue_runs([run.pk])
    return str(run.uid)


def do_rows(options: dict) -> list[dict]:
    from plans.models import Run

    return [
        {
            "due": f"{run.due_at:%Y-%m-%dT%H:%M:%SZ}",
            "status": run.status,
            "outcome": run.outcome,
            "code": run.code,
            "late": (run.started_at - run.due_at) / timedelta(seconds=1) if run.started_at else None,
            "plan": str(run.plan.uid),
            "owner": run.owner,
        }
        for run in Run.objects.select_related("plan").order_by("due_at", "pk")
    ]


def do_facts(options: dict) -> dict:
    """How much background work there was: a clock that spins would show here."""
    from django_q.models import OrmQ, Schedule, Success

    return {
        "ticks": Success.objects.filter(func="plans.tasks.tick_plans").count(),
        # A message that a killed cluster had taken stays locked for a day: nobody gets it in that time.
        "queue": OrmQ.objects.filter(lock__lt=datetime(2030, 1, 7, 12, tzinfo=UTC)).count(),
        "schedules": {row.name: row.schedule_type for row in Schedule.objects.all()},
    }


if __name__ == "__main__":
    main()
