import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from plans.models import Plan, Run
from plans.services import lifecycle
from plans.services.revisions import follow_file
from plans.services.running import execute_run
from tests.plans.world import text_of, write_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("roster")]


def act(client, plan: Plan, action: str, **fields):
    return client.post(reverse("plans:act", args=[plan.uid, action]), fields)


def page_of(client, plan: Plan) -> str:
    return text_of(client.get(plan.get_absolute_url()))


def test_it_says_who_confirmed_what_and_when(confirmed, viewer):
    said = page_of(viewer, confirmed)
    assert "This very text is confirmed and scheduled." in said
    assert "by reviewer, revision 1" in said
    assert confirmed.current.file_digest[:8] in said
    assert "isolated" in said
    assert "agentTurn" in said


@pytest.mark.parametrize(
    ("outcome", "fields", "words"),
    [
        ("ok", {"outputs_found": True, "outputs": [{"path": "x"}]}, "Done; step 4 found 1 archived output."),
        ("ok", {"outputs_found": False}, "step 4 found no archived output"),
        (
            "timeout",
            {},
            "still going at the time limit of 15 minutes. It may still run; it is not tried again.",
        ),
        (
            "missed",
            {"reason": "The clock was off at this time."},
            "Missed: nothing ran at this time. The clock was off",
        ),
        (
            "skipped",
            {"reason": "The run before it was still going."},
            "Skipped. The run before it was still going.",
        ),
        ("held", {}, "PLAN.md was not what was confirmed: nothing was executed."),
        ("interrupted", {}, "Interrupted: the worker was gone before it ended."),
        ("stopped", {}, "Stopped by a person."),
        ("error", {"reason": "No runner is set up."}, "No runner is set up."),
    ],
)
def test_every_outcome_is_told_in_words(confirmed, viewer, outcome, fields, words):
    write_run(confirmed, outcome, **fields)
    assert words in page_of(viewer, confirmed)


def test_an_ok_run_without_output_is_not_shown_as_simply_ok(confirmed, viewer):
    write_run(confirmed, "ok", outputs_found=False)
    html = viewer.get(confirmed.get_absolute_url()).content.decode()
    assert '<span class="pill warn">ok, nothing archived</span>' in html


def test_a_run_in_back_off_says_when_it_is_tried_again(confirmed, viewer):
    Run.objects.create(
        plan=confirmed,
        confirmation=confirmed.confirmations.get(),
        due_at=timezone.now(),
        attempts=1,
        code="BACK_OFF",
        reason="The gateway did not answer. Next try in 30 s.",
        not_before=timezone.now() + timedelta(seconds=30),
    )
    assert "Will be tried again: The gateway did not answer. Next try in 30 s." in page_of(viewer, confirmed)


def test_failures_in_a_row_and_the_pause_they_lead_to_are_said(confirmed, viewer, later):
    Plan.objects.filter(pk=confirmed.pk).update(failures=4)
    assert "4 runs failed in a row; at 5 the plan pauses itself." in page_of(viewer, confirmed)
    lifecycle.count_outcome(confirmed, "error", caller=later())
    said = page_of(viewer, confirmed)
    assert "paused" in said
    assert "Paused itself after 5 failed runs in a row." in said


def test_pause_says_what_it_does_and_keeps_the_reason(confirmed, reviewer):
    assert "No due time counts until somebody resumes it." in page_of(reviewer, confirmed)
    act(reviewer, confirmed, "pause", reason="Holidays.")
    said = page_of(reviewer, confirmed)
    assert "paused" in said
    assert "Holidays." in said
    act(reviewer, confirmed, "resume")
    confirmed.refresh_from_db()
    assert confirmed.state == "active"


def test_run_now_queues_one_run_and_opens_it(confirmed, reviewer):
    answer = act(reviewer, confirmed, "run")
    run = Run.objects.get()
    assert answer.url == run.get_absolute_url()
    assert run.trigger == "manual"
    again = act(reviewer, confirmed, "run")
    assert again.status_code == 422
    assert "A run of this plan is still going." in text_of(again)
    assert Run.objects.count() == 1


def test_a_run_that_is_going_on_is_stopped_from_the_plan(confirmed, reviewer):
    act(reviewer, confirmed, "run")
    assert "Stop the run" in page_of(reviewer, confirmed)
    answer = act(reviewer, confirmed, "stop")
    run = Run.objects.get()
    assert answer.url == run.get_absolute_url()
    assert run.outcome == "stopped"
    assert "Stopped by reviewer before it started." in text_of(reviewer.get(answer.url))


def test_retiring_is_final_and_leaves_no_action(confirmed, reviewer):
    act(reviewer, confirmed, "retire")
    page = reviewer.get(confirmed.get_absolute_url())
    assert page.context["actions"] == []
    assert "Retired: nothing of it runs again." in text_of(page)


def test_an_unknown_action_is_not_found(confirmed, reviewer):
    assert act(reviewer, confirmed, "destroy").status_code == 404


def test_an_unconfirmed_plan_cannot_be_run_by_a_raw_post(written, reviewer):
    answer = act(reviewer, written, "run")
    assert answer.status_code == 422
    assert "Only a plan whose present text is confirmed can run." in text_of(answer)
    assert not Run.objects.exists()


