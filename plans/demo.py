"""The demo's plans: one to confirm, one that runs well, one held, one sent back, and a wish that is not a plan yet."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone

from archives.models import Workspace
from gateway.callers import ROLE_SCOPES, Caller
from gateway.demo import World
from gateway.models import AuditEntry, Delivery, User
from plans.models import ChangeRequest, Confirmation, Intake, Plan, Revision, Run, Schedule
from plans.planfile import read_plan_file
from plans.planfile_write import Draft, put_entry, render_entry
from plans.schedule import next_due
from plans.services import decisions, intakes
from plans.services.outputs import written_in
from plans.services.revisions import add_revision, follow_file
from plans.store import read_plan_bytes, write_plan_bytes

PERSON = "demo-reviewer"
DAILY = ("main", "8f3a2c", "5b0c6d1e-demo")
LETTER = Draft(
    task_id="c7a1e204-demo",
    name="Studio letter to clients",
    archive_id="c7a1e2",
    persona="Clara",
    objective="Clients hear from us before they ask. How it reflects SOUL.md: plain words, nothing promised that is not done.",
    result="Success: letter.md exists every Friday, fits on one page and names each open project. Deliverable: letter.md.",
    actions=(
        "Collect what was finished this week from the archives of this workspace.",
        "Write `letter.md`: one paragraph for each project, then what comes next.",
        "If a project has no news, say so; do not invent any. If a step fails, stop and write why into letter.md.",
    ),
    schedule="cron 0 15 * * FRI (Europe/London)",
)
BACKUP = Draft(
    task_id="9d20b7f1-demo",
    name="备份巡检",
    archive_id="9d20b7",
    persona="小舟",
    objective="不靠人记得去看备份。体现 SOUL.md：先确认再报告，不夸大。",
    result="每六小时一份 report.md：最近一次备份的时间、大小、可恢复性。",
    actions=("读取最近一次备份的清单并抽查三个文件。", "写成 `report.md`；异常写在第一行。"),
    schedule="every 6h",
)
CERTIFICATES = Draft(
    task_id="41c8aa03-demo",
    name="证书到期检查",
    archive_id="41c8aa",
    persona="小舟",
    objective="证书到期之前两周就有人知道。体现 SOUL.md：早说，不惊慌。",
    result="每周一份 summary.md，列出三十天内到期的证书。",
    actions=("列出全部域名的证书到期日。", "写成 `summary.md`，按到期日排序。"),
    schedule="cron 0 9 * * MON (Asia/Shanghai)",
)
TRAVEL = Draft(
    task_id="e5f09b66-demo",
    name="Travel brief",
    archive_id="e5f09b",
    persona="Clara",
    objective="No trip starts with a search for papers. How it reflects SOUL.md: calm, complete, short.",
    result="Success: brief.md exists the evening before each trip. Deliverable: brief.md.",
    actions=(
        "Read the calendar for tomorrow.",
        "If there is a trip, write `brief.md`: times, places, papers.",
    ),
    schedule="cron 0 18 * * * (Europe/London)",
)


def build(world: World) -> None:
    """Five plans of two agents at different stages, with a fortnight of runs."""
    person = _person()
    caller = Caller("person", PERSON, ROLE_SCOPES["reviewer"], user=person)
    _daily_report(world, caller)
    _backups(world, caller)
    _held(world, caller)
    _write(world, "main", LETTER, world.now - timedelta(hours=3))
    travel = _write(world, "main", TRAVEL, world.now - timedelta(days=1))
    request = decisions.request_changes(
        travel,
        text="Only when there really is a trip, and not on Sundays.",
        comments=[{"line": 6, "text": "18:00 is too late for early trains."}],
        caller=replace(caller, request_id="demo-request"),
    )
    if request.delivery_id:
        world.note("plans.delivery", request.delivery_id)
    intake = intakes.start_intake(
        "每周五下午整理本周的工作", agent_id="main", caller=caller, zone="Asia/Shanghai"
    )
    world.note("plans.intake", intake.pk)


def remove(world: World) -> None:
    """Every row that hangs on the demo's plans, then the person who confirmed them; the files go with the world."""
    plans = Plan.objects.filter(pk__in=world.noted("plans.plan"))
    with transaction.atomic():
        Run.objects.filter(plan__in=plans).delete()
        Schedule.objects.filter(plan__in=plans).delete()
        Confirmation.objects.filter(plan__in=plans).delete()
        ChangeRequest.objects.filter(plan__in=plans).delete()
        Intake.objects.filter(pk__in=world.noted("plans.intake")).delete()
        plans.update(current=None, state=Plan.State.RETIRED)
        Revision.objects.filter(plan__in=plans).delete()
        plans.delete()
        Delivery.objects.filter(pk__in=world.noted("plans.delivery")).delete()
        AuditEntry.objects.filter(actor=PERSON).delete()
        if not Confirmation.objects.filter(person__username=PERSON).exists():
            User.objects.filter(username=PERSON).delete()


