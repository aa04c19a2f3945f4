from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from plans.models import Confirmation, Plan, Revision, Run, Schedule
from plans.planfile_write import task_message
from plans.services import decisions, lifecycle
from tests.plans.world import text_of, write_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("roster")]
LIST = "/plans/"


def make_plans(count: int, person) -> None:
    """`count` active plans, each confirmed, scheduled and run once."""
    from django.utils import timezone

    now = timezone.now()
    start = Plan.objects.count()
    numbers = range(start, start + count)
    plans = Plan.objects.bulk_create(
        Plan(agent_id="main", archive_id=f"a{n}", task_id=f"t{n}", name=f"Plan {n}") for n in numbers
    )
    digest = "0" * 64
    texts = Revision.objects.bulk_create(
        Revision(
            plan=plan,
            number=1,
            content=b"x",
            text="x",
            file_digest=digest,
            entry_digest=digest,
            body_digest=digest,
            preamble_digest=digest,
            origin="disk",
            made_by="test",
            created_at=now - timedelta(days=1),
        )
        for plan in plans
    )
    yes = Confirmation.objects.bulk_create(
        Confirmation(plan=text.plan, revision=text, digest=digest, person=person, confirmed_at=now)
        for text in texts
    )
    Schedule.objects.bulk_create(
        Schedule(
            plan=one.plan,
            confirmation=one,
            kind="cron",
            expr="0 9 * * *",
            message=task_message(one.plan.archive_id, one.plan.task_id),
            next_due_at=now + timedelta(hours=1, minutes=n % 60),
        )
        for n, one in enumerate(yes)
    )
    for plan, text in zip(plans, texts, strict=True):
        plan.current, plan.state = text, "active"
    Plan.objects.bulk_update(plans, ["current", "state"], batch_size=200)
    Run.objects.bulk_create(
        Run(
            plan=one.plan,
            confirmation=one,
            due_at=now - timedelta(hours=1),
            status="ended",
            outcome="ok",
            outputs_found=True,
            ended_at=now,
        )
        for one in yes
    )


def test_the_empty_page_starts_an_intake(reviewer):
    page = reviewer.get(LIST)
    assert "No plans yet" in text_of(page)
    assert 'name="wish"' in page.content.decode()


def test_the_empty_page_names_the_agent_it_looked_at(reviewer):
    assert "Looked at agent main" in text_of(reviewer.get(LIST + "?agent=main"))


def test_what_waits_comes_first_and_leads_to_the_review(written, viewer):
    page = viewer.get(LIST)
    said = text_of(page)
    assert "Waits for you 1" in said
    assert "Revision 1 waits for your yes or your changes." in said
    assert reverse("plans:review", args=[written.uid]) in page.content.decode()


def test_a_plan_that_paused_itself_waits_and_says_why(confirmed, viewer, later):
    Plan.objects.filter(pk=confirmed.pk).update(failures=4)
    lifecycle.count_outcome(confirmed, "error", caller=later())
    said = text_of(viewer.get(LIST))
    assert "Waits for you 1" in said
    assert "Paused itself after 5 failed runs in a row." in said


def test_an_active_plan_shows_its_rhythm_and_next_run_on_both_clocks(confirmed, viewer, time_machine):
    time_machine.move_to("2026-07-01T12:00:00Z", tick=False)
    Schedule.objects.update(next_due_at=datetime(2026, 7, 2, 8, tzinfo=UTC))
    viewer.cookies["tz"] = "America/New_York"
    said = text_of(viewer.get(LIST))
    assert "On Monday to Friday at 09:00 (Europe/London)" in said
    assert "Thu 2 Jul, 09:00 04:00 your time" in said


