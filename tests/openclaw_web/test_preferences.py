import pytest
from django.test import Client

from gateway.models import AuditEntry, User

pytestmark = pytest.mark.django_db


def test_a_stranger_chooses_the_language_of_the_sign_in_page(client, people):
    answer = client.post("/reading/language", {"language": "zh-hans", "next": "/signin/"})
    assert answer["Location"] == "/signin/"
    html = client.get("/signin/").content.decode()
    assert '<html lang="zh-hans"' in html
    assert "登录" in html


def test_a_persons_language_follows_them_to_another_browser(viewer, people):
    viewer.post("/reading/language", {"language": "zh-hans"})
    other = Client()
    other.force_login(people["viewer"])
    assert "收件箱" in other.get("/").content.decode()


def test_an_unknown_language_changes_nothing(viewer):
    viewer.post("/reading/language", {"language": "tlh"})
    assert User.objects.get(username="viewer").language == ""
    assert '<html lang="en"' in viewer.get("/").content.decode()


@pytest.mark.parametrize(
    ("asked", "location"),
    [
        ("/tasks/?state=done", "/tasks/?state=done"),
        ("https://elsewhere.test/x", "/"),
        ("//elsewhere.test/x", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_a_switch_goes_back_to_a_page_of_ours_only(client, people, asked, location):
    assert client.post("/reading/theme", {"theme": "dark", "next": asked})["Location"] == location


def test_the_theme_is_in_the_first_byte_so_nothing_flashes(viewer):
    assert "data-theme" not in viewer.get("/").content.decode()
    viewer.post("/reading/theme", {"theme": "dark"})
    assert '<html lang="en" dir="ltr" data-theme="dark">' in viewer.get("/").content.decode()
    assert User.objects.get(username="viewer").theme == "dark"
    viewer.post("/reading/theme", {"theme": ""})
    assert "data-theme" not in viewer.get("/").content.decode()


def test_the_account_page_keeps_language_zone_theme_and_keys(viewer):
    answer = viewer.post(
        "/account/",
        {"form": "reading", "language": "zh-hans", "time_zone": "Asia/Shanghai", "theme": "light"},
    )
    assert answer.status_code == 302
    user = User.objects.get(username="viewer")
    assert (user.language, user.time_zone, user.theme) == ("zh-hans", "Asia/Shanghai", "light")
    html = viewer.get("/account/").content.decode()
    assert 'data-keys="off"' in html
    assert "已保存" in html
    viewer.post("/account/", {"form": "reading", "keys": "on"})
    assert 'data-keys="on"' in viewer.get("/account/").content.decode()


def test_an_unknown_zone_is_refused_beside_its_field_and_what_was_typed_stays(viewer):
    answer = viewer.post("/account/", {"form": "reading", "time_zone": "Asia/Shangri-La"})
    html = answer.content.decode()
    assert answer.status_code == 422
    assert "There is no time zone “Asia/Shangri-La”" in html
    assert 'value="Asia/Shangri-La"' in html


def test_a_changed_password_ends_other_sessions_keeps_this_one_and_is_in_the_trail(viewer, people):
    other = Client()
    other.force_login(people["viewer"])
    new = "a much longer phrase"
    answer = viewer.post(
        "/account/",
        {"form": "password", "old_password": "correct horse", "new_password1": new, "new_password2": new},
    )
    assert answer.status_code == 302
    assert viewer.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert User.objects.get(username="viewer").check_password(new)
    entry = AuditEntry.objects.get(action="person.password_changed")
    assert (entry.subject, new in str(entry.detail)) == ("viewer", False)


def test_a_wrong_old_password_changes_nothing(viewer):
    answer = viewer.post(
        "/account/",
        {"form": "password", "old_password": "x", "new_password1": "y" * 12, "new_password2": "y" * 12},
    )
    assert answer.status_code == 422
    assert User.objects.get(username="viewer").check_password("correct horse")
