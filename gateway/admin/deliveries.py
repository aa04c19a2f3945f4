"""The delivery ledger in the ops room: read only, with the one action that a person may need."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from gateway.callers import caller_of
from gateway.deliveries import attempt_delivery
from gateway.models import Delivery, DeliveryAttempt


class AttemptInline(admin.TabularInline):
    model = DeliveryAttempt
    fields = ["started_at", "ended_at", "transport", "outcome", "error"]
    readonly_fields = ["started_at", "ended_at", "transport", "outcome", "error"]
    extra = 0
    max_num = 0
    can_delete = False


@admin.register(Delivery)
class DeliveryAdmin(admin.ModelAdmin):
    list_display = [
        "generated_at", "purpose", "session_key", "outcome", "attempt_count", "attempted_at", "received_at",
        "transport", "error",
    ]  # fmt: skip
    list_filter = ["outcome", "purpose", "transport", "agent_id"]
    search_fields = ["session_key", "subject", "dedupe_key", "text"]
    date_hierarchy = "generated_at"
    inlines = [AttemptInline]
    actions = ["try_now"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @admin.action(description=_("Try to send now"), permissions=["view"])
    def try_now(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        for delivery in rows:
            after = attempt_delivery(delivery, caller=caller_of(request))
            self.message_user(request, f"{after}: {after.get_outcome_display()}")