def test_a_due_time_that_nothing_took_is_called_overdue(confirmed, viewer):
    Schedule.objects.update(next_due_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert "overdue: the clock of plans is not running" in text_of(viewer.get(LIST))


def test_each_state_has_its_shelf(confirmed, reviewer, later):
    lifecycle.pause_plan(confirmed, caller=later())
    assert confirmed.name not in text_of(reviewer.get(LIST + "?state=active"))
    assert confirmed.name in text_of(reviewer.get(LIST + "?state=paused"))
    lifecycle.retire_plan(confirmed, caller=later())
    assert confirmed.name in text_of(reviewer.get(LIST + "?state=retired"))
    reviewer.post("/plans/new/", {"wish": "daily at 9 look around", "agent": "main"})
    assert "A wish on its way to a plan" in text_of(reviewer.get(LIST + "?state=drafts"))


def test_a_plan_is_found_by_a_part_of_its_name(confirmed, viewer):
    assert confirmed.name in text_of(viewer.get(LIST + "?words=build"))
    assert "No plan here is called “zebra”." in text_of(viewer.get(LIST + "?words=zebra"))


def test_pages_go_by_key_and_show_every_plan_once(people, viewer):
    make_plans(95, people["reviewer"])
    seen, address, pages = [], LIST, 0
    while address:
        page = viewer.get(address).context["page"]
        seen += [row.plan.task_id for row in page.rows]
        address = f"{LIST}?after={page.cursor.replace('+', '%2B')}" if page.cursor else ""
        pages += 1
    assert pages == 3
    assert sorted(seen) == sorted(f"t{n}" for n in range(95))


@pytest.mark.parametrize("after", ["x", "2026-01-01~1", "9999~", "2026-13-41T00:00:00+00:00~1"])
def test_a_bad_key_shows_the_first_page(confirmed, viewer, after):
    assert confirmed.name in text_of(viewer.get(LIST, {"after": after}))


@pytest.mark.parametrize("address", [LIST, "/plans/calendar/", "/plans/?state=paused"])
def test_many_plans_cost_no_more_queries_than_few(people, viewer, address):
    make_plans(10, people["reviewer"])
    viewer.get(address)
    with CaptureQueriesContext(connection) as few:
        assert viewer.get(address).status_code == 200
    make_plans(120, people["reviewer"])
    with CaptureQueriesContext(connection) as many:
        assert viewer.get(address).status_code == 200
    assert len(many) == len(few)


def test_many_runs_cost_a_plan_no_more_queries(confirmed, viewer):
    write_run(confirmed, "ok", outputs_found=True)
    viewer.get(confirmed.get_absolute_url())
    with CaptureQueriesContext(connection) as few:
        viewer.get(confirmed.get_absolute_url())
    for n in range(60):
        write_run(confirmed, "ok", outputs_found=True, ago=timedelta(hours=2 + n))
    with CaptureQueriesContext(connection) as many:
        viewer.get(confirmed.get_absolute_url())
    assert len(many) == len(few)


def test_runs_go_by_key(confirmed, viewer):
    for n in range(50):
        write_run(confirmed, "ok", outputs_found=True, ago=timedelta(hours=2 + n))
    address = reverse("plans:runs", args=[confirmed.uid])
    first = viewer.get(address).context["page"]
    second = viewer.get(address, {"after": first.cursor}).context["page"]
    assert (len(first.rows), len(second.rows), second.cursor) == (40, 10, "")
    assert first.rows[-1].due_at > second.rows[0].due_at


def test_the_calendar_shows_coming_and_past_runs_of_the_week(confirmed, viewer, time_machine):
    time_machine.move_to("2026-07-01T12:00:00Z", tick=False)  # a Wednesday
    Schedule.objects.update(next_due_at=datetime(2026, 7, 2, 8, tzinfo=UTC))
    write_run(confirmed, "error", reason="It broke.", ago=timedelta(hours=4))
    week = viewer.get("/plans/calendar/?from=2026-06-29").context["week"]
    assert [len(day.past) for day in week.days] == [0, 0, 1, 0, 0, 0, 0]
    assert [len(day.coming) for day in week.days] == [0, 0, 0, 1, 1, 0, 0]
    assert week.days[2].is_today
    assert week.days[3].coming[0].at == datetime(2026, 7, 2, 8, tzinfo=UTC)


def test_a_plan_that_is_due_often_stands_once_a_day(confirmed, viewer, time_machine):
    time_machine.move_to("2026-07-01T12:00:00Z", tick=False)
    Schedule.objects.update(
        kind="cron", expr="*/5 * * * *", next_due_at=datetime(2026, 7, 1, 12, 5, tzinfo=UTC)
    )
    page = viewer.get("/plans/calendar/")
    assert [len(day.coming) for day in page.context["week"].days] == [1] * 7
    assert "every 5 minutes" in text_of(page).lower()


def test_a_full_day_keeps_what_is_near_now_and_counts_the_rest(people, viewer):
    make_plans(90, people["reviewer"])
    page = viewer.get("/plans/calendar/")
    today, tomorrow = page.context["week"].days[:2]
    assert len(tomorrow.coming) == 40
    assert tomorrow.more == 50
    assert len(today.entries) <= 40
    assert "and 50 more" in text_of(page)
    assert "choose one agent above" in text_of(page)


def test_a_day_with_many_runs_of_a_plan_counts_them(confirmed, viewer, time_machine):
    time_machine.move_to("2026-07-01T20:00:00Z", tick=False)
    for n in range(1, 6):
        write_run(confirmed, "error" if n == 2 else "ok", outputs_found=True, ago=timedelta(hours=n))
    said = text_of(viewer.get("/plans/calendar/"))
    assert "5 runs, 1 not well" in said


def test_an_empty_week_says_where_it_looked(viewer):
    said = text_of(viewer.get("/plans/calendar/?from=2030-01-01"))
    assert "No run in these seven days" in said


@pytest.mark.parametrize("start", ["x", "0001-01-01", "9999-12-31", ""])
def test_a_bad_day_shows_today(viewer, start):
    assert viewer.get("/plans/calendar/", {"from": start}).status_code == 200


def test_a_plan_that_was_never_scheduled_stands_among_the_drafts_while_changes_are_asked_for(
    written, later, viewer
):
    decisions.request_changes(written, text="Every hour, please.", caller=later())
    page = viewer.get(reverse("plans:list"), {"state": "drafts"})
    assert page.status_code == 200
    assert f"{written.name} main · changes requested" in text_of(page)
