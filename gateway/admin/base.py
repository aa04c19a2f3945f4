"""What the ops room's pages have in common."""

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gateway import audit
from gateway.callers import caller_of


class ReadOnly(admin.ModelAdmin):
    """Rows that only the services write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class Audited(admin.ModelAdmin):
    """Rows that are edited here, where every edit is in the audit trail: which fields, never their values."""

    noun = ""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._record(request, "make", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._record(request, "change", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for obj in queryset:
            self._record(request, "remove", obj, [])
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, verb: str, obj: Any, message: Any) -> None:
        changes = message if isinstance(message, list) else []
        audit.record(
            caller_of(request), f"{self.noun}.{verb}", subject=str(obj), detail={"changes": changes} if changes else {}
        )  # fmt: skip


def pretty(value: object) -> SafeString:
    """JSON as people read it, escaped."""
    return format_html("<pre>{}</pre>", json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))
