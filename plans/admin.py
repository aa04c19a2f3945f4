"""The ops room for plans: everything to see, and only what a service may do as an action. Nobody confirms here."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from gateway.callers import caller_of
from gateway.errors import AppError
from plans.models import ChangeRequest, Confirmation, Intake, Plan, Revision, Run, Schedule, Tick
from plans.services import lifecycle
from plans.services.queue import enqueue_runs


class Watched(admin.ModelAdmin):
    """Read-only: rows are made and changed by services, and the database refuses the rest."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @admin.display(description=_("page"))
    def page(self, obj: Plan | Run | Intake | Revision) -> str:
        try:
            return format_html('<a href="{}">{}</a>', obj.get_absolute_url(), _("open"))
        except NoReverseMatch:
            return "–"


@admin.register(Plan)
class PlanAdmin(Watched):
    list_display = ("name", "agent_id", "state", "state_at", "failures", "task_id", "page")
    list_filter = ("state", "agent_id", "missed")
    search_fields = ("name", "task_id", "archive_id", "uid")
    date_hierarchy = "created_at"
    list_select_related = ("current",)
    actions = ("pause", "resume", "retire", "run_now")

    @admin.action(description=_("Pause"), permissions=["view"])
    def pause(self, request: HttpRequest, plans: QuerySet[Plan]) -> None:
        self._each(request, plans, lambda plan: lifecycle.pause_plan(plan, caller=caller_of(request)))

    @admin.action(description=_("Resume"), permissions=["view"])
    def resume(self, request: HttpRequest, plans: QuerySet[Plan]) -> None:
        self._each(request, plans, lambda plan: lifecycle.resume_plan(plan, caller=caller_of(request)))

    @admin.action(description=_("Retire"), permissions=["view"])
    def retire(self, request: HttpRequest, plans: QuerySet[Plan]) -> None:
        self._each(request, plans, lambda plan: lifecycle.retire_plan(plan, caller=caller_of(request)))

    @admin.action(description=_("Run now"), permissions=["view"])
    def run_now(self, request: HttpRequest, plans: QuerySet[Plan]) -> None:
        def start(plan: Plan) -> None:
            enqueue_runs([lifecycle.run_now(plan, caller=caller_of(request)).pk])

        self._each(request, plans, start)

    def _each(self, request: HttpRequest, plans: QuerySet[Plan], act: Callable[[Plan], object]) -> None:
        for plan in plans:
            try:
                act(plan)
            except AppError as error:
                self.message_user(request, f"{plan}: {error.message}", messages.ERROR)
            else:
                self.message_user(request, f"{plan}: {_('done')}", messages.SUCCESS)


@admin.register(Run)
class RunAdmin(Watched):
    list_display = (
        "plan",
        "due_at",
        "trigger",
        "status",
        "outcome",
        "code",
        "attempts",
        "outputs_found",
        "page",
    )
    list_filter = ("status", "outcome", "trigger", "runner")
    search_fields = ("plan__name", "plan__task_id", "uid", "session_key")
    date_hierarchy = "due_at"
    list_select_related = ("plan",)
    show_full_result_count = False


@admin.register(Schedule)
class ScheduleAdmin(Watched):
    list_display = ("plan", "kind", "expr", "every", "at", "zone", "next_due_at", "last_due_at")
    list_filter = ("kind", "zone")
    search_fields = ("plan__name", "plan__task_id")
    list_select_related = ("plan",)


@admin.register(Confirmation)
class ConfirmationAdmin(Watched):
    list_display = ("plan", "revision", "person", "confirmed_at", "address", "digest")
    list_filter = ("person",)
    search_fields = ("plan__name", "digest")
    date_hierarchy = "confirmed_at"
    list_select_related = ("plan", "person", "revision")


@admin.register(Revision)
class RevisionAdmin(Watched):
    list_display = ("plan", "number", "origin", "made_by", "created_at", "file_digest", "page")
    list_filter = ("origin",)
    search_fields = ("plan__name", "plan__task_id", "file_digest")
    exclude = ("content",)
    date_hierarchy = "created_at"
    list_select_related = ("plan",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        return super().get_queryset(request).defer("content")


@admin.register(ChangeRequest)
class ChangeRequestAdmin(Watched):
    list_display = ("plan", "revision", "made_by", "created_at", "delivery", "delivery_error")
    search_fields = ("plan__name", "text")
    date_hierarchy = "created_at"
    list_select_related = ("plan", "revision", "delivery")


@admin.register(Intake)
class IntakeAdmin(Watched):
    list_display = ("wish", "agent_id", "state", "drafted_by", "made_by", "created_at", "page")
    list_filter = ("state", "agent_id", "language")
    search_fields = ("wish", "uid")
    date_hierarchy = "created_at"


@admin.register(Tick)
class TickAdmin(Watched):
    list_display = ("at",)
