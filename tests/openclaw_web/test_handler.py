"""The web server's handler: where a request runs."""

import asyncio
import threading

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path

from openclaw_web.handler import PooledHandler


def seen_by(get_response):
    def middleware(request):
        request.seen = [threading.current_thread().name]
        response = get_response(request)
        request.seen.append(threading.current_thread().name)
        if not response.streaming:
            response.content = " ".join([*request.seen, response.content.decode()])
        return response

    return middleware


def plain(request):
    return HttpResponse(threading.current_thread().name)


def stream(request):
    async def pieces():
        for _number in range(2):
            await asyncio.sleep(0)
            yield threading.current_thread().name.encode() + b" "

    return StreamingHttpResponse(pieces())


def broken(request):
    raise LookupError("broken")


urlpatterns = [path("plain", plain), path("stream", stream), path("broken", broken)]


@pytest.fixture
def handler(settings):
    settings.WEB_THREADS = 2
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[f"{__name__}.seen_by"]):
        yield PooledHandler()


async def ask(handler, address):
    scope = {
        "type": "http",
        "method": "GET",
        "path": address,
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
    }
    sent = []
    waiting = [{"type": "http.request", "body": b""}]

    async def receive():
        return waiting.pop() if waiting else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    await handler(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def test_middleware_and_view_run_in_one_thread_that_is_used_again(handler):
    async def both():
        return [await ask(handler, "/plain") for _number in range(2)]

    answers = asyncio.run(both())
    assert answers == [(200, "page_0 page_0 page_0")] * 2


def test_a_stream_is_sent_by_the_event_loop(handler):
    status, body = asyncio.run(ask(handler, "/stream"))
    assert (status, set(body.split())) == (200, {threading.main_thread().name})


def test_an_error_is_an_answer(handler, settings, caplog):
    settings.DEBUG_PROPAGATE_EXCEPTIONS = False
    assert asyncio.run(ask(handler, "/broken"))[0] == 500


def test_more_requests_than_threads_are_all_answered(handler):
    async def many():
        return await asyncio.gather(*(ask(handler, "/plain") for _number in range(12)))

    answers = asyncio.run(many())
    assert {status for status, _body in answers} == {200}
    assert {body.split()[0] for _status, body in answers} <= {"page_0", "page_1"}


def test_other_protocols_are_refused(handler):
    with pytest.raises(ValueError, match="only HTTP"):
        asyncio.run(handler({"type": "websocket"}, None, None))
