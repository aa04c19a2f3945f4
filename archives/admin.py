"""The ops room of archives: the index, read-only, with the services that mend it as actions."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from archives import services
from archives.models import Archive, ArchiveFile, Bucket, Workspace


class _ReadOnly(admin.ModelAdmin):
    """The disk owns these rows: they are looked at here, and changed by indexing."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Workspace)
class WorkspaceAdmin(_ReadOnly):
    list_display = ["agent_id", "label", "root", "zone", "scanned_at", "scan_error"]
    search_fields = ["agent_id", "label", "root"]
    actions = ["look_again", "rebuild"]

    def get_actions(self, request: HttpRequest) -> dict:
        actions = super().get_actions(request)
        return actions if request.user.is_superuser or request.user.is_staff else {}

    @admin.action(description=_("Look at the disk again"))
    def look_again(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        self._index(request, queryset, drop=False)

    @admin.action(description=_("Drop the index and rebuild it from the disk"))
    def rebuild(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        self._index(request, queryset, drop=True)

    def _index(self, request: HttpRequest, queryset: QuerySet[Workspace], *, drop: bool) -> None:
        changes = sum(services.reindex(workspace, drop=drop).changes for workspace in queryset)
        text = ngettext("%(n)d change in the index.", "%(n)d changes in the index.", changes) % {"n": changes}
        self.message_user(request, text, messages.SUCCESS)


@admin.register(Archive)
class ArchiveAdmin(_ReadOnly):
    list_display = [
        "archive_id",
        "workspace",
        "file_count",
        "bucket_count",
        "total_size",
        "has_plan",
        "is_fallback",
        "newest_at",
        "page",
    ]
    list_filter = ["workspace", "has_plan", "is_fallback"]
    search_fields = ["archive_id"]
    list_select_related = ["workspace"]

    @admin.display(description=_("page"))
    def page(self, row: Archive) -> SafeString:
        return format_html('<a href="{}">{}</a>', row.get_absolute_url(), row)


@admin.register(Bucket)
class BucketAdmin(_ReadOnly):
    list_display = ["timestamp", "archive", "file_count", "total_size", "at"]
    search_fields = ["=timestamp", "=archive__archive_id"]
    list_select_related = ["archive"]


@admin.register(ArchiveFile)
class ArchiveFileAdmin(_ReadOnly):
    list_display = ["name", "archive", "bucket", "kind", "size", "modified_at"]
    list_filter = ["kind", "workspace"]
    search_fields = ["=name", "=archive__archive_id"]
    list_select_related = ["archive", "bucket"]
