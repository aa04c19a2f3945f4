from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from agents.models import GoodRoster, MadeAgent
from agents.services import remove_agent
from gateway.callers import caller_of


class ReadOnly(admin.ModelAdmin):
    """The services own these rows: here they are only looked at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(MadeAgent)
class MadeAgentAdmin(ReadOnly):
    list_display = ["agent_id", "name", "workspace", "made_by", "made_at", "page"]
    list_filter = ["made_by"]
    search_fields = ["agent_id", "name", "workspace"]
    actions = ["take_off_the_roster"]

    @admin.display(description=_("page"))
    def page(self, made: MadeAgent) -> str:
        return format_html('<a href="{}">{}</a>', reverse("agents:change", args=[made.agent_id]), _("open"))

    @admin.action(description=_("Take off the roster (files stay)"), permissions=["view"])
    def take_off_the_roster(self, request: HttpRequest, chosen: QuerySet[MadeAgent]) -> None:
        for made in chosen:
            remove_agent(made, caller_of(request))


@admin.register(GoodRoster)
class GoodRosterAdmin(ReadOnly):
    list_display = ["source", "default_id", "ownership", "how_many", "read_at"]

    @admin.display(description=_("agents"))
    def how_many(self, kept: GoodRoster) -> int:
        return len(kept.agents)
