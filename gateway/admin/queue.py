"""Django-Q's own tables. Nobody types a function's name here: that would be a shell on this host."""

import django_q.admin  # noqa: F401 (registers its pages, which the ones below replace)
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from django_q.models import Failure, OrmQ, Schedule, Success
from django_q.tasks import async_task

from gateway import audit
from gateway.admin.base import ReadOnly
from gateway.callers import caller_of


class ScheduleAdmin(ReadOnly):
    """Rows come from the code (`gateway.schedules.repeat`): here they are run now, paused, resumed."""

    list_display = ["name", "func", "schedule_type", "minutes", "next_run", "paused", "last_ok"]
    list_filter = ["schedule_type"]
    search_fields = ["name", "func"]
    ordering = ["name"]
    actions = ["run_now", "pause", "resume"]

    @admin.display(description=_("paused"), boolean=True)
    def paused(self, row: Schedule) -> bool:
        return row.repeats == 0

    @admin.display(description=_("last run"), boolean=True)
    def last_ok(self, row: Schedule) -> bool | None:
        return row.success()

    @admin.action(description=_("Run at the next look (within half a minute)"), permissions=["view"])
    def run_now(self, request: HttpRequest, chosen: QuerySet[Schedule]) -> None:
        self._change(request, chosen, "schedule.run_now", next_run=timezone.now())

    @admin.action(description=_("Pause"), permissions=["view"])
    def pause(self, request: HttpRequest, chosen: QuerySet[Schedule]) -> None:
        self._change(request, chosen, "schedule.pause", repeats=0)

    @admin.action(description=_("Resume"), permissions=["view"])
    def resume(self, request: HttpRequest, chosen: QuerySet[Schedule]) -> None:
        self._change(request, chosen, "schedule.resume", repeats=-1)

    def _change(
        self, request: HttpRequest, chosen: QuerySet[Schedule], action: str, **fields: object
    ) -> None:
        for row in chosen:
            Schedule.objects.filter(pk=row.pk).update(**fields)
            audit.record(caller_of(request), action, subject=row.name or row.func)
        self.message_user(request, _("Done."), messages.SUCCESS)


class QueueAdmin(ReadOnly):
    """What waits for a worker or is being worked on."""

    list_display = ["id", "key", "name", "func", "state", "lock"]
    list_filter = ["key"]
    fields = ["key", "lock", "task_id", "name", "group", "func", "args", "kwargs"]
    readonly_fields = ["key", "lock", "task_id", "name", "group", "func", "args", "kwargs"]

    @admin.display(description=_("state"))
    def state(self, row: OrmQ) -> str:
        return str(_("with a worker") if row.lock and row.lock > timezone.now() else _("waits"))


class TaskAdmin(ReadOnly):
    """Finished tasks, newest first."""

    list_display = ["name", "func", "group", "started", "took", "ended"]
    list_filter = ["func", "cluster"]
    search_fields = ["name", "func", "group"]
    ordering = ["-stopped"]
    show_full_result_count = False

    @admin.display(description=_("took, seconds"))
    def took(self, row: Success) -> str:
        return f"{row.time_taken():.2f}"

    @admin.display(description=_("result"))
    def ended(self, row: Success) -> str:
        lines = str(row.result or "").strip().splitlines()
        return Truncator(lines[-1] if lines else "").chars(120)


class FailureAdmin(TaskAdmin):
    actions = ["try_again"]

    @admin.action(description=_("Put it into the queue again"), permissions=["view"])
    def try_again(self, request: HttpRequest, chosen: QuerySet[Failure]) -> None:
        for row in chosen:
            async_task(
                row.func,
                *row.args or (),
                hook=row.hook,
                group=row.group,
                cluster=row.cluster,
                **row.kwargs or {},
            )
            audit.record(caller_of(request), "task.queue_again", subject=row.func)
            row.delete()


for model, page in {
    Schedule: ScheduleAdmin,
    Success: TaskAdmin,
    Failure: FailureAdmin,
    OrmQ: QueueAdmin,
}.items():
    if admin.site.is_registered(model):
        admin.site.unregister(model)
        admin.site.register(model, page)