def _person() -> User:
    """Somebody who has confirmed; no password opens this account."""
    person, created = User.objects.get_or_create(username=PERSON, defaults={"first_name": "Demo"})
    if created:
        person.set_unusable_password()
        person.save()
    person.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    return person


def _write(world: World, agent_id: str, draft: Draft, at: datetime) -> Plan:
    """A plan written into its own archive at that moment, awaiting confirmation."""
    workspace = Workspace.objects.get(agent_id=agent_id)
    raw = put_entry(b"", draft.task_id, render_entry(draft))
    folder = workspace.path / "archives" / draft.archive_id
    world.folder(str(folder.relative_to(world.root)))
    world.expect(folder / "PLAN.md", raw)
    write_plan_bytes(workspace.path, agent_id, draft.archive_id, raw, seen="")
    world.adopt(folder)
    return _keep(world, agent_id, draft.archive_id, draft.task_id, at)


def _keep(world: World, agent_id: str, archive_id: str, task_id: str, at: datetime) -> Plan:
    workspace = Workspace.objects.get(agent_id=agent_id)
    file = read_plan_file(read_plan_bytes(workspace.path, archive_id) or b"")
    with transaction.atomic():
        plan = Plan.objects.create(
            agent_id=agent_id,
            archive_id=archive_id,
            task_id=task_id,
            session_key=f"agent:{agent_id}:dashboard:{archive_id}",
            created_at=at,
            state_at=at,
        )
        world.note("plans.plan", plan.pk)
        add_revision(plan, file, origin=Revision.Origin.AGENT, caller=world.caller, at=at)
    return plan


def _confirm(plan: Plan, caller: Caller, at: datetime) -> Plan:
    digest = plan.current.file_digest if plan.current else ""
    decisions.confirm_plan(plan, digest=digest, caller=replace(caller, request_id=f"demo-{plan.uid}"), now=at)
    # Confirmed days ago in the story, but due only from now on.
    schedule = Schedule.objects.get(plan=plan)
    schedule.next_due_at = next_due(schedule.timing, timezone.now())
    schedule.save(update_fields=["next_due_at"])
    Plan.objects.filter(pk=plan.pk).update(state_at=at)
    return Plan.objects.get(pk=plan.pk)


