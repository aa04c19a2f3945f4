"""Sign-in, sign-out and the first-run page. Wrong attempts are counted and lock out (django-axes)."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from gateway import audit
from gateway.callers import caller_of
from gateway.errors import GatewayError
from gateway.people import make_first_administrator, needs_setup


class SignInForm(AuthenticationForm):
    """Django's, with the field's name as the first-run page says it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("User name")


@method_decorator([login_not_required, never_cache], name="dispatch")
class SignIn(auth_views.LoginView):
    """GET: the form, or the first-run page while nobody can sign in. POST: signs in."""

    template_name = "gateway/signin.html"
    redirect_authenticated_user = True
    authentication_form = SignInForm

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if needs_setup():
            return redirect("setup")
        return super().get(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        audit.record(caller_of(self.request), "person.signed_in", subject=form.get_user().get_username())
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        audit.record(
            caller_of(self.request),
            "person.sign_in_refused",
            subject=str(form.data.get("username", ""))[:200],
            outcome="refused",
        )
        response = super().form_invalid(form)
        response.status_code = 422
        return response


@method_decorator(login_not_required, name="dispatch")
class SignOut(auth_views.LogoutView):
    """POST: signs out. A stale tab may send it twice."""


@login_not_required
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin site's own sign-in address: one way in for all, and no way round the lock-out."""
    if request.user.is_authenticated:
        raise PermissionDenied(_("Your account may not do this. It needs the role “administrator”."))
    return redirect_to_login(request.GET.get("next", ""), reverse("signin"))


def locked_out(
    request: HttpRequest, credentials: dict[str, str], *args: object, **kwargs: object
) -> HttpResponse:
    """The answer after too many wrong attempts: 429, with how long to wait."""
    username = request.POST.get("username", "")[:200]
    form = SignInForm(request, initial={"username": username})
    minutes = round(settings.AXES_COOLOFF_TIME * 60)
    audit.record(
        caller_of(request),
        "person.locked_out",
        subject=username,
        outcome="refused",
    )
    return render(
        request,
        "gateway/signin.html",
        {
            "form": form,
            "next": request.POST.get("next", ""),
            "locked": _("Too many wrong attempts. Try again in %(minutes)d minutes.") % {"minutes": minutes},
        },
        status=429,
    )


class SetupForm(forms.Form):
    """What the first administrator gives: the printed code, a name, a password twice."""

    code = forms.CharField(
        label=gettext_lazy("One-time code"),
        help_text=gettext_lazy("The server printed it when it started."),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        help_text=gettext_lazy("At least 10 characters, not a common one."),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password_again = forms.CharField(
        label=gettext_lazy("Password again"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, str]:
        data = super().clean() or {}
        if data.get("password") and data.get("password_again") and data["password"] != data["password_again"]:
            self.add_error("password_again", _("The two passwords differ."))
        return data


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """The first-run page: the printed code makes the first administrator. Closed for ever after."""
    if not needs_setup():
        return redirect("signin")
    form = SetupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        answer = _make_administrator(request, form)
        if answer is not None:
            return answer
    status = 422 if request.method == "POST" else 200
    return render(request, "gateway/setup.html", {"form": form}, status=status)


def _make_administrator(request: HttpRequest, form: SetupForm) -> HttpResponseRedirect | None:
    data = form.cleaned_data
    try:
        user = make_first_administrator(
            code=data["code"],
            username=data["username"],
            password=data["password"],
            caller=caller_of(request),
            language=getattr(request, "LANGUAGE_CODE", ""),
        )
    except ValidationError as error:
        form.add_error("password", error)
        return None
    except GatewayError as error:
        form.add_error(
            {"USERNAME_TAKEN": "username", "SETUP_CODE_WRONG": "code"}.get(error.code), error.message
        )
        return None
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("home")
