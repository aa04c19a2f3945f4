"""The ops room for long tasks: everything is looked at here, changes go through the services."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from gateway.admin.base import Audited, ReadOnly
from gateway.callers import caller_of
from gateway.errors import AppError
from longrun.machine import is_session_key
from longrun.models import Boundary, LongTask, TaskEvent
from longrun.services.heartbeat import send_now
from longrun.services.tasks import clear_task


@admin.register(Boundary)
class BoundaryAdmin(Audited):
    noun = "boundary"
    list_display = ["name", "session_key", "about"]
    search_fields = ["name", "session_key"]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)

        class Checked(form):  # type: ignore[misc, valid-type]
            def clean_session_key(self) -> str:
                key = self.cleaned_data["session_key"].strip()
                if not is_session_key(key):
                    self.add_error("session_key", _("A session key looks like agent:ops:main."))
                return key

        return Checked


class TaskEventInline(admin.TabularInline):
    model = TaskEvent
    fields = ("at", "kind", "actor", "from_state", "to_state", "why")
    readonly_fields = fields
    extra = 0
    max_num = 0
    can_delete = False
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[TaskEvent]:
        # The newest 100: a long task has thousands, and the page has its own timeline.
        rows = super().get_queryset(request)
        task_id = request.resolver_match.kwargs.get("object_id") if request.resolver_match else None
        newest = TaskEvent.objects.filter(task_id=task_id).order_by("-id").values_list("pk", flat=True)[:100]
        return rows.filter(pk__in=list(newest))


@admin.register(LongTask)
class LongTaskAdmin(ReadOnly):
    list_display = [
        "name",
        "agent_id",
        "state",
        "finding",
        "updated_at",
        "activity_at",
        "undelivered",
        "page",
    ]
    list_filter = ["state", "finding", "agent_id", "block_reason"]
    search_fields = ["name", "goal", "origin_session_key"]
    list_select_related = ["last_delivery"]
    inlines = [TaskEventInline]
    actions = ["send_progress", "clear"]

    @admin.display(description=gettext_lazy("page"))
    def page(self, task: LongTask) -> str:
        return format_html('<a href="/tasks/{}/">{}</a>', task.pk, _("open"))

    def get_view_on_site_url(self, obj: LongTask | None = None) -> str | None:
        return f"/tasks/{obj.pk}/" if obj else None

    @admin.action(description=gettext_lazy("Send progress now"), permissions=["view"])
    def send_progress(self, request: HttpRequest, rows: QuerySet[LongTask]) -> None:
        for task in rows:
            try:
                delivery = send_now(task, caller=caller_of(request))
            except AppError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                level = messages.SUCCESS if delivery.is_received else messages.WARNING
                self.message_user(request, f"{task.name}: {delivery.get_outcome_display()}", level)

    @admin.action(description=gettext_lazy("Remove these tasks (their messages stay)"), permissions=["view"])
    def clear(self, request: HttpRequest, rows: QuerySet[LongTask]) -> None:
        for task in rows:
            clear_task(task.name, caller=caller_of(request), agent_id=task.agent_id)
        count = len(rows)
        self.message_user(
            request, ngettext("%(n)d task removed.", "%(n)d tasks removed.", count) % {"n": count}
        )


@admin.register(TaskEvent)
class TaskEventAdmin(ReadOnly):
    list_display = ["at", "task", "kind", "from_state", "to_state", "actor", "why"]
    list_filter = ["kind", "to_state"]
    search_fields = ["task__name", "why", "actor"]
    list_select_related = ["task"]
    date_hierarchy = "at"
