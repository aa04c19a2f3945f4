import pytest
from django.urls import reverse

from plans.models import Intake, Plan, Schedule
from tests.plans.world import text_of

pytestmark = pytest.mark.django_db
START = "/plans/new/"


@pytest.fixture
def begun(roster, reviewer) -> Intake:
    reviewer.post(START, {"wish": "每个工作日早上9点，写竞品快报", "agent": "main"})
    return Intake.objects.get()


def test_a_wish_gives_one_draft_with_three_options_and_other_last(begun, reviewer):
    page = reviewer.get(begun.get_absolute_url())
    said = text_of(page)
    for words in ("频率", "交付物", "失败处理"):
        assert words in said
    html = page.content.decode()
    assert html.count("<fieldset") == 3
    assert html.index("失败处理") < html.index("其他：[由用户补充]")
    assert "cron 0 9 * * MON-FRI (UTC)" in said
    assert "drafted by rules" in said


def test_an_english_wish_is_answered_in_english(roster, reviewer):
    reviewer.post(START, {"wish": "every Friday at 4pm list the open tickets", "agent": "main"})
    said = text_of(reviewer.get(Intake.objects.get().get_absolute_url()))
    assert "Other: [your words]" in said
    assert "On Friday at 16:00 (UTC)" in said


def test_an_empty_wish_is_refused_beside_the_field_and_makes_nothing(roster, reviewer):
    page = reviewer.post(START, {"wish": "   ", "agent": "main"})
    assert page.status_code == 422
    assert "Say in a few words what should be done." in text_of(page)
    assert not Intake.objects.exists()


def test_what_was_not_understood_is_said(roster, reviewer):
    reviewer.post(START, {"wish": "now and then look at the weather", "agent": "main"})
    said = text_of(reviewer.get(Intake.objects.get().get_absolute_url()))
    assert "Your words name no rhythm that could be read: choose one below." in said


def test_a_choice_by_htmx_answers_with_the_draft_alone(begun, reviewer):
    page = reviewer.post(
        begun.get_absolute_url(),
        {"frequency": "wished", "deliverable": "table", "failure": "retry", "other": "", "schedule": ""},
        headers={"HX-Request": "true", "HX-Target": "draft"},
    )
    html = page.content.decode()
    assert html.lstrip().startswith('<aside class="panel pad baseline" id="draft">')
    assert "result.json" in html


def test_other_words_become_a_step(begun, reviewer):
    reviewer.post(begun.get_absolute_url(), {"other": "只看官网，不看论坛", "do": "ora"})
    said = text_of(reviewer.get(begun.get_absolute_url() + "?step=ora"))
    assert "只看官网，不看论坛" in said
    assert "Agree on the ORA" in said


def test_a_schedule_that_cannot_be_read_is_refused_beside_its_field_and_stays_typed(begun, reviewer):
    page = reviewer.post(begun.get_absolute_url(), {"schedule": "cron 0 0 30 2 *", "other": "只看官网"})
    assert page.status_code == 422
    assert "names a day that never comes" in text_of(page)
    assert 'value="cron 0 0 30 2 *"' in page.content.decode()
    assert "只看官网" in text_of(page)


def agree(client, intake, **more):
    seen = client.get(intake.get_absolute_url() + "?step=ora").context["seen"]
    return client.post(intake.get_absolute_url() + "?step=ora", {"do": "agree", "seen": seen, **more})


def test_agreeing_writes_the_file_and_schedules_nothing(begun, reviewer, workspace):
    answer = agree(reviewer, begun)
    plan = Plan.objects.get()
    assert answer.url == reverse("plans:review", args=[plan.uid]) + "?tab=plan"
    assert (workspace / plan.path).read_text().startswith(f"### [Task_ID: {plan.task_id}]")
    assert plan.state == "awaiting"
    assert not Schedule.objects.exists()
    assert "Nothing is scheduled before you confirm this text." in text_of(reviewer.get(answer.url))


