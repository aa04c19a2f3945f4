"""People and their roles. Nobody is deleted: the trail names them; they are locked out instead."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from gateway.admin.base import Audited
from gateway.callers import ROLES, caller_of, role_of
from gateway.errors import GatewayError
from gateway.models import User
from gateway.people import role_refusal, set_active, set_role

ROLE_NAMES = {"viewer": _("viewer"), "reviewer": _("reviewer"), "administrator": _("administrator")}
ROLE_CHOICES = [("", _("none: may not come in")), *((role, ROLE_NAMES[role]) for role in ROLES)]


class RoleField(forms.ChoiceField):
    """One of the fixed roles, or none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            label=_("Role"),
            choices=ROLE_CHOICES,
            required=False,
            help_text=_(
                "Viewers read. Reviewers also decide on plans and proposals. Administrators also set up the site."
            ),
            **kwargs,
        )


class PersonForm(UserChangeForm):
    """Role and activity as one may change them; the services have the last word."""

    role = RoleField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].initial = role_of(self.instance)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        wanted = data.get("role", "") if data.get("is_active", True) else ""
        if refusal := role_refusal(self.instance, wanted):
            self.add_error("role", refusal)
        return data


class NewPersonForm(AdminUserCreationForm):
    role = RoleField()

    class Meta(AdminUserCreationForm.Meta):
        model = User
        fields = ("username",)


@admin.register(User)
class PersonAdmin(Audited, UserAdmin):
    noun = "person"
    form = PersonForm
    add_form = NewPersonForm
    list_display = ["username", "role", "is_active", "last_login", "date_joined", "language", "time_zone"]
    list_filter = ["groups", "is_active"]
    search_fields = ["username", "first_name", "last_name", "email"]
    ordering = ["username"]
    readonly_fields = ["last_login", "date_joined"]
    filter_horizontal = []
    fieldsets = [
        (None, {"fields": ["username", "password", "role", "is_active"]}),
        (_("Person"), {"fields": ["first_name", "last_name", "email"]}),
        (_("Reading"), {"fields": ["language", "time_zone", "theme"]}),
        (_("Dates"), {"fields": ["last_login", "date_joined"]}),
    ]
    add_fieldsets = [
        (
            None,
            {
                "classes": ["wide"],
                "fields": ["username", "role", "usable_password", "password1", "password2"],
            },
        )
    ]
    actions = ["lock_out", "let_in"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description=_("role"))
    def role(self, user: User) -> str:
        if user.is_superuser:
            return str(ROLE_NAMES["administrator"])
        names = {group.name for group in user.groups.all()}
        return str(next((ROLE_NAMES[role] for role in reversed(ROLES) if role in names), "—"))

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        wanted_active = obj.is_active
        if change:
            obj.is_active = User.objects.values_list("is_active", flat=True).get(pk=obj.pk)
        super().save_model(request, obj, form, change)
        role = form.cleaned_data.get("role", "")
        caller = caller_of(request)
        if not change or role != role_of(User.objects.get(pk=obj.pk)):
            set_role(obj, role, caller=caller)
        if change and wanted_active != obj.is_active:
            set_active(obj, wanted_active, caller=caller)

    @admin.action(description=_("Lock out"))
    def lock_out(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        self._each(request, chosen, False)

    @admin.action(description=_("Let in again"))
    def let_in(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        self._each(request, chosen, True)

    def _each(self, request: HttpRequest, chosen: QuerySet[User], active: bool) -> None:
        for user in chosen:
            try:
                set_active(user, active, caller=caller_of(request))
            except GatewayError as error:
                self.message_user(request, f"{user}: {error.message}", messages.ERROR)
