"""The two ledgers and the idempotency keys: looked at, never changed."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from gateway.admin.base import ReadOnly, pretty
from gateway.models import AuditEntry, IdempotencyRecord, LedgerEvent


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly):
    list_display = ["at", "action", "subject", "outcome", "actor", "actor_kind", "agent_id", "address"]
    list_filter = ["outcome", "actor_kind", "action", "agent_id"]
    search_fields = ["action", "subject", "actor", "digest", "reason", "request_id", "address"]
    date_hierarchy = "at"
    list_per_page = 50
    show_full_result_count = False
    fields = [
        "at", "action", "subject", "outcome", "reason", "actor", "actor_kind", "address", "agent_id", "digest",
        "request_id", "facts",
    ]  # fmt: skip
    readonly_fields = ["facts"]

    @admin.display(description=_("detail"))
    def facts(self, entry: AuditEntry) -> SafeString:
        return pretty(entry.detail)


@admin.register(LedgerEvent)
class LedgerEventAdmin(ReadOnly):
    list_display = ["id", "at", "kind", "subject", "agent_id", "actor"]
    list_filter = ["kind", "agent_id"]
    search_fields = ["kind", "subject", "actor"]
    date_hierarchy = "at"
    list_per_page = 50
    show_full_result_count = False
    fields = ["id", "at", "kind", "subject", "agent_id", "actor", "facts"]
    readonly_fields = ["facts"]

    @admin.display(description=_("data"))
    def facts(self, event: LedgerEvent) -> SafeString:
        return pretty(event.data)


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(ReadOnly):
    list_display = ["created_at", "method", "owner", "key", "answered"]
    list_filter = ["method"]
    search_fields = ["owner", "method", "key"]
    show_full_result_count = False
    fields = ["created_at", "method", "owner", "key", "params_digest", "first_answer"]
    readonly_fields = ["first_answer"]

    @admin.display(description=_("answered"), boolean=True)
    def answered(self, record: IdempotencyRecord) -> bool:
        return record.answer is not None

    @admin.display(description=_("answer"))
    def first_answer(self, record: IdempotencyRecord) -> SafeString:
        return pretty(record.answer)
