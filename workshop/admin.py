"""The ops room of the Workshop: everything to look at, decisions only through the services."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from gateway.callers import caller_of
from gateway.errors import AppError
from workshop import models
from workshop.services import decisions, recovery, rollbacks
from workshop.services.rules import set_desk_rules


class ReadOnly(admin.ModelAdmin):
    """Rows that services own: shown, searched, never edited here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class GenerationInline(admin.TabularInline):
    model = models.Generation
    fields = ("version", "uuid", "description", "size_bytes", "created_at", "person", "removed_at")
    readonly_fields = fields
    extra = 0
    can_delete = False
    ordering = ("-version",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class EventInline(admin.TabularInline):
    model = models.Event
    fields = ("sequence", "type", "proposed_version", "occurred_at", "person", "reason")
    readonly_fields = fields
    extra = 0
    can_delete = False
    ordering = ("-sequence",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(models.Proposal)
class ProposalAdmin(ReadOnly):
    list_display = ("title", "status", "kind", "agent_id", "version", "scan_state", "updated_at", "page")
    list_filter = ("status", "kind", "agent_id", "scan_state", "created_by")
    search_fields = ("id", "title", "description", "skill_key")
    date_hierarchy = "updated_at"
    inlines = (GenerationInline, EventInline)
    actions = ("reject_selected", "quarantine_selected", "roll_back_selected", "recover_selected")
    show_full_result_count = False
    readonly_fields = ("page",)

    @admin.display(description=_("page"))
    def page(self, proposal: models.Proposal) -> SafeString | str:
        try:
            url = reverse("workshop:proposal", args=[proposal.pk])
        except NoReverseMatch:
            return ""
        return format_html('<a href="{}">{}</a>', url, _("open"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # The list's actions need it; a row itself has no editable field.
        return obj is None and super().has_view_permission(request)

    def _each(self, request: HttpRequest, rows: QuerySet[models.Proposal], decide: Any) -> None:
        done = 0
        for proposal in rows:
            try:
                decide(proposal)
                done += 1
            except AppError as error:
                self.message_user(request, f"{proposal}: {error.message}", messages.ERROR)
        self.message_user(request, _("%(count)s done.") % {"count": done})

    @admin.action(description=_("Reject"))
    def reject_selected(self, request: HttpRequest, rows: QuerySet[models.Proposal]) -> None:
        caller = caller_of(request)
        self._each(
            request,
            rows,
            lambda proposal: decisions.reject_proposal(
                proposal.agent_id, proposal.pk, expected_revision_hash=proposal.revision_hash, caller=caller
            ),
        )

    @admin.action(description=_("Quarantine"))
    def quarantine_selected(self, request: HttpRequest, rows: QuerySet[models.Proposal]) -> None:
        caller = caller_of(request)
        self._each(
            request,
            rows,
            lambda proposal: decisions.quarantine_proposal(
                proposal.agent_id, proposal.pk, expected_revision_hash=proposal.revision_hash, caller=caller
            ),
        )

    @admin.action(description=_("Roll back"))
    def roll_back_selected(self, request: HttpRequest, rows: QuerySet[models.Proposal]) -> None:
        caller = caller_of(request)
        self._each(
            request,
            rows,
            lambda proposal: rollbacks.roll_back_proposal(proposal.agent_id, proposal.pk, caller=caller),
        )

    @admin.action(description=_("Settle a cut-off apply"))
    def recover_selected(self, request: HttpRequest, rows: QuerySet[models.Proposal]) -> None:
        caller = caller_of(request)
        self._each(
            request, rows, lambda proposal: recovery.settle_for(proposal.agent_id, proposal.pk, caller=caller)
        )


@admin.register(models.Event)
class EventAdmin(ReadOnly):
    list_display = (
        "sequence",
        "type",
        "proposal_id",
        "agent_id",
        "proposed_version",
        "person",
        "occurred_at",
    )
    list_filter = ("type", "agent_id")
    search_fields = ("proposal__id", "correlation_id", "person")
    show_full_result_count = False


@admin.register(models.Rollback)
class RollbackAdmin(ReadOnly):
    list_display = ("proposal_id", "action", "state", "target_skill_file", "written_at", "reverted_at")
    list_filter = ("state", "action")
    search_fields = ("proposal__id", "target_skill_file")


@admin.register(models.Comment)
class CommentAdmin(ReadOnly):
    list_display = (
        "body",
        "author",
        "proposal_id",
        "version",
        "path",
        "line",
        "created_at",
        "request",
        "dropped_at",
    )
    search_fields = ("body", "proposal__id", "author")


@admin.register(models.RevisionRequest)
class RevisionRequestAdmin(ReadOnly):
    list_display = (
        "proposal_id",
        "version",
        "agent_id",
        "session_key",
        "person",
        "created_at",
        "delivery_id",
    )
    search_fields = ("proposal__id", "instructions")


@admin.register(models.SkillUsage)
class SkillUsageAdmin(ReadOnly):
    list_display = ("skill_name", "use_count", "last_agent_id", "skill_file")
    search_fields = ("skill_name", "skill_file")


@admin.register(models.ImportRun)
class ImportRunAdmin(ReadOnly):
    list_display = ("source", "started_at", "finished_at", "counts")


@admin.register(models.Publication)
class PublicationAdmin(ReadOnly):
    list_display = ("proposal_id", "generation", "agent_id", "started_at")


@admin.register(models.AgentDesk)
class AgentDeskAdmin(admin.ModelAdmin):
    """Changed here as on the curator's page: by the service, which notes who did it."""

    list_display = ("agent_id", "approval_policy", "two_person")
    list_editable = ("approval_policy", "two_person")
    readonly_fields = ("agent_id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: models.AgentDesk, form: Any, change: bool) -> None:
        try:
            set_desk_rules(
                obj.agent_id,
                approval_policy=obj.approval_policy,
                two_person=obj.two_person,
                caller=caller_of(request),
            )
        except AppError as error:
            self.message_user(request, error.message, messages.ERROR)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """In the rows of the list a field has no label beside it: it carries its name itself."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            field.widget.attrs.setdefault("aria-label", str(field.label))
        return field


@admin.register(models.CollectionReview)
class CollectionReviewAdmin(ReadOnly):
    list_display = ("review_id", "owner_agent_id", "at", "backup_id")
    list_filter = ("owner_agent_id",)


@admin.register(models.ReviewState)
class ReviewStateAdmin(ReadOnly):
    list_display = ("kind", "key", "data", "updated_at")
    list_filter = ("kind",)


admin.site.register(models.LearningSession, ReadOnly)
