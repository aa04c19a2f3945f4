import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from gateway.callers import system_caller
from gateway.deliveries import queue_message, report_attempt
from gateway.models import LedgerEvent
from plans.models import Run
from plans.services import lifecycle
from plans.services.announcing import announce_run
from plans.services.running import execute_run
from plans.views.runs import version_of
from tests.plans.world import text_of, write_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("roster")]
POLL = {"HX-Request": "true", "HX-Target": "run"}


@pytest.fixture
def going(confirmed) -> Run:
    return Run.objects.create(
        plan=confirmed,
        confirmation=confirmed.confirmations.get(),
        due_at=timezone.now(),
        status="running",
        started_at=timezone.now(),
        attempts=1,
        seen_at=timezone.now(),
    )


def test_times_stand_on_both_clocks(confirmed, viewer, time_machine):
    time_machine.move_to("2026-07-01T12:00:00Z", tick=False)
    viewer.cookies["tz"] = "Asia/Shanghai"
    run = write_run(confirmed, "ok", outputs_found=True, outputs=[{"path": "x"}])
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "Wed 1 Jul, 12:00 19:00 your time Europe/London" in said
    assert "Took 1 min" in said


def test_outcome_and_delivery_are_two_things(confirmed, viewer, shell):
    sent = queue_message(
        agent_id="main",
        session_key="agent:main:main",
        text="done",
        purpose="run",
        dedupe_key="run-1",
        caller=shell,
    )
    report_attempt(sent, outcome="failed", error="The channel is closed.", caller=shell)
    run = write_run(confirmed, "ok", outputs_found=True, outputs=[{"path": "x"}], delivery=sent)
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "Outcome ok" in said
    assert "not received" in said
    assert "The channel is closed." in said


def test_an_error_can_have_been_delivered_all_the_same(confirmed, viewer, shell):
    sent = queue_message(
        agent_id="main",
        session_key="agent:main:main",
        text="it failed",
        purpose="run",
        dedupe_key="run-2",
        caller=shell,
    )
    report_attempt(sent, outcome="delivered", caller=shell)
    run = write_run(confirmed, "error", reason="It broke.", delivery=sent)
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "Outcome error" in said
    assert "received" in said
    assert "not received" not in said


def test_a_real_turn_shows_its_text_and_its_archived_report_as_a_card(confirmed, agent_program, viewer):
    run = Run.objects.create(
        plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=timezone.now(), trigger="manual"
    )
    execute_run(run.pk)
    page = viewer.get(run.get_absolute_url())
    said = text_of(page)
    run.refresh_from_db()
    assert run.outcome == "ok"
    assert "Done; step 4 found" in said
    assert "outputs are archived" in said
    assert "report.md" in said
    assert "archive_grid" not in said
    assert 'class="card"' in page.content.decode()


def test_an_ok_run_without_archived_output_is_shown_as_such(confirmed, agent_program, viewer, monkeypatch):
    monkeypatch.setenv("AGENT_SILENT", "1")
    run = Run.objects.create(
        plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=timezone.now()
    )
    execute_run(run.pk)
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "ok, nothing archived" in said
    assert "no archived output found" in said


def test_a_poll_answers_204_until_something_changed(going, viewer):
    address = f"{going.get_absolute_url()}?seen={version_of(going)}"
    assert viewer.get(address, headers=POLL).status_code == 204
    Run.objects.filter(pk=going.pk).update(
        status="ended", outcome="error", reason="It broke.", ended_at=timezone.now()
    )
    page = viewer.get(address, headers=POLL)
    html = page.content.decode()
    assert html.lstrip().startswith('<div id="run"')
    assert "It broke." in html
    assert "data-poll" not in html
    assert "data-stream" not in html


def test_a_run_that_is_going_on_is_heard_of_by_its_events_and_by_polling_behind_them(going, viewer):
    html = unescape(viewer.get(going.get_absolute_url()).content.decode())
    stream = urlsplit(html.split('data-stream="')[1].split('"')[0])
    assert stream.path == "/events/stream"
    assert parse_qs(stream.query) == {"kinds": ["run."], "about": [str(going.uid)], "plain": ["1"]}
    assert 'data-poll="5"' in html


def test_every_step_of_a_run_is_an_event_about_it(confirmed, later, agent_program, monkeypatch):
    monkeypatch.setenv("AGENT_EXIT", "75")
    run = lifecycle.run_now(confirmed, caller=later())
    execute_run(run.pk)  # it did not start: a back-off
    Run.objects.filter(pk=run.pk).update(not_before=None)
    monkeypatch.setenv("AGENT_EXIT", "0")
    execute_run(run.pk)
    told = LedgerEvent.objects.filter(subject=str(run.uid)).values_list("kind", flat=True)
    assert list(told.order_by("pk")) == ["run.started", "run.backed_off", "run.started", "run.ended"]


