"""Walks every address and every method: strangers get nothing, viewers change nothing, agents stay apart."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from gateway.callers import READ, Caller
from gateway.registry import methods

pytestmark = pytest.mark.django_db

# What a stranger may see: the way in, and whether the process lives.
PUBLIC = {
    "signin",
    "setup",
    "alive",
    "set_language",
    "signout",
    "rpc",
    "methods",
    "set_theme",
    "admin/login/",
    "admin/logout/",
    "admin:logout",
}
# What a viewer may send: their own account and how they read.
OWN = {
    "signout",
    "set_language",
    "account",
    "password",
    "password_change",
    "set_theme",
    "signin",
    "setup",
    "rpc",
    "admin/login/",
    "admin/logout/",
}
_EXAMPLES = {"int": 1, "str": "x", "slug": "x", "uuid": UUID(int=1), "path": "x/y"}


def addresses(patterns=None, prefix="/", namespace="") -> Iterator[tuple[str, str, URLPattern]]:
    """(name, an example address, pattern) of every view."""
    for entry in patterns if patterns is not None else get_resolver().url_patterns:
        text = _example(entry)
        if isinstance(entry, URLResolver):
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from addresses(entry.url_patterns, prefix + text, inner)
        else:
            yield f"{namespace}{entry.name or entry.pattern}", prefix + text, entry


def _example(entry) -> str:
    pattern = entry.pattern
    if not hasattr(pattern, "_route"):
        return str(pattern).strip("^$\\Z").replace("(?P<url>.*)", "x/")
    route = pattern._route
    for name, converter in pattern.converters.items():
        kind = next(key for key in _EXAMPLES if _is(converter, key))
        for form in (f"<{kind}:{name}>", f"<{name}>"):
            route = route.replace(form, str(_EXAMPLES[kind]))
    return route


def _is(converter, kind: str) -> bool:
    return type(converter).__name__.lower().startswith({"str": "string"}.get(kind, kind))


ALL = sorted({(name, address) for name, address, _pattern in addresses()})


def test_the_walk_finds_the_pages():
    names = {name for name, _address in ALL}
    assert {"home", "health", "activity", "rpc", "admin:index"} <= names
    assert len(ALL) > 30


def test_a_stranger_is_sent_to_sign_in(people):
    wrong = []
    for name, address in ALL:
        for verb in ("get", "post") if name not in PUBLIC else ():
            response = getattr(Client(), verb)(address)
            sent = response.status_code == 302 and response["Location"].startswith(
                ("/signin/", "/admin/login/")
            )
            if not sent and response.status_code != 403:
                wrong.append(f"{verb} {address} answered {response.status_code}")
    assert wrong == []


def test_a_viewer_changes_nothing(viewer):
    wrong = []
    for name, address in ALL:
        for verb in ("post", "put", "patch", "delete") if name not in OWN and not _is_admin(name) else ():
            status = getattr(viewer, verb)(address).status_code
            if status not in (403, 405):
                wrong.append(f"{verb} {address} answered {status}")
    assert wrong == []


def test_the_admin_site_is_closed_to_reviewers(reviewer):
    wrong = []
    for name, address in ALL:
        if not _is_admin(name) or name == "admin:logout":
            continue
        response = reviewer.get(address)
        sent = response.status_code == 302 and "login" in response["Location"]
        if not sent and response.status_code not in (403, 404):
            wrong.append(f"{address} answered {response.status_code}")
    assert wrong == []


def _is_admin(name: str) -> bool:
    return name.startswith("admin:")


def test_somebody_without_a_role_gets_no_page(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("nobody", password="correct horse"))
    for name, address in ALL:
        if name in PUBLIC | OWN or name.startswith("admin:"):
            continue
        assert client.get(address).status_code in (403, 405), address


def test_a_stranger_gets_no_method(client):
    for method in methods():
        response = client.post(f"/api/rpc/{method.name}", "{}", content_type="application/json")
        assert response.status_code == 401, method.name


def test_a_reading_token_calls_no_writing_method():
    for method in methods():
        reader = Caller(kind="token", label="reader", scopes=frozenset({READ}))
        assert reader.may(method.scope) is (method.scope == READ), method.name


def test_every_view_of_ours_names_its_role():
    for name, address, pattern in addresses():
        module = pattern.callback.__module__
        if (
            module.startswith(("django.", "axes."))
            or name in PUBLIC
            or (":" in name and name.startswith("admin:"))
        ):
            continue
        assert getattr(pattern.callback, "required_role", None), f"{address} ({module}) has no @role_required"
