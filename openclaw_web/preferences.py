"""How a person likes to read: language, theme, keys, time zone; and their password.

Kept on the account, and in cookies so that the page before sign-in is right too, without a flash.
"""

import zoneinfo
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, resolve_url
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from gateway.access import role_required
from gateway.callers import caller_of
from gateway.models import User
from gateway.people import change_password, keep_reading
from openclaw_web.htmx import render_page

THEME_COOKIE = "theme"
KEYS_COOKIE = "keys"
_YEAR = 365 * 86400


@login_not_required
@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """`language`: one of ours; goes back to `next`."""
    code = request.POST.get("language", "")
    response = _back(request)
    if code in dict(settings.LANGUAGES):
        _remember(response, settings.LANGUAGE_COOKIE_NAME, code)
        if request.user.is_authenticated:
            keep_reading(request.user, language=code)
    return response


@login_not_required
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """`theme`: `light`, `dark`, or empty for the system's; goes back to `next`."""
    theme = request.POST.get("theme", "")
    response = _back(request)
    if theme in User.Theme.values:
        _remember(response, THEME_COOKIE, theme)
        if request.user.is_authenticated:
            keep_reading(request.user, theme=theme)
    return response


class ReadingForm(forms.Form):
    """Language, theme, time zone and keys, as the account page asks for them."""

    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        choices=[("", gettext_lazy("like the browser")), *settings.LANGUAGES],
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        required=False,
        help_text=gettext_lazy(
            "A name like Asia/Shanghai. Empty: the zone of the device you are looking from."
        ),
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    theme = forms.ChoiceField(
        label=gettext_lazy("Light or dark"),
        required=False,
        choices=User.Theme,
        widget=forms.RadioSelect,
    )
    keys = forms.BooleanField(
        label=gettext_lazy("Single-letter keys on this device"),
        required=False,
        help_text=gettext_lazy("j, k, / and the letters on buttons. Turn them off if you speak your input."),
    )

    def clean_time_zone(self) -> str:
        name = self.cleaned_data["time_zone"].strip()
        if name and name not in zoneinfo.available_timezones():
            raise forms.ValidationError(
                _("There is no time zone “%(name)s”. Choose one from the list.") % {"name": name}
            )
        return name


class PasswordForm(PasswordChangeForm):
    """Django's, without taking the focus: it stands second on its page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


@role_required("viewer", unsafe="viewer")
@never_cache
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Two forms on one page: how you read, and your password. `form` names the one that was sent."""
    user = cast(User, request.user)  # the gate lets nobody else in
    reading = ReadingForm(
        initial={
            "language": user.language,
            "time_zone": user.time_zone,
            "theme": user.theme,
            "keys": request.COOKIES.get(KEYS_COOKIE) != "off",
        }
    )
    password = PasswordForm(user)
    if request.method == "POST":
        if request.POST.get("form") == "password":
            password = PasswordForm(user, request.POST)
            if password.is_valid():
                change_password(user, password.cleaned_data["new_password1"], caller=caller_of(request))
                update_session_auth_hash(request, user)
                messages.success(request, _("Your password is changed. Other devices are signed out."))
                return redirect("account")
        else:
            reading = ReadingForm(request.POST)
            if reading.is_valid():
                return _keep(request, reading.cleaned_data)
    zones = sorted(zone for zone in zoneinfo.available_timezones() if "/" in zone)
    return render_page(
        request,
        "openclaw_web/account.html",
        {"form": reading, "password": password, "zones": zones},
        status=422 if request.method == "POST" else 200,
    )


def _keep(request: HttpRequest, data: dict) -> HttpResponse:
    user = cast(User, request.user)
    keep_reading(user, language=data["language"], theme=data["theme"], time_zone=data["time_zone"])
    language = data["language"] or translation.get_language()
    with translation.override(language):
        messages.success(request, _("Saved."))
    response = redirect("account")
    _remember(response, settings.LANGUAGE_COOKIE_NAME, data["language"])
    _remember(response, THEME_COOKIE, data["theme"])
    _remember(response, KEYS_COOKIE, "" if data["keys"] else "off")
    return response


def _remember(response: HttpResponse, name: str, value: str) -> None:
    if value:
        response.set_cookie(name, value, max_age=_YEAR, samesite="Lax", secure=settings.HTTPS, httponly=True)
    else:
        response.delete_cookie(name, samesite="Lax")


def _back(request: HttpRequest) -> HttpResponseRedirect:
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return HttpResponseRedirect(target if safe else resolve_url("home"))
