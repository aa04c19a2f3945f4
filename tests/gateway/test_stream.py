"""Live events: what follows reaches every listener, without a thread each."""

import asyncio
import json
import threading
import time

import pytest
from django.db import OperationalError

from gateway import stream
from gateway.events import publish
from gateway.models import LedgerEvent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(stream, "PERIOD", 0.02)
    monkeypatch.setattr(stream, "KEEPALIVE", 0.2)


async def collect(count: int, *, before=None, **wanted) -> list[dict]:
    """The first `count` events that a listener gets; `before` runs once it listens."""
    kinds = frozenset(wanted.pop("kinds", ()))
    follower = stream.follow(stream.Wanted(kinds=kinds, **wanted), after=None)
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


def test_a_kind_that_ends_with_a_dot_means_all_that_begin_so():
    found = asyncio.run(
        asyncio.wait_for(
            collect(
                1, before=lambda: (publish("testing.one"), publish("test.one")), kinds=["test.", "testing"]
            ),
            5,
        )
    )
    assert found[0]["kind"] == "test.one"


def test_a_page_about_one_thing_hears_of_it_and_of_messages_about_it_alone():
    def happen():
        publish("longtask.state", subject="longtask:2")
        publish("longtask.state", subject="longtask:1")
        publish("delivery.received", subject="delivery:9", data={"about": "longtask:2"})
        publish("delivery.received", subject="delivery:8", data={"about": "longtask:1"})

    found = asyncio.run(asyncio.wait_for(collect(2, before=happen, about="longtask:1"), 5))
    assert [event["subject"] for event in found] == ["longtask:1", "delivery:8"]


def test_a_plain_frame_has_no_event_name_so_that_any_listener_hears_it():
    seen = publish("test.start")
    publish("test.mine")

    async def first() -> bytes:
        follower = stream.follow(stream.Wanted(plain=True), after=seen.id)
        await anext(follower)
        frame = await anext(follower)
        await follower.aclose()
        return frame

    frame = asyncio.run(asyncio.wait_for(first(), 5))
    assert b"event:" not in frame
    assert b'"kind": "test.mine"' in frame


def test_a_server_that_would_hold_a_thread_for_it_ends_the_browsers_tries(client, people):
    client.force_login(people["viewer"])
    assert client.get("/events/stream").status_code == 204


def test_a_reconnecting_reader_gets_what_it_missed_first():
    seen = publish("test.seen")
    publish("test.missed")

    async def reconnect() -> bytes:
        follower = stream.follow(stream.Wanted(), after=seen.id)
        await anext(follower)
        frame = await anext(follower)
        await follower.aclose()
        return frame

    assert b"event: test.missed" in asyncio.run(asyncio.wait_for(reconnect(), 5))


def test_a_reader_that_was_long_away_gets_everything_it_missed_and_then_goes_on(monkeypatch):
    monkeypatch.setattr(stream, "_BATCH", 3)
    seen = publish("test.seen")
    missed = [publish("test.missed").pk for _number in range(8)]

    async def reconnect() -> list[int]:
        follower = stream.follow(stream.Wanted(), after=seen.id)
        await anext(follower)
        frames = [await anext(follower) for _event in missed]
        new = await asyncio.to_thread(publish, "test.new")
        missed.append(new.pk)
        frames.append(await anext(follower))
        await follower.aclose()
        return [int(frame.split(b"\n")[0].removeprefix(b"id: ")) for frame in frames]

    assert asyncio.run(asyncio.wait_for(reconnect(), 5)) == missed


def test_an_event_whose_number_was_passed_over_comes_late_and_once():
    """On PostgreSQL a transaction that began first may end last."""
    first = publish("test.first").pk

    def happen():
        LedgerEvent.objects.create(pk=first + 3, kind="test.early")
        time.sleep(0.2)
        LedgerEvent.objects.create(pk=first + 2, kind="test.late")
        time.sleep(0.2)
        LedgerEvent.objects.create(pk=first + 4, kind="test.last")

    found = asyncio.run(asyncio.wait_for(collect(3, before=happen), 5))
    assert [event["kind"] for event in found] == ["test.early", "test.late", "test.last"]


def test_a_database_that_is_away_for_a_moment_ends_no_stream(monkeypatch):
    ask, times = stream._events_after, iter([True, True])

    async def sometimes(*args):
        if next(times, False):
            raise OperationalError("the database system is starting up")
        return await ask(*args)

    monkeypatch.setattr(stream, "_events_after", sometimes)
    found = asyncio.run(asyncio.wait_for(collect(1, before=lambda: publish("test.one")), 5))
    assert found[0]["kind"] == "test.one"


def test_events_of_other_agents_do_not_come():
    seen = publish("test.start")
    publish("test.theirs", agent_id="ops")
    publish("test.mine", agent_id="main")

    async def first() -> bytes:
        follower = stream.follow(stream.Wanted(agent_id="main"), after=seen.id)
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
