"""How the web server runs a page: one hop into a thread, and back.

Django's own ASGI handler goes to a thread and back for each middleware and makes a new thread (and so a new database
connection) for each request. All middleware and views here are synchronous, so the whole chain runs in one thread of
a pool, whose threads and connections live on. Streams are asynchronous iterators: they are sent by the event loop and
hold no thread (`gateway.stream`, `archives.streams`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class PooledHandler(ASGIHandler):
    """Serves requests in `WEB_THREADS` threads. Others wait for one to become free."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(settings.WEB_THREADS, thread_name_prefix="page")

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        # Without Django's ThreadSensitiveContext, which starts a thread for each request: what it is for, keeping a
        # request's synchronous parts in one thread, holds here anyhow.
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is served, not {scope['type']}")
        await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self._respond, thread_sensitive=False, executor=self._threads)(request)

    def _respond(self, request: HttpRequest) -> HttpResponseBase:
        # Django's signals do this in another thread, whose connections are not the ones used here (`serve_here`).
        reset_queries()
        close_old_connections()
        try:
            return self.get_response(request)
        finally:
            close_old_connections()


def serve_here() -> PooledHandler:
    """The handler of a process that does nothing but serve.

    Takes Django's own receivers off `request_started`: the handler does their work in the thread that needs it, and
    without them a request is spared a hop.
    """
    request_started.disconnect(reset_queries)
    request_started.disconnect(close_old_connections)
    return PooledHandler()