def test_an_ora_that_changed_meanwhile_is_not_agreed_to(begun, reviewer):
    seen = reviewer.get(begun.get_absolute_url() + "?step=ora").context["seen"]
    reviewer.post(begun.get_absolute_url(), {"deliverable": "table"})
    page = reviewer.post(begun.get_absolute_url() + "?step=ora", {"do": "agree", "seen": seen})
    assert page.status_code == 422
    assert "The draft changed since this page was opened." in text_of(page)
    assert not Plan.objects.exists()


def test_words_typed_over_the_ora_are_shown_before_they_can_be_agreed_to(begun, reviewer):
    answer = agree(reviewer, begun, objective="让销售每天十点前知道价格变化")
    assert answer.url.endswith("?step=ora#ora-title")
    said = text_of(reviewer.get(begun.get_absolute_url() + "?step=ora"))
    assert "让销售每天十点前知道价格变化" in said
    assert not Plan.objects.exists()
    agree(reviewer, begun)
    assert "让销售每天十点前知道价格变化" in Plan.objects.get().current.text


def test_a_text_that_was_not_touched_goes_on_following_the_options(begun, reviewer):
    shown = reviewer.get(begun.get_absolute_url() + "?step=ora").context["words"]
    reviewer.post(begun.get_absolute_url() + "?step=ora", {"do": "words", **shown, "name": "快报"})
    reviewer.post(begun.get_absolute_url(), {"deliverable": "summary"})
    said = text_of(reviewer.get(begun.get_absolute_url() + "?step=ora"))
    assert "快报" in said
    assert "summary.md" in said


def test_a_written_wish_leads_to_its_review(begun, reviewer):
    agree(reviewer, begun)
    assert reviewer.get(begun.get_absolute_url()).url == reverse(
        "plans:review", args=[Plan.objects.get().uid]
    )


def test_a_wish_can_be_dropped(begun, reviewer):
    assert reviewer.post(begun.get_absolute_url(), {"do": "drop"}).url == "/plans/"
    begun.refresh_from_db()
    assert begun.state == "dropped"


def test_html_in_a_wish_is_inert(roster, reviewer):
    reviewer.post(
        START, {"wish": "daily at 9 <script>alert(1)</script> <img src=x onerror=y>", "agent": "main"}
    )
    html = reviewer.get(Intake.objects.get().get_absolute_url()).content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_a_viewer_sees_no_form(roster, viewer):
    assert b'name="wish"' not in viewer.get(START).content


def test_a_file_that_cannot_be_written_is_said_and_can_be_tried_again(begun, reviewer, workspace, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (workspace / "archives").symlink_to(tmp_path / "elsewhere")
    refused = agree(reviewer, begun)
    assert refused.status_code == 422
    assert "symlink" in refused.context["problem"]
    assert refused.context["problem"] in text_of(refused)
    assert not Plan.objects.exists()
    (workspace / "archives").unlink()
    assert agree(reviewer, begun).status_code == 302
    assert Plan.objects.get().state == "awaiting"


def test_an_agent_that_nobody_knows_is_refused_and_the_wish_kept(roster, reviewer):
    page = reviewer.post(START, {"wish": "daily at 9 look around", "agent": "ghost"})
    assert page.status_code == 422
    assert "No workspace is known for agent “ghost”." in text_of(page)
    assert "daily at 9 look around" in page.content.decode()


def test_agreeing_twice_writes_once(begun, reviewer):
    agree(reviewer, begun)
    again = reviewer.post(begun.get_absolute_url() + "?step=ora", {"do": "agree", "seen": "x"})
    assert again.url == reverse("plans:review", args=[Plan.objects.get().uid])
    assert Plan.objects.get().revisions.count() == 1


@pytest.mark.parametrize("wish", ["！！！", "……", " ?? "])
def test_signs_without_a_word_are_no_wish(roster, reviewer, wish):
    page = reviewer.post(START, {"wish": wish, "agent": "main"})
    assert page.status_code == 422
    assert "Say in a few words what should be done." in text_of(page)


def test_a_wish_of_signs_that_an_earlier_version_kept_still_opens(begun, reviewer):
    Intake.objects.update(wish="！！！")
    assert reviewer.get(begun.get_absolute_url()).status_code == 200