def _daily_report(world: World, caller: Caller) -> None:
    """The archives' own plan, confirmed nine days ago, with runs that made what lies in its archive."""
    agent_id, archive_id, task_id = DAILY
    root = Workspace.objects.get(agent_id=agent_id).path
    if read_plan_bytes(root, archive_id) is None:
        return  # the archives' part of the demo was left out
    at = world.now - timedelta(days=9)
    plan = _confirm(_keep(world, agent_id, archive_id, task_id, at), caller, at + timedelta(hours=1))
    outputs = written_in(root, archive_id, since=datetime.min.replace(tzinfo=at.tzinfo))
    buckets = sorted({str(item["path"]).split("/")[2] for item in outputs}, reverse=True)
    for back in range(8):
        due = world.now - timedelta(days=back, hours=2, minutes=10)
        made = [item for item in outputs if back < len(buckets) and f"/{buckets[back]}/" in str(item["path"])]
        if back == 4:
            _run(plan, due, Run.Outcome.MISSED, code="CLOCK_OFF", reason="The clock was off at this time.")
        elif back == 6:
            reason = "The program ended with status 1. the price page did not answer"
            _run(plan, due, Run.Outcome.ERROR, code="AGENT_FAILED", reason=reason, seconds=41)
        else:
            text = _card_text(archive_id, made) if made else "今天没有变化。\n\nARCHIVE_STATUS: OK"
            _run(
                plan,
                due,
                Run.Outcome.OK,
                text=text,
                outputs=made,
                outputs_found=bool(made),
                seconds=95 + back,
            )


def _backups(world: World, caller: Caller) -> None:
    at = world.now - timedelta(days=3)
    plan = _confirm(_write(world, "ops", BACKUP, at), caller, at + timedelta(minutes=20))
    for back in range(6):
        due = world.now - timedelta(hours=6 * back + 2)
        if back == 3:
            _run(plan, due, Run.Outcome.SKIPPED, code="OVERLAP", reason="The run before it was still going.")
        else:
            _run(
                plan,
                due,
                Run.Outcome.OK,
                text="备份完好，抽查三个文件均可恢复。",
                outputs_found=False,
                seconds=210,
            )


def _held(world: World, caller: Caller) -> None:
    """Confirmed, then changed by the agent without a word: nothing ran."""
    at = world.now - timedelta(days=5)
    plan = _confirm(_write(world, "ops", CERTIFICATES, at), caller, at + timedelta(hours=2))
    root = Workspace.objects.get(agent_id="ops").path
    raw = read_plan_bytes(root, plan.archive_id) or b""
    changed = raw.replace("三十天内到期".encode(), "九十天内到期".encode()).replace(b"cron 0 9", b"cron 0 7")
    world.expect(root / plan.path, changed)
    write_plan_bytes(root, "ops", plan.archive_id, changed, seen=read_plan_file(raw).digest)
    plan = follow_file(plan, caller=world.caller)
    Schedule.objects.filter(plan=plan).update(next_due_at=None)
    reason = "PLAN.md is not the text that was confirmed; nothing was executed."
    _run(plan, world.now - timedelta(hours=1), Run.Outcome.HELD, code="PLAN_CHANGED", reason=reason)


def _run(plan: Plan, due: datetime, outcome: str, *, seconds: int = 0, **fields: object) -> None:
    started = due + timedelta(seconds=12)
    session = f"agent:{plan.agent_id}:cron:{plan.uid}:run:demo"
    ran = (
        {"started_at": started, "runner": "command", "session_key": session, "attempts": 1} if seconds else {}
    )
    confirmation = plan.confirmations.first()
    digest = confirmation.digest if confirmation and seconds else ""
    Run.objects.create(
        plan=plan,
        confirmation=confirmation,
        due_at=due,
        created_at=due,
        status=Run.Status.ENDED,
        outcome=outcome,
        ended_at=started + timedelta(seconds=seconds),
        digest=digest,
        **ran,
        **fields,
    )


def _card_text(archive_id: str, made: list[dict[str, object]]) -> str:
    blocks = []
    for item in made:
        bucket, name = str(item["path"]).split("/")[2:4]
        blocks.append(
            '```json\n{"type": "archive_grid", "data": {"type": "file", '
            f'"archive_root": "archives/{archive_id}", "subpath": "{bucket}/{name}", "name": "{name}"}}}}\n```'
        )
    receipt = f"ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/{archive_id}/"
    return "\n\n".join(["Lumen 降价 10.6%，其余两家没有变化。", receipt, *blocks])
