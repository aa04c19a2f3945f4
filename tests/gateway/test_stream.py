"""Live events: what follows reaches every listener, without a thread each."""

import asyncio
import json
import threading

import pytest

from gateway import stream
from gateway.events import publish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(stream, "PERIOD", 0.02)
    monkeypatch.setattr(stream, "KEEPALIVE", 0.2)


async def collect(count: int, *, before=None, **wanted) -> list[dict]:
    """The first `count` events that a listener gets; `before` runs once it listens."""
    follower = stream.follow(kinds=frozenset(wanted.pop("kinds", ())), agent_id="", after=None, **wanted)
    assert (await anext(follower)).startswith(b"retry:")
    if before:
        await asyncio.sleep(0.1)
        await asyncio.to_thread(before)
    found = []
    async for frame in follower:
        if frame.startswith(b":"):
            continue
        found.append(json.loads(frame.decode().split("data: ", 1)[1]))
        if len(found) == count:
            break
    await follower.aclose()
    return found


def test_a_listener_gets_what_happens_after_it_joined():
    publish("test.before")
    found = asyncio.run(
        asyncio.wait_for(
            collect(2, before=lambda: (publish("test.one", subject="a"), publish("test.two"))), 5
        )
    )
    assert [event["kind"] for event in found] == ["test.one", "test.two"]
    assert found[0]["subject"] == "a"


def test_only_the_kinds_asked_for_come():
    found = asyncio.run(
        asyncio.wait_for(
            collect(1, before=lambda: (publish("test.other"), publish("test.mine")), kinds=["test.mine"]), 5
        )
    )
    assert found[0]["kind"] == "test.mine"


def test_a_reconnecting_reader_gets_what_it_missed_first():
    seen = publish("test.seen")
    publish("test.missed")

    async def reconnect() -> bytes:
        follower = stream.follow(kinds=frozenset(), agent_id="", after=seen.id)
        await anext(follower)
        frame = await anext(follower)
        await follower.aclose()
        return frame

    assert b"event: test.missed" in asyncio.run(asyncio.wait_for(reconnect(), 5))


def test_events_of_other_agents_do_not_come():
    seen = publish("test.start")
    publish("test.theirs", agent_id="ops")
    publish("test.mine", agent_id="main")

    async def first() -> bytes:
        follower = stream.follow(kinds=frozenset(), agent_id="main", after=seen.id)
        await anext(follower)
        frame = await anext(follower)
        await follower.aclose()
        return frame

    assert b"test.mine" in asyncio.run(asyncio.wait_for(first(), 5))


def test_a_thousand_listeners_hold_no_thousand_threads():
    async def many() -> int:
        gathered = [asyncio.create_task(collect(1)) for _i in range(1000)]
        await asyncio.sleep(0.3)
        threads = threading.active_count()
        await asyncio.to_thread(publish, "test.all")
        found = await asyncio.gather(*gathered)
        assert all(events[0]["kind"] == "test.all" for events in found)
        return threads

    assert asyncio.run(asyncio.wait_for(many(), 30)) < 60


def test_a_stranger_gets_no_stream(client):
    assert client.get("/events/stream").status_code == 302
