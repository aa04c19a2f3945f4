"""The demo's long tasks: one lost, one blocked, one at work, two that wait, one done; made by the services."""

from datetime import timedelta

from gateway.demo import World
from gateway.models import Delivery
from longrun import clock
from longrun.models import Boundary, LongTask
from longrun.services.heartbeat import confirm_progress, fail_progress, tick
from longrun.services.signs import touch_tool
from longrun.services.start import validate_start
from longrun.services.tasks import Report, set_task
from longrun.services.watchdog import make_recoveries, run_watchdog

KIND, BOUNDARY = "longrun.task", "longrun.boundary"
_MOMENTS = (
    "created_at", "started_at", "updated_at", "last_visible_reply_at", "last_tool_result_at", "last_advance_at",
    "last_progress_at", "last_progress_sent_at", "last_progress_attempt_at", "validated_at",
)  # fmt: skip


def build(world: World) -> None:
    """Six tasks of two agents. Nothing is sent: the demo has no transport."""
    boundary = Boundary.objects.get_or_create(
        name="运维", defaults={"session_key": "agent:ops:main", "about": "监控、告警、备份"}
    )[0]
    world.note(BOUNDARY, boundary.pk)
    _at_work(world)
    _waiting(world)
    _blocked(world)
    _done(world)
    _lost(world)


def remove(world: World) -> None:
    """The tasks, their messages and the boundary, as far as they are still the demo's."""
    keys = [int(key) for key in world.noted(KIND)]
    Delivery.objects.filter(subject__in=[f"longtask:{key}" for key in keys]).delete()
    LongTask.objects.filter(pk__in=keys).delete()
    Boundary.objects.filter(pk__in=[int(key) for key in world.noted(BOUNDARY)]).delete()


def _register(world: World, agent: str, name: str, **said: str) -> LongTask:
    report = Report(origin_session_key=f"agent:{agent}:main", session=f"{agent} · main", **said)
    task = set_task(name, state="executing", report=report, caller=world.caller)
    world.note(KIND, task.pk)
    validate_start(name, expect_session_key=task.origin_session_key, caller=world.caller, session_seen=True)
    return task


def _at_work(world: World) -> None:
    name = "Move the billing tables"
    _register(
        world,
        "ops",
        name,
        goal="All billing tables on PostgreSQL, row counts equal",
        done_when="The nightly comparison is empty twice in a row",
        note="Copy invoices of 2025",
        focus="invoices, 1.2 million rows",
        progress_every="6h",
        quiet_limit="12h",
    )
    tick(name, caller=world.caller, step="Customers copied: 48,210 rows on both sides")
    confirm_progress(name, caller=world.caller, message="Customers are across: 48,210 rows on both sides.")
    touch_tool(name, caller=world.caller)
    _back(world, name, minutes=3)


def _waiting(world: World) -> None:
    name = "三季度供应商对账"
    _register(world, "main", name, goal="42 家供应商的往来款对平", note="收到回执后核对差额")
    set_task(
        name,
        state="waiting",
        report=Report(waiting_for="财务部的回执", why="差额 3 笔待确认"),
        caller=world.caller,
    )
    _back(world, name, minutes=95)
    name = "Backup drill"
    _register(
        world, "ops", name, goal="Restore last night's backup on the spare host", note="Compare checksums"
    )
    set_task(
        name, state="waiting", report=Report(waiting_kind="background", next_check="9h"), caller=world.caller
    )
    _back(world, name, minutes=20)


def _blocked(world: World) -> None:
    name = "续签 TLS 证书"
    _register(
        world, "ops", name, goal="六个域名的证书续到 2027 年", note="在控制台确认域名所有权", boundary="运维"
    )
    touch_tool(name, caller=world.caller, failed=True, error="DNS 控制台要求短信验证码", need="login")
    _back(world, name, minutes=48)


def _done(world: World) -> None:
    name = "整理会议纪要"
    _register(world, "main", name, goal="11 月 18 场会议的行动项清单", note="写总结")
    confirm_progress(name, caller=world.caller, message="18 场都看完了，共 63 个行动项。")
    set_task(name, state="done", report=Report(why="清单已归档"), caller=world.caller)
    _back(world, name, minutes=300)


def _lost(world: World) -> None:
    name = "整理三季度供应商合同"
    _register(
        world,
        "main",
        name,
        goal="318 份合同的到期表",
        done_when="每份合同都有到期日",
        note="核对第 214 份",
        focus="附件里的扫描件",
    )
    tick(name, caller=world.caller, step="第 213 份到期日是 2027-03-01")
    _back(world, name, minutes=8)
    tick(name, caller=world.caller)
    fail_progress(name, caller=world.caller, error="no such session")
    _back(world, name, minutes=6)
    run_watchdog(caller=world.caller)
    make_recoveries(caller=world.caller)


def _back(world: World, name: str, *, minutes: int) -> None:
    """Moves what was made into the past, with its timeline and messages."""
    shift = timedelta(minutes=minutes)
    task = LongTask.objects.select_related("progress").get(name=name)
    for field in _MOMENTS:
        if value := getattr(task, field):
            setattr(task, field, value - shift)
    clock.refresh(task).save()
    for event in task.events.all():
        event.at -= shift
        event.save(update_fields=["at"])
    for delivery in Delivery.objects.filter(subject=task.subject):
        for field in ("generated_at", "attempted_at", "received_at"):
            if value := getattr(delivery, field):
                setattr(delivery, field, value - shift)
        delivery.save()
        for attempt in delivery.attempts.all():
            attempt.started_at -= shift
            attempt.ended_at = attempt.ended_at - shift if attempt.ended_at else None
            attempt.save()
