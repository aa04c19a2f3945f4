"""Request ids, trusted proxies, and how a reader likes to read."""

import pytest
from django.test import Client, RequestFactory

from gateway.callers import client_address

pytestmark = pytest.mark.django_db


def address(settings_proxies, remote, forwarded, settings):
    settings.TRUSTED_PROXIES = settings_proxies
    request = RequestFactory().get("/", REMOTE_ADDR=remote, HTTP_X_FORWARDED_FOR=forwarded)
    return client_address(request)


@pytest.mark.parametrize(
    ("proxies", "remote", "forwarded", "right"),
    [
        ([], "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        (["192.0.2.1"], "192.0.2.1", "198.51.100.7", "198.51.100.7"),
        (["192.0.2.1"], "192.0.2.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (["192.0.2.1", "198.51.100.7"], "192.0.2.1", "203.0.113.9, 198.51.100.7", "203.0.113.9"),
        (["192.0.2.1"], "192.0.2.1", "<script>alert(1)</script>", "192.0.2.1"),
        (["192.0.2.1"], "192.0.2.1", "", "192.0.2.1"),
        ([], "", "", ""),
        ([], "2001:db8::1", "", "2001:db8::1"),
    ],
)
def test_the_address_is_the_last_hop_that_is_no_proxy_of_ours(proxies, remote, forwarded, right, settings):
    assert address(proxies, remote, forwarded, settings) == right


def test_each_answer_carries_an_id_of_our_own_making(client):
    first = client.get("/healthz", headers={"X-Request-Id": "forged"})["X-Request-Id"]
    assert first != "forged"
    assert client.get("/healthz")["X-Request-Id"] != first


def test_a_header_signs_nobody_in_unless_set_up(client, people, settings):
    assert client.get("/", headers={"X-Remote-User": "administrator"}).status_code == 302


def with_proxy(settings):
    settings.PROXY_USER_HEADER = "X-Remote-User"
    settings.TRUSTED_PROXIES = ["192.0.2.1"]
    return Client()


def test_a_named_proxy_signs_in_people_who_exist(people, settings):
    client = with_proxy(settings)
    page = client.get("/", headers={"X-Remote-User": "viewer"}, REMOTE_ADDR="192.0.2.1")
    assert page.status_code == 200
    assert page.wsgi_request.user.username == "viewer"


@pytest.mark.parametrize(
    ("name", "remote"), [("viewer", "192.0.2.2"), ("nobody", "192.0.2.1"), ("", "192.0.2.1")]
)
def test_others_stay_strangers(name, remote, people, settings):
    client = with_proxy(settings)
    assert client.get("/", headers={"X-Remote-User": name}, REMOTE_ADDR=remote).status_code == 302


def test_the_person_of_the_proxy_replaces_the_one_of_the_session(people, settings):
    client = with_proxy(settings)
    client.force_login(people["administrator"])
    page = client.get("/", headers={"X-Remote-User": "viewer"}, REMOTE_ADDR="192.0.2.1")
    assert page.wsgi_request.user.username == "viewer"


@pytest.mark.parametrize(
    ("accepts", "cookie", "right"),
    [
        ("zh-CN,zh;q=0.9", "", "zh-hans"),
        ("en-GB", "", "en"),
        ("zh-CN", "en", "en"),
        ("fr", "", "en"),
        ("en", "xx", "en"),
    ],
)
def test_the_language_is_the_cookies_else_the_browsers(accepts, cookie, right, viewer):
    if cookie:
        viewer.cookies["django_language"] = cookie
    assert viewer.get("/", headers={"Accept-Language": accepts})["Content-Language"] == right


def test_the_chosen_agent_is_kept_until_all_are_asked_for(viewer):
    assert viewer.get("/?agent=ops").wsgi_request.agent_id == "ops"
    assert viewer.get("/").wsgi_request.agent_id == "ops"
    assert viewer.get("/?agent=").wsgi_request.agent_id == ""
    assert viewer.get("/").wsgi_request.agent_id == ""


@pytest.mark.parametrize("agent", ["../etc", "<b>", "a" * 65, "UPPER", "\x00"])
def test_a_strange_agent_id_is_no_agent(agent, viewer):
    assert viewer.get("/", {"agent": agent}).wsgi_request.agent_id == ""


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Nowhere/City", "../../etc/passwd", "\x00"])
def test_any_zone_cookie_gives_a_page(zone, viewer):
    viewer.cookies["tz"] = zone.replace("\x00", "%00")
    assert viewer.get("/").status_code == 200
