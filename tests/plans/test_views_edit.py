import pytest
from django.urls import reverse

from plans.models import Schedule
from tests.plans.world import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("roster")]


def edit(client, plan, text, *, seen="", do="save"):
    data = {"text": text, "seen": seen or plan.current.file_digest, "do": do}
    return client.post(reverse("plans:edit", args=[plan.uid]), data)


def test_a_saved_text_is_a_new_revision_and_pauses_the_schedule(confirmed, plan_file, reviewer):
    answer = edit(reviewer, confirmed, confirmed.current.text.replace("the build", "all builds"))
    confirmed.refresh_from_db()
    assert answer.url == reverse("plans:review", args=[confirmed.uid])
    assert confirmed.state == "awaiting"
    assert confirmed.current.number == 2
    assert "all builds" in plan_file.read_text()
    assert Schedule.objects.get().next_due_at is None


def test_checking_writes_nothing_and_names_problems_with_their_line(written, plan_file, reviewer):
    before = plan_file.read_text()
    page = edit(reviewer, written, written.current.text.replace("- **Status**: Active\n", ""), do="check")
    said = text_of(page)
    assert "Status is missing." in said
    assert "line 1" in said
    assert plan_file.read_text() == before


def test_a_text_that_is_not_this_entry_is_refused_and_kept(written, plan_file, reviewer):
    before = plan_file.read_text()
    page = edit(reviewer, written, "### [Task_ID: another] Mine\n\n- **Status**: Active\n")
    assert page.status_code == 422
    assert f"beginning with [Task_ID: {written.task_id}]" in text_of(page)
    assert "[Task_ID: another] Mine" in text_of(page)
    assert plan_file.read_text() == before


def test_a_file_that_moved_on_keeps_the_words_and_shows_the_difference(written, plan_file, reviewer):
    seen = written.current.file_digest
    plan_file.write_text(plan_file.read_text().replace("check the build", "check the tests"))
    mine = written.current.text.replace("check the build", "check my build")
    page = edit(reviewer, written, mine, seen=seen)
    html, said = page.content.decode(), text_of(page)
    assert page.status_code == 422
    assert "PLAN.md has changed since this page was opened" in said
    assert "check my build" in html
    assert "<ins>tests</ins>" in html
    assert "check the tests" in plan_file.read_text()
    written.refresh_from_db()
    edit(reviewer, written, mine, seen=written.current.file_digest)
    assert "check my build" in plan_file.read_text()


def test_another_rhythm_changes_that_line_alone(confirmed, plan_file, reviewer):
    before = plan_file.read_text()
    reviewer.post(
        reverse("plans:set_schedule", args=[confirmed.uid]),
        {
            "kind": "cron",
            "value": "30 7 * * SUN",
            "zone": "Asia/Shanghai",
            "seen": confirmed.current.file_digest,
        },
    )
    changed = [
        (old, new)
        for old, new in zip(before.split("\n"), plan_file.read_text().split("\n"), strict=True)
        if old != new
    ]
    assert changed == [
        (
            "- **Schedule**: cron 0 9 * * MON-FRI (Europe/London)",
            "- **Schedule**: cron 30 7 * * SUN (Asia/Shanghai)",
        )
    ]
    confirmed.refresh_from_db()
    assert confirmed.state == "awaiting"


@pytest.mark.parametrize(
    ("kind", "value", "zone", "words"),
    [
        ("cron", "0 0 30 2 *", "UTC", "names a day that never comes"),
        ("every", "10s", "UTC", "at most once a minute"),
        ("at", "2001-01-01 00:00", "UTC", "is already past"),
        ("cron", "0 9 * * *", "Mars/Olympus", "is no time zone"),
    ],
)
def test_a_rhythm_that_cannot_be_kept_is_refused_beside_its_field(
    confirmed, plan_file, reviewer, kind, value, zone, words
):
    before = plan_file.read_text()
    page = reviewer.post(
        reverse("plans:set_schedule", args=[confirmed.uid]),
        {"kind": kind, "value": value, "zone": zone, "seen": confirmed.current.file_digest},
    )
    assert page.status_code == 422
    assert words in text_of(page)
    assert f'value="{value}"' in page.content.decode()
    assert plan_file.read_text() == before
    confirmed.refresh_from_db()
    assert confirmed.state == "active"


def test_a_viewer_gets_no_editor(written, viewer):
    assert viewer.get(reverse("plans:edit", args=[written.uid])).status_code == 403
