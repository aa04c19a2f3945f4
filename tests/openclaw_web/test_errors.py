import pytest
from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.test import Client
from django.utils import translation

from gateway.models import User
from gateway.tokens import make_token
from openclaw_web import errors

pytestmark = pytest.mark.django_db


def test_a_missing_page_is_calm_in_the_readers_language_with_the_request_id(viewer):
    viewer.cookies["django_language"] = "zh-hans"
    answer = viewer.get("/no/such/page/")
    html = answer.content.decode()
    assert answer.status_code == 404
    assert "这里什么都没有" in html
    assert answer["X-Request-Id"] in html


def test_an_address_with_script_in_it_stays_inert(viewer):
    html = viewer.get("/<script>alert(1)</script>/").content.decode()
    assert "<script>alert" not in html


def test_what_is_not_allowed_says_which_role_it_needs(people):
    from django.core.exceptions import PermissionDenied

    request = HttpRequest()
    request.META["REMOTE_ADDR"] = "127.0.0.1"
    request.user = people["viewer"]
    answer = errors.forbidden(request, PermissionDenied("It needs the role “reviewer”."))
    assert answer.status_code == 403
    assert "It needs the role “reviewer”." in answer.content.decode()


def test_somebody_without_a_role_is_told_how_to_get_one_and_can_leave(client):
    client.force_login(User.objects.create_user("nobody", password="correct horse"))
    answer = client.get("/")
    html = answer.content.decode()
    assert answer.status_code == 403
    assert "Your account has no role yet" in html
    assert 'action="/signout/"' in html


def test_a_form_that_is_too_old_says_so(people):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(people["viewer"])
    answer = browser.post("/account/", {"form": "reading"})
    assert answer.status_code == 403
    assert "This form is too old" in answer.content.decode()


def test_a_fault_has_one_page_that_asks_no_database(client, people, django_assert_num_queries):
    request = HttpRequest()
    request.request_id = "4242424242424242"
    request.COOKIES["theme"] = "dark"
    with translation.override("zh-hans"), django_assert_num_queries(0):
        answer = errors.server_error(request)
    html = answer.content.decode()
    assert answer.status_code == 500
    assert "服务器出错了" in html
    assert "4242424242424242" in html
    assert 'data-theme="dark"' in html


def test_even_without_its_template_a_fault_is_told(monkeypatch):
    def broken(*args, **kwargs):
        raise TemplateDoesNotExist("error.html")

    monkeypatch.setattr(errors.loader, "render_to_string", broken)
    html = errors.server_error(HttpRequest()).content.decode()
    assert "Something went wrong on the server" in html


def test_a_raising_view_answers_500_once_and_names_the_request(client, people, monkeypatch):
    from openclaw_web import views

    def broken(*args, **kwargs):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(views, "load_inbox", broken)
    client.force_login(people["viewer"])
    client.raise_request_exception = False
    answer = client.get("/")
    assert answer.status_code == 500
    assert "secret detail" not in answer.content.decode()
    assert answer["X-Request-Id"] in answer.content.decode()


def test_a_program_gets_its_own_shape_instead_of_a_page(client, shell, monkeypatch, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    _token, secret = make_token("of a test", scopes=["operator.read"], caller=shell)
    bearer = {"Authorization": f"Bearer {secret}"}
    answer = client.post("/api/rpc/health", "x" * 1001, content_type="application/json", headers=bearer)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_REQUEST")
    answer = client.post("/api/no/such/door")
    assert (answer.status_code, answer.json()["ok"]) == (404, False)

    def break_it(*_args):
        raise RuntimeError("secret in the traceback")

    monkeypatch.setattr("gateway.views._caller", break_it)
    client.raise_request_exception = False
    answer = client.post("/api/rpc/health", "{}", content_type="application/json")
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert (error["code"], error["details"]) == ("UNAVAILABLE", {"requestId": answer["X-Request-Id"]})
    assert answer["X-Request-Id"] in error["message"]
    assert "secret" not in answer.content.decode()


def test_a_missing_thing_is_named_in_the_readers_words_and_never_as_a_model(viewer):
    html = viewer.get("/archives/nobody/<b>/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "nobody" in html and "<b>" not in html
    model = viewer.get("/tasks/999999/").content.decode()
    assert "The address leads nowhere" in model and "LongTask" not in model
    assert "tried" not in viewer.get("/no/such/page/").content.decode()
