"""Server-sent events without a thread or a query per tab.

One task a process reads the ledger about once a second while anybody listens, and hands new events to
every listener's queue. A thousand open tabs cost a thousand small queues and one query a second.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError, close_old_connections
from django.db.models import Q

from gateway.models import LedgerEvent

logger = logging.getLogger(__name__)
PERIOD = 1.0  # seconds between two looks at the ledger
KEEPALIVE = 20.0  # seconds of silence before a comment keeps proxies from closing the line
LIFETIME = 15 * 60.0  # seconds before a line ends; the browser reconnects and is signed in anew
LATE = 10.0  # seconds in which an event with a lower number may still come
_BATCH = 200
_QUEUE = 500


class Hub:
    """The listeners of one event loop, and the one task that feeds them."""

    def __init__(self) -> None:
        self.listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self.task: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()

    async def join(self) -> asyncio.Queue[dict[str, Any]]:
        """A queue that gets every event from its return on. A reader too slow for it loses the oldest."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_QUEUE)
        self.listeners.add(queue)
        if self.task is None or self.task.done():
            self.ready.clear()
            self.task = asyncio.create_task(self._feed())
        try:
            await self.ready.wait()
        except asyncio.CancelledError:
            self.leave(queue)
            raise
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any]]) -> None:
        self.listeners.discard(queue)

    async def _feed(self) -> None:
        position: int | None = None
        # Numbers that were passed over, and until when they are looked for: on PostgreSQL a number is given
        # before its transaction ends, so a lower one may come after a higher one. Some never come.
        late: dict[int, float] = {}
        while self.listeners:
            try:
                if position is None:
                    position = await _last_id()
                    self.ready.set()
                await asyncio.sleep(PERIOD)
                found = await _events_after(position, late)
            except DatabaseError as error:
                logger.warning("the event ledger cannot be read just now: %s", error)
                await asyncio.sleep(PERIOD)
                continue
            now = asyncio.get_running_loop().time()
            for event in found:
                if event["id"] > position:
                    passed = range(position + 1, event["id"])[: _QUEUE - len(late)]
                    late |= dict.fromkeys(passed, now + LATE)
                    position = event["id"]
                late.pop(event["id"], None)
                for queue in self.listeners:
                    if queue.full():
                        queue.get_nowait()
                    queue.put_nowait(event)
            late = {number: until for number, until in late.items() if until > now}


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
    queue = await mine.join()
    end = asyncio.get_running_loop().time() + LIFETIME
    caught_up: deque[int] = deque(maxlen=4 * _QUEUE)
    try:
        yield b"retry: 3000\n\n"
        while after is not None:
            missed = await _events_after(after)
            for event in missed:
                if wanted.takes(event):
                    yield _frame(event, plain=wanted.plain)
                caught_up.append(event["id"])
            after = missed[-1]["id"] if len(missed) == _BATCH else None
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                event = await asyncio.wait_for(queue.get(), min(KEEPALIVE, left))
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event["id"] not in caught_up and wanted.takes(event):
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
def _events_after(position: int, late: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Events behind `position`, in their order, and those of the numbers in `late` that have come since."""
    close_old_connections()
    rows = LedgerEvent.objects.filter(Q(id__gt=position) | Q(id__in=list(late))).order_by("id")
    return [dict(row) for row in rows.values("id", "kind", "agent_id", "subject", "data")[:_BATCH]]
