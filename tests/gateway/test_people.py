"""The first administrator, roles, and the way in."""

from datetime import timedelta

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.utils import timezone

from gateway.callers import Caller, command_caller, has_role, role_of
from gateway.errors import GatewayError
from gateway.models import AuditEntry, SetupCode, User
from gateway.people import make_first_administrator, needs_setup, new_setup_code, set_role

pytestmark = pytest.mark.django_db
STRANGER = Caller(kind="person", label="anonymous")


def make(code: str, **changed):
    given = {"code": code, "username": "ada", "password": "a long sentence", "caller": STRANGER}
    return make_first_administrator(**{**given, **changed})


def test_the_printed_code_makes_the_first_administrator_once():
    code = new_setup_code()
    user = make(code)
    assert role_of(user) == "administrator"
    assert not needs_setup()
    with pytest.raises(GatewayError) as refused:
        make(code, username="eve")
    assert refused.value.code == "SETUP_DONE"
    assert User.objects.count() == 1


def test_only_the_hash_of_the_code_is_kept():
    code = new_setup_code()
    assert code not in str(SetupCode.objects.values().get())


def test_a_new_code_ends_the_earlier_one():
    old = new_setup_code()
    new_setup_code()
    with pytest.raises(GatewayError) as refused:
        make(old)
    assert refused.value.code == "SETUP_CODE_WRONG"


def test_a_code_ends_after_two_days():
    code = new_setup_code()
    with time_machine.travel(timezone.now() + timedelta(days=2, minutes=1)), pytest.raises(GatewayError):
        make(code)


def test_guessing_uses_the_code_up():
    code = new_setup_code()
    for _i in range(20):
        with pytest.raises(GatewayError):
            make("AAAA-AAAA-AAAA")
    with pytest.raises(GatewayError) as refused:
        make(code)
    assert refused.value.code == "SETUP_CODE_WRONG"
    assert AuditEntry.objects.filter(action="setup.refused").count() == 21


def test_a_weak_password_leaves_the_code_usable():
    code = new_setup_code()
    with pytest.raises(ValidationError):
        make(code, password="12345")
    assert make(code.lower()).username == "ada"


def test_the_last_administrator_stays_one(people):
    with pytest.raises(GatewayError) as refused:
        set_role(people["administrator"], "viewer", caller=command_caller())
    assert refused.value.code == "LAST_ADMINISTRATOR"
    assert role_of(User.objects.get(username="administrator")) == "administrator"


def test_a_role_replaces_the_one_before(people):
    set_role(people["viewer"], "administrator", caller=command_caller())
    set_role(people["administrator"], "reviewer", caller=command_caller())
    again = User.objects.get(username="administrator")
    assert role_of(again) == "reviewer"
    assert not again.is_staff
    assert has_role(again, "viewer")
    assert not has_role(again, "administrator")


def test_somebody_switched_off_has_no_role(people):
    people["viewer"].is_active = False
    assert role_of(people["viewer"]) == ""


def test_the_setup_page_closes_for_ever_after(client):
    code = new_setup_code()
    assert client.get("/signin/").url == "/setup/"
    sent = {
        "code": code,
        "username": "ada",
        "password": "a long sentence",
        "password_again": "a long sentence",
    }
    assert client.post("/setup/", sent).url == "/"
    assert client.get("/").status_code == 200
    assert client.get("/setup/").url == "/signin/"
    assert client.post("/setup/", {**sent, "username": "eve"}).url == "/signin/"
    assert User.objects.count() == 1


def test_a_wrong_code_keeps_what_was_typed(client):
    new_setup_code()
    sent = {
        "code": "WRONG",
        "username": "ada-types",
        "password": "a long sentence",
        "password_again": "a long sentence",
    }
    response = client.post("/setup/", sent)
    assert response.status_code == 422
    assert "ada-types" in response.content.decode()


def test_wrong_passwords_lock_out_even_the_right_one(client, people):
    for _i in range(6):
        refused = client.post("/signin/", {"username": "viewer", "password": "wrong", "next": "/health/"})
    assert refused.status_code == 429
    assert client.post("/signin/", {"username": "viewer", "password": "correct horse"}).status_code == 429
    html = refused.content.decode()
    assert 'value="viewer"' in html and 'name="next" value="/health/"' in html
    assert AuditEntry.objects.filter(action="person.locked_out", outcome="refused").exists()
    with time_machine.travel(timezone.now() + timedelta(minutes=16)):
        assert client.post("/signin/", {"username": "viewer", "password": "correct horse"}).status_code == 302


def test_a_lock_out_of_one_name_leaves_others_alone(client, people):
    for _i in range(7):
        client.post("/signin/", {"username": "viewer", "password": "wrong"})
    assert client.post("/signin/", {"username": "reviewer", "password": "correct horse"}).status_code == 302


def test_sign_in_does_not_lead_to_another_site(client, people):
    response = client.post(
        "/signin/?next=https://evil.example/", {"username": "viewer", "password": "correct horse"}
    )
    assert response.url == "/"


def test_html_in_a_login_name_is_inert(client, people, administrator):
    administrator.logout()
    bad = "<script>alert(1)</script>"
    page = administrator.post("/signin/", {"username": bad, "password": "x" * 12})
    assert bad not in page.content.decode()
    administrator.force_login(people["administrator"])
    for address in ("/activity/", "/admin/gateway/auditentry/"):
        assert bad not in administrator.get(address).content.decode()
