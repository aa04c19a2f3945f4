"""Programs' keys: made through the service, their secret shown once, ended by an action."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from gateway.admin.base import ReadOnly
from gateway.callers import READ, SCOPES, caller_of
from gateway.errors import GatewayError
from gateway.models import ApiToken
from gateway.tokens import make_token, revoke_token


class TokenForm(forms.ModelForm):
    """What a new token may do. Nothing of it can be changed later: make another and revoke this one."""

    scope = forms.MultipleChoiceField(
        label=_("Rights"),
        choices=[(scope, scope) for scope in SCOPES],
        initial=[READ],
        widget=forms.CheckboxSelectMultiple,
    )
    agents = forms.CharField(
        label=_("Agents"),
        required=False,
        help_text=_("Ids with commas between them. Empty: every agent."),
    )
    days = forms.IntegerField(
        label=_("Ends after days"), required=False, min_value=1, max_value=3650, help_text=_("Empty: never.")
    )

    class Meta:
        model = ApiToken
        fields = ("name", "is_agent", "session_key")

    def clean_agents(self) -> list[str] | None:
        names = [name.strip() for name in self.cleaned_data["agents"].split(",") if name.strip()]
        return names or None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("is_agent") and len(data.get("agents") or []) != 1:
            self.add_error("agents", _("A token held by an agent belongs to exactly one agent."))
        return data


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    form = TokenForm
    list_display = [
        "name", "prefix", "rights", "limited_to", "is_agent", "state", "last_used_at", "expires_at", "created_by",
    ]  # fmt: skip
    list_filter = ["is_agent", ("revoked_at", admin.EmptyFieldListFilter), "created_by"]
    search_fields = ["name", "prefix", "session_key"]
    list_select_related = ["created_by"]
    actions = ["revoke"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        if obj is None:
            return ["name", "scope", "agents", "is_agent", "session_key", "days"]
        return [
            "name", "prefix", "rights", "limited_to", "is_agent", "session_key", "state", "created_by",
            "created_at", "last_used_at", "expires_at", "revoked_at",
        ]  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        return [] if obj is None else self.get_fields(request, obj)

    @admin.display(description=_("rights"))
    def rights(self, token: ApiToken) -> str:
        return ", ".join(token.scopes)

    @admin.display(description=_("agents"))
    def limited_to(self, token: ApiToken) -> str | SafeString:
        return str(_("every agent")) if token.agent_ids is None else ", ".join(token.agent_ids)

    @admin.display(description=_("state"))
    def state(self, token: ApiToken) -> str:
        if token.revoked_at:
            return str(_("revoked"))
        if token.expires_at and token.expires_at <= timezone.now():
            return str(_("expired"))
        return str(_("works"))

    def save_model(self, request: HttpRequest, obj: ApiToken, form: TokenForm, change: bool) -> None:
        data = form.cleaned_data
        made, secret = make_token(
            data["name"],
            scopes=data["scope"],
            agent_ids=data["agents"],
            is_agent=data["is_agent"],
            session_key=data["session_key"],
            expires_at=timezone.now() + timedelta(days=data["days"]) if data["days"] else None,
            caller=caller_of(request),
        )
        # The admin's form holds an unsaved double of what the service made.
        obj.__dict__.update({key: value for key, value in made.__dict__.items() if key != "_state"})
        obj._state.adding, obj._state.db = False, made._state.db
        request._secret_once = secret  # type: ignore[attr-defined]

    def response_add(
        self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The secret, in this one answer: not in a message (which rests in a cookie), not in an address."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("Token made"),
            "token": obj,
            "secret": request._secret_once,  # type: ignore[attr-defined]
            "opts": self.opts,
        }
        response = TemplateResponse(request, "admin/token_made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description=_("Revoke at once"), permissions=["view"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiToken]) -> None:
        for token in chosen:
            try:
                self.message_user(
                    request, f"{revoke_token(token, caller=caller_of(request))}: {self.state(token)}"
                )
            except GatewayError as error:
                self.message_user(request, error.message)