def test_a_held_plan_shows_the_difference_and_what_to_do(confirmed, plan_file, reviewer):
    before = plan_file.read_text()
    plan_file.write_text(before.replace("check the build", "check the tests"))
    reviewer.post(reverse("plans:look", args=[confirmed.uid]))
    page = reviewer.get(confirmed.get_absolute_url())
    said = text_of(page)
    assert "This plan is held" in said
    assert "Nothing was executed, and nothing will be until somebody decides." in said
    assert "Put revision 1 back into the file" in said
    assert "<ins>tests</ins>" in page.content.decode()
    confirmed.refresh_from_db()
    reviewer.post(reverse("plans:restore", args=[confirmed.uid, 1]), {"seen": confirmed.current.file_digest})
    confirmed.refresh_from_db()
    assert plan_file.read_text() == before
    assert confirmed.state == "awaiting"


def test_rules_for_bad_days_are_changed_without_a_new_confirmation(confirmed, reviewer):
    address = reverse("plans:settings", args=[confirmed.uid])
    reviewer.post(address, {"missed": "skip", "time_limit": "60", "rerun_interrupted": "on"})
    confirmed.refresh_from_db()
    assert (confirmed.missed, confirmed.time_limit, confirmed.rerun_interrupted) == ("skip", 60, True)
    assert confirmed.state == "active"
    refused = reviewer.post(address, {"missed": "skip", "time_limit": "5"})
    assert refused.status_code == 422
    assert "The time limit is 10 seconds to 24 hours." in text_of(refused)


def test_sending_each_result_to_the_session_is_a_choice_told_in_words(confirmed, reviewer):
    assert "Stays here; nothing is sent." in page_of(reviewer, confirmed)
    address = reverse("plans:settings", args=[confirmed.uid])
    reviewer.post(address, {"missed": "run_once", "time_limit": "900", "announce": "on"})
    assert "Sent to the session of the plan; each run shows whether it arrived." in page_of(
        reviewer, confirmed
    )


def test_any_two_revisions_have_a_page_of_their_difference(confirmed, plan_file, viewer, reviewer, later):
    plan_file.write_text(plan_file.read_text().replace("check the build", "check the tests"))
    reviewer.post(reverse("plans:look", args=[confirmed.uid]))
    for address in (
        reverse("plans:diff", args=[confirmed.uid, 1, 2]),
        reverse("plans:diff", args=[confirmed.uid, 2, 1]),
        reverse("plans:diff", args=[confirmed.uid, 1, 2]) + "?view=split",
    ):
        html = viewer.get(address).content.decode()
        assert "<ins>" in html
        assert "<del>" in html
    assert viewer.get(reverse("plans:diff", args=[confirmed.uid, 1, 9])).status_code == 404
    chosen = viewer.get(reverse("plans:compare", args=[confirmed.uid]), {"old": "1", "new": "2"})
    assert chosen.url == reverse("plans:diff", args=[confirmed.uid, 1, 2])


def test_a_revision_keeps_its_text_and_its_confirmation(confirmed, plan_file, viewer):
    address = reverse("plans:revision", args=[confirmed.uid, 1])
    said = text_of(viewer.get(address))
    assert "confirmed" in said
    assert confirmed.current.file_digest in said
    assert plan_file.read_text().split("\n")[0] in text_of(viewer.get(address + "?tab=raw"))


def test_a_viewer_sees_no_actions(confirmed, viewer):
    html = viewer.get(confirmed.get_absolute_url()).content.decode()
    assert "/do/" not in html
    assert "Change these rules" not in html


def test_an_administrator_gets_from_page_to_admin_and_back(confirmed, administrator):
    html = administrator.get(confirmed.get_absolute_url()).content.decode()
    address = reverse("admin:plans_plan_change", args=[confirmed.pk])
    assert address in html
    back = re.search(r'href="(/admin/r/\d+/\d+/)"', administrator.get(address).content.decode())
    assert back is not None
    assert administrator.get(back[1]).url.endswith(confirmed.get_absolute_url())


def test_a_text_that_nobody_confirmed_is_not_called_the_promise(confirmed, plan_file, viewer, later):
    assert "The promise revision 1" in text_of(viewer.get(confirmed.get_absolute_url()))
    plan_file.write_text(plan_file.read_text().replace("check the build", "delete the build"))
    follow_file(confirmed, caller=later())
    said = text_of(viewer.get(confirmed.get_absolute_url()))
    assert "The text now not confirmed revision 2" in said
    assert "The promise" not in said


def test_the_page_of_an_active_plan_says_that_the_disk_is_newer(confirmed, plan_file, viewer, reviewer):
    assert "PLAN.md on the disk is newer" not in text_of(viewer.get(confirmed.get_absolute_url()))
    plan_file.write_text(plan_file.read_text().replace("check the build", "delete the build"))
    said = text_of(reviewer.get(confirmed.get_absolute_url()))
    assert "PLAN.md on the disk is newer than the revision shown here." in said
    assert "Take up what stands on the disk" in said
    plan_file.unlink()
    reviewer.cookies["django_language"] = "zh-hans"
    assert f"{confirmed.path} 不见了" in text_of(reviewer.get(confirmed.get_absolute_url()))


def test_a_held_plan_whose_confirmed_text_stands_again_says_so_and_offers_nothing_to_put_back(
    confirmed, plan_file, reviewer, later, agent_program
):
    good = plan_file.read_text()
    plan_file.write_text(good.replace("check the build", "delete the build"))
    execute_run(lifecycle.run_now(confirmed, caller=later()).pk)
    pages = [confirmed.get_absolute_url(), reverse("plans:review", args=[confirmed.uid])]
    for address in pages:
        assert "Put revision 1 back" in text_of(reviewer.get(address))
    plan_file.write_text(good)
    follow_file(Plan.objects.get(pk=confirmed.pk), caller=later())
    for address in pages:
        said = text_of(reviewer.get(address))
        assert "By now the confirmed text stands in the file again" in said
        assert "Put revision 1 back" not in said