def test_the_page_follows_until_the_result_was_sent_to_the_session(
    confirmed, later, agent_program, viewer, state_dir
):
    lifecycle.change_settings(confirmed, caller=later(), announce=True)
    run = write_run(confirmed, "ok", ago=timedelta(), outputs_found=True, session_key="agent:main:cron:x")
    page = viewer.get(run.get_absolute_url())
    assert "data-poll" in page.content.decode()
    assert "Delivery under way" in text_of(page)
    announce_run(run, caller=system_caller("test"))
    report_attempt(Run.objects.get().delivery, outcome="delivered", caller=system_caller("test"))
    assert LedgerEvent.objects.get(kind="run.announced").subject == str(run.uid)
    after = viewer.get(run.get_absolute_url())
    assert "data-poll" not in after.content.decode()
    assert "under way" not in text_of(after)


def test_a_message_that_nobody_sends_is_not_waited_for_for_ever(confirmed, later, viewer, time_machine):
    lifecycle.change_settings(confirmed, caller=later(), announce=True)
    run = write_run(confirmed, "ok", ago=timedelta(), outputs_found=True, session_key="agent:main:cron:x")
    address = f"{run.get_absolute_url()}?seen={version_of(run)}"
    assert viewer.get(address, headers=POLL).status_code == 204
    time_machine.move_to(timezone.now() + timedelta(minutes=4), tick=False)
    last = viewer.get(address, headers=POLL)
    assert last.status_code == 200
    assert "data-poll" not in last.content.decode()


def test_the_seconds_since_the_start_count_by_themselves(going, viewer):
    Run.objects.filter(pk=going.pk).update(started_at=timezone.now() - timedelta(seconds=3725))
    html = viewer.get(going.get_absolute_url()).content.decode()
    assert re.search(r'data-clock="\d{10}000" data-bad="900000"><span>01:02:0[5-9]</span>', html)


def test_a_run_that_is_going_can_be_stopped(going, reviewer):
    assert reviewer.post(f"{going.get_absolute_url()}stop/").url == going.get_absolute_url()
    going.refresh_from_db()
    assert going.stop_requested_by == "reviewer"
    said = text_of(reviewer.get(going.get_absolute_url()))
    assert "reviewer asked it to stop; it ends within seconds." in said


def test_stopping_what_is_over_is_refused_in_words(confirmed, reviewer):
    run = write_run(confirmed, "ok", outputs_found=True)
    page = reviewer.post(f"{run.get_absolute_url()}stop/")
    assert page.status_code == 422
    assert "This run is over." in text_of(page)


def test_tokens_are_shown_where_the_runner_told_them(confirmed, viewer):
    run = write_run(
        confirmed, "ok", outputs_found=True, usage={"input": 16200, "output": 1830, "model": "m-1"}
    )
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "Tokens in 16,200" in said
    assert "Model m-1" in said
    silent = write_run(confirmed, "ok", outputs_found=True, ago=timedelta(hours=3))
    assert "not told by the runner" in text_of(viewer.get(silent.get_absolute_url()))


def test_what_an_agent_says_is_inert(confirmed, viewer):
    text = '<script>alert(1)</script><a href="javascript:x">y</a><button hx-post="/plans/">z</button>'
    run = write_run(confirmed, "ok", outputs_found=True, text=text)
    html = viewer.get(run.get_absolute_url()).content.decode()
    assert "<script>alert" not in html
    assert "javascript:" not in html
    assert 'hx-post="/plans/"' not in html


def test_a_viewer_cannot_stop(going, viewer):
    assert "Stop this run" not in text_of(viewer.get(going.get_absolute_url()))
    assert viewer.post(f"{going.get_absolute_url()}stop/").status_code == 403


def test_a_run_behind_its_back_off_says_when_it_is_tried_again(
    confirmed, later, agent_program, viewer, monkeypatch
):
    monkeypatch.setenv("AGENT_EXIT", "75")
    run = lifecycle.run_now(confirmed, caller=later())
    execute_run(run.pk)
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "Tried 1×; the next try is at" in said
    assert "Time limit 15 minutes" not in said
    assert re.search(r"The agent did not start: .*\. Next try in 30 s\.", said)


def test_a_held_run_says_once_that_nothing_was_executed_and_that_no_agent_started(
    confirmed, later, agent_program, plan_file, viewer
):
    run = lifecycle.run_now(confirmed, caller=later())
    plan_file.write_text(plan_file.read_text().replace("check the build", "delete the build"))
    execute_run(run.pk)
    said = text_of(viewer.get(run.get_absolute_url()))
    assert "Agent started no" in said
    assert "not told by the runner" not in said
    assert "is not the text that was confirmed; nothing was executed" not in said


def test_who_stopped_a_run_is_said_once(going, viewer):
    reason = "Stopped by Nina."
    Run.objects.filter(pk=going.pk).update(
        status="ended", outcome="stopped", reason=reason, ended_at=timezone.now()
    )
    said = text_of(viewer.get(going.get_absolute_url()))
    assert "Stopped by Nina." in said
    assert "Stopped by a person" not in said


def test_a_run_over_its_time_keeps_the_limit_that_it_had(confirmed, later, viewer):
    reason = "The time limit of 10 s was reached. What the agent had begun may still go on."
    run = write_run(confirmed, "timeout", reason=reason)
    lifecycle.change_settings(confirmed, caller=later(), time_limit=3600)
    said = text_of(viewer.get(run.get_absolute_url()))
    assert f"{reason} It is not tried again." in said
    assert "1 hour" not in said
