"""Server-sent events without a thread or a query per tab.

One task a process reads the ledger about once a second while anybody listens, and hands new events to
every listener's queue. A thousand open tabs cost a thousand small queues and one query a second.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from gateway.models import LedgerEvent

PERIOD = 1.0  # seconds between two looks at the ledger
KEEPALIVE = 20.0  # seconds of silence before a comment keeps proxies from closing the line
LIFETIME = 15 * 60.0  # seconds before a line ends; the browser reconnects and is signed in anew
_BATCH = 200
_QUEUE = 500


class Hub:
    """The listeners of one event loop, and the one task that feeds them."""

    def __init__(self) -> None:
        self.listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self.task: asyncio.Task[None] | None = None

    def join(self) -> asyncio.Queue[dict[str, Any]]:
        """A queue that gets every event from now on. A reader too slow for it loses the oldest."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_QUEUE)
        self.listeners.add(queue)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._feed())
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any]]) -> None:
        self.listeners.discard(queue)

    async def _feed(self) -> None:
        position = await _last_id()
        while self.listeners:
            await asyncio.sleep(PERIOD)
            for event in await _events_after(position):
                position = event["id"]
                for queue in self.listeners:
                    if queue.full():
                        queue.get_nowait()
                    queue.put_nowait(event)


_hubs: dict[int, Hub] = {}


def hub() -> Hub:
    """The running event loop's hub."""
    return _hubs.setdefault(id(asyncio.get_running_loop()), Hub())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one listener wants to hear of; an empty field means everything.

    `kinds` are whole kinds, or their beginnings where they end with a dot (`longtask.`). `about` is the
    subject of the thing: its own events, and those of messages about it. `plain` frames have no event
    name, for a listener that only has to know that something happened.
    """

    kinds: frozenset[str] = frozenset()
    agent_id: str = ""
    about: str = ""
    plain: bool = False

    def takes(self, event: dict[str, Any]) -> bool:
        if self.kinds and not any(
            event["kind"].startswith(kind) if kind.endswith(".") else event["kind"] == kind
            for kind in self.kinds
        ):
            return False
        if self.about and self.about not in (event["subject"], event["data"].get("about")):
            return False
        # An event without an agent concerns everybody.
        return not self.agent_id or event["agent_id"] in ("", self.agent_id)


async def follow(wanted: Wanted, *, after: int | None) -> AsyncIterator[bytes]:
    """Yields SSE frames for new events.

    `after` is the last sequence a reconnecting reader saw: what it missed comes first.
    """
    mine = hub()
    queue = mine.join()
    end = asyncio.get_running_loop().time() + LIFETIME
    seen = after or 0
    try:
        yield b"retry: 3000\n\n"
        if after is not None:
            for event in await _events_after(after):
                if wanted.takes(event):
                    yield _frame(event, plain=wanted.plain)
                seen = event["id"]
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                event = await asyncio.wait_for(queue.get(), min(KEEPALIVE, left))
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event["id"] > seen and wanted.takes(event):
                yield _frame(event, plain=wanted.plain)
    finally:
        mine.leave(queue)


def _frame(event: dict[str, Any], *, plain: bool) -> bytes:
    data = json.dumps(
        {
            "kind": event["kind"],
            "agentId": event["agent_id"],
            "subject": event["subject"],
            "data": event["data"],
        }
    )
    name = "" if plain else f"event: {event['kind']}\n"
    return f"id: {event['id']}\n{name}data: {data}\n\n".encode()


@sync_to_async(thread_sensitive=False)
def _last_id() -> int:
    close_old_connections()
    newest = LedgerEvent.objects.order_by("-id").values_list("id", flat=True).first()
    return newest or 0


@sync_to_async(thread_sensitive=False)
def _events_after(position: int) -> list[dict[str, Any]]:
    close_old_connections()
    rows = LedgerEvent.objects.filter(id__gt=position).order_by("id")
    return [dict(row) for row in rows.values("id", "kind", "agent_id", "subject", "data")[:_BATCH]]
