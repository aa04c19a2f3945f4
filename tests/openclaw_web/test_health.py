import sys
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import Failure, Schedule, Task

from gateway.clusters import beat, cluster_names
from gateway.models import Delivery
from gateway.schedules import ensure_schedule
from openclaw_web import health_host
from openclaw_web.health import recent_failures, run_checks, schedule_lines

pytestmark = pytest.mark.django_db


def check(name, **kwargs):
    return next(one for one in run_checks(**kwargs) if one.name == name)


def alive():
    for name in cluster_names():
        beat(cluster_id="c", host="box", pid=1, workers=2, name=name)


def test_with_everything_in_place_the_page_says_so(viewer, state_dir, settings):
    alive()
    settings.OPENCLAW_BIN = sys.executable
    ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=5)
    response = viewer.get("/health/")
    assert [one.name for one in response.context["unwell"]] == []
    assert "Everything works" in response.content.decode()


def test_without_a_cluster_it_says_what_to_do(viewer):
    html = viewer.get("/health/").content.decode()
    assert "No heartbeat was ever seen." in html
    assert "manage.py cluster" in html


def test_the_cluster_tells_its_host_and_workers():
    alive()
    facts = dict(check("Background cluster").facts)
    assert (facts["host"], facts["worker processes"]) == ("box", 2)


def test_a_state_dir_that_is_missing_or_closed_is_told(state_dir, monkeypatch):
    assert check("State dir").word == "readable"
    monkeypatch.setattr(health_host.os, "access", lambda path, mode: not mode & health_host.os.W_OK)
    assert check("State dir").word == "read only"
    monkeypatch.setattr(health_host.os, "access", lambda path, mode: False)
    assert check("State dir").word == "not readable"
    state_dir.rmdir()
    assert (check("State dir").word, check("State dir").tone) == ("not there yet", "warn")


def test_a_broken_configuration_is_told(state_dir):
    (state_dir / "openclaw.json").write_text("{agents: [")
    found = check("Agents")
    assert (found.tone, found.word) == ("bad", "openclaw.json is broken")
    assert found.says


def test_a_program_that_is_not_there_is_no_fault_but_told(settings):
    settings.OPENCLAW_BIN = "no-such-program-here"
    found = check("OpenClaw program")
    assert (found.tone, found.well) == ("idle", True)
    assert "no-such-program-here" in found.says


@pytest.mark.parametrize(("free", "tone"), [(50 * 1024**3, "ok"), (1024**3, "warn"), (100 * 1024**2, "bad")])
def test_room_on_the_disk_has_two_limits(monkeypatch, free, tone):
    usage = type("Usage", (), {"total": 100 * 1024**3, "free": free})
    monkeypatch.setattr(health_host.shutil, "disk_usage", lambda path: usage)
    assert check("Disk").tone == tone


def test_the_database_tells_kind_and_size():
    facts = dict(check("Database").facts)
    assert facts["kind"] in ("SQLite", "PostgreSQL")
    assert facts["size"]


def test_missing_migrations_are_told(monkeypatch):
    assert check("Migrations").tone == "ok"
    monkeypatch.setattr(health_host.MigrationExecutor, "migration_plan", lambda self, leaves: ["one", "two"])
    assert (check("Migrations").tone, check("Migrations").says) == ("bad", "2 steps are missing.")


def test_a_job_is_on_time_late_paused_or_failed():
    now = timezone.now()

    def make(name, **fields):
        row = ensure_schedule(name, "gateway.tasks.forget", minutes=5)
        Schedule.objects.filter(pk=row.pk).update(**fields)

    def ran(key, success):
        Task.objects.create(id=key * 32, name=key, func="x.y", started=now, stopped=now, success=success)
        return key * 32

    ahead = now + timedelta(minutes=3)
    make("a", next_run=ahead, task=ran("a", True))
    make("b", next_run=now - timedelta(minutes=9), task=ran("b", True))
    make("c", next_run=ahead, repeats=0)
    make("d", next_run=ahead, task=ran("d", False))
    make("e", next_run=ahead)
    assert [(line.name, line.word, line.tone) for line in schedule_lines(now)] == [
        ("a", "on time", "ok"),
        ("b", "late by 9 min", "warn"),
        ("c", "paused", "bad"),
        ("d", "failed last time", "bad"),
        ("e", "not run yet", "wait"),
    ]
    assert check("Repeating jobs", now=now).says == "b, c, d"


def test_a_failure_shows_the_last_line_of_its_reason():
    now = timezone.now()
    result = "x : Traceback (most recent call last):\n  File\nValueError: no plan 7\n"
    Failure.objects.create(
        id="f" * 32, name="n", func="plans.tasks.run", started=now, stopped=now, success=False, result=result
    )
    (failure,) = recent_failures()
    assert (failure["func"], failure["problem"]) == ("plans.tasks.run", "ValueError: no plan 7")


def test_an_open_page_is_told_only_when_a_word_changes(viewer):
    alive()
    ask = {"hx-request": "true", "hx-target": "checks"}
    seen = viewer.get("/health/").context["digest"]
    assert viewer.get(f"/health/?seen={seen}", headers=ask).status_code == 204
    beat(cluster_id="c", host="box", pid=1, workers=2, now=timezone.now() - timedelta(minutes=1))
    html = viewer.get(f"/health/?seen={seen}", headers=ask).content.decode()
    assert "No heartbeat for more than half a minute." in html
    assert "<html" not in html


def test_only_an_administrator_is_led_into_the_admin(client, people):
    for role, there in (("viewer", False), ("administrator", True)):
        client.force_login(people[role])
        assert ('href="/admin/django_q/"' in client.get("/health/").content.decode()) is there


def test_the_liveness_address_tells_a_stranger_nothing_else(client):
    assert client.get("/healthz").json() == {"ok": True, "status": "live"}


def test_messages_that_nobody_confirmed_are_counted_by_what_is_known():
    now = timezone.now()
    assert check("Messages to sessions").word == "none open"

    def message(key, **fields):
        Delivery.objects.create(
            agent_id="ops", session_key="agent:ops:main", text="x", purpose="progress", dedupe_key=key, made_by="t",
            **{"generated_at": now, **fields},
        )  # fmt: skip

    message("a")
    assert (check("Messages to sessions").word, check("Messages to sessions").well) == ("1 wait", True)
    message("b", outcome="failed", attempted_at=now)
    message("c", outcome="unknown", attempted_at=now)
    message("d", outcome="failed", attempted_at=now, generated_at=now - timedelta(days=2))
    message("e", outcome="delivered", attempted_at=now, received_at=now)
    found = check("Messages to sessions")
    assert (found.tone, found.word) == ("warn", "1 failed")
    assert found.says == "Of the last day: 1 not sent yet, 1 failed, 1 of unknown outcome."


def test_what_is_not_well_stands_first_and_leads_to_the_thing(state_dir):
    (state_dir / "openclaw.json").write_text("{,")
    checks = run_checks()
    unwell = [not check.well for check in checks]
    assert unwell == sorted(unwell, reverse=True)
    urls = {check.name: check.url for check in checks}
    assert (urls["Agents"], urls["Messages to sessions"]) == (
        "/agents/",
        "/activity/?tab=events&kind=delivery.",
    )
