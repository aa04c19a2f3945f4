import re

import pytest
from django.urls import reverse

from gateway.models import AuditEntry
from plans.models import ChangeRequest, Confirmation, Plan, Schedule
from plans.services import lifecycle
from tests.hang import not_hanging
from tests.plans.world import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("roster")]


def at(plan: Plan, name: str = "review", *more) -> str:
    return reverse(f"plans:{name}", args=[plan.uid, *more])


def test_it_shows_promise_schedule_checks_and_hash(written, reviewer):
    page = reviewer.get(at(written))
    said = text_of(page)
    assert "Nothing is scheduled before you confirm this text." in said
    assert "On Monday to Friday at 09:00 (Europe/London)" in said
    assert len(page.context["timing"].expr) > 0
    assert page.content.decode().count("<time datetime=") >= 5
    assert "The first step is the instruction to read this file" in said
    assert written.current.file_digest[:8] in said


def test_confirming_asks_once_and_names_the_revision(written, reviewer):
    page = reviewer.get(at(written) + "?ask=confirm")
    assert f"Confirm revision 1 of “{written.name}”?" in text_of(page)
    assert f'name="digest" value="{written.current.file_digest}"' in page.content.decode()


def test_confirming_makes_the_schedule_and_opens_the_next(written, reviewer, later):
    answer = reviewer.post(at(written, "confirm"), {"digest": written.current.file_digest})
    assert answer.url == written.get_absolute_url()
    confirmation = Confirmation.objects.get()
    assert confirmation.person.username == "reviewer"
    assert confirmation.digest == written.current.file_digest
    assert Schedule.objects.get().session_target == "isolated"


def test_after_a_decision_the_next_item_opens(written, workspace, reviewer, later):
    from plans.services import intakes

    intake = intakes.start_intake("daily at 10 count stars", agent_id="main", caller=later(), zone="UTC")
    intakes.agree_ora(intake, caller=later())
    other = intakes.write_plan(intake, caller=later())
    answer = reviewer.post(at(written, "confirm"), {"digest": written.current.file_digest})
    assert answer.url == at(other)


def test_a_file_that_changed_since_is_refused_with_the_difference(written, plan_file, reviewer):
    seen = written.current.file_digest
    plan_file.write_text(plan_file.read_text().replace("check the build", "delete the build"))
    page = reviewer.post(at(written, "confirm"), {"digest": seen})
    said = text_of(page)
    assert page.status_code == 422
    assert "The plan changed since this page was opened." in said
    assert "Nothing was confirmed and nothing is scheduled." in said
    assert "between revision 1, which you saw, and revision 2" in said
    assert "<ins>delete</ins>" in page.content.decode()
    assert not Schedule.objects.exists()
    assert AuditEntry.objects.filter(action="plan.confirm", outcome="refused").exists()


def test_a_request_about_an_older_text_keeps_the_words(written, plan_file, reviewer):
    seen = written.current.file_digest
    plan_file.write_text(plan_file.read_text().replace("check the build", "check every build"))
    reviewer.post(at(written, "look"))
    page = reviewer.post(at(written, "request_changes"), {"digest": seen, "text": "Name the branch, please."})
    assert page.status_code == 422
    assert "Name the branch, please." in page.content.decode()
    assert "your words are kept below" in text_of(page)
    assert not ChangeRequest.objects.exists()


def test_a_request_shows_the_three_truths(written, reviewer):
    answer = reviewer.post(
        at(written, "request_changes"),
        {
            "digest": written.current.file_digest,
            "text": "Name the branch.",
            "line": "6",
            "comment-6": "Later, please.",
        },
    )
    said = text_of(reviewer.get(answer.url))
    assert "Name the branch." in said
    assert "line 6 Later, please." in said
    assert "generated" in said
    assert "received" in said


def test_an_empty_request_is_refused_beside_the_field(written, reviewer):
    page = reviewer.post(at(written, "request_changes"), {"digest": written.current.file_digest, "text": " "})
    assert page.status_code == 422
    assert "Say what should change." in text_of(page)


def test_a_line_of_the_raw_text_opens_a_comment_on_it(written, reviewer):
    page = reviewer.get(at(written) + "?tab=raw&ask=changes&line=3")
    assert "On line 3" in text_of(page)
    assert page.context["comments"][0]["quote"].startswith("- **Role_Context**")


def test_a_failing_check_names_its_line_and_blocks_confirming(written, plan_file, reviewer):
    plan_file.write_text(plan_file.read_text().replace("- **Status**: Active", "- **Status**: Draft"))
    reviewer.post(at(written, "look"))
    page = reviewer.get(at(written))
    said = text_of(page)
    assert "only an Active plan is scheduled" in said
    assert "line 5" in said
    assert "1 check fails: this text cannot be confirmed yet." in said
    assert "?tab=diff&amp;ask=confirm" not in page.content.decode()
    written.refresh_from_db()
    refused = reviewer.post(at(written, "confirm"), {"digest": written.current.file_digest})
    assert refused.status_code == 422


def test_the_difference_to_the_last_confirmed_text_comes_first(confirmed, plan_file, reviewer):
    plan_file.write_text(plan_file.read_text().replace("check the build", "check the tests"))
    reviewer.post(at(confirmed, "look"))
    page = reviewer.get(at(confirmed))
    said = text_of(page)
    assert page.context["tab"] == "diff"
    assert "Held: nothing runs." in said
    assert "revision 1 → 2" in said
    assert "Revision confirmed by reviewer." in said


def test_a_newer_file_on_the_disk_is_said_and_reading_writes_nothing(written, plan_file, reviewer):
    plan_file.write_text(plan_file.read_text().replace("check the build", "check the tests"))
    page = reviewer.get(at(written))
    assert "PLAN.md on the disk is newer than the revision shown here." in text_of(page)
    assert written.revisions.count() == 1


def test_a_plan_that_is_gone_from_the_disk_is_said(written, plan_file, reviewer):
    plan_file.unlink()
    assert "is gone" in text_of(reviewer.get(at(written)))


def test_the_question_alone_comes_by_htmx(written, reviewer):
    page = reviewer.get(at(written) + "?ask=changes", headers={"HX-Request": "true", "HX-Target": "decide"})
    assert page.content.decode().lstrip().startswith('<footer class="act decide" id="decide">')


def test_a_viewer_sees_no_actions_and_can_decide_nothing(written, viewer):
    page = viewer.get(at(written) + "?ask=confirm")
    html = page.content.decode()
    assert "need the role reviewer" in text_of(page)
    assert 'name="digest"' not in html
    for name in ("confirm", "request_changes", "look", "edit", "set_schedule", "settings"):
        assert viewer.post(at(written, name), {"digest": written.current.file_digest}).status_code == 403
    assert not Schedule.objects.exists()


def test_html_in_a_plan_is_inert(written, plan_file, reviewer):
    plan_file.write_text(
        plan_file.read_text().replace(
            "check the build", "<script>alert(1)</script><img src=x onerror=alert(1)>"
        )
    )
    reviewer.post(at(written, "look"))
    for tab in ("diff", "plan", "raw"):
        html = reviewer.get(at(written) + f"?tab={tab}").content.decode()
        assert "<script>alert" not in html, tab
        assert not re.search(r"<img[^>]*onerror", html), tab


def test_a_retired_plan_offers_no_decision(confirmed, reviewer, later):
    lifecycle.retire_plan(confirmed, caller=later())
    page = reviewer.get(at(confirmed))
    assert "Retired: nothing of it runs again." in text_of(page)
    assert 'data-key="a"' not in page.content.decode()
    assert reviewer.get(at(confirmed, "edit")).status_code == 404


def test_a_text_that_would_hold_the_markdown_parser_is_shown_plain(written, plan_file, reviewer):
    bomb = "[" * 15_000
    plan_file.write_text(plan_file.read_text().replace("check the build", f"check the build {bomb}", 1))
    reviewer.post(at(written, "look"))
    with not_hanging():
        assert reviewer.get(at(written) + "?tab=plan").status_code == 200
        assert reviewer.get(at(written) + "?tab=diff").status_code == 200


def test_the_comment_on_the_line_that_was_chosen_last_has_the_focus(written, reviewer):
    page = reviewer.get(at(written) + "?tab=raw&ask=changes&line=12&line=3")
    html = page.content.decode()
    assert '?tab=raw&amp;ask=changes&amp;line=3&amp;line=12&amp;line=5"' in html
    focused = [tag for tag in re.findall(r"<(?:input|textarea)[^>]*>", html) if "data-focus" in tag]
    assert len(focused) == 1
    assert 'id="comment-3"' in focused[0]


def test_comments_on_two_lines_keep_to_their_lines_whatever_is_left_empty(written, reviewer):
    fields = {
        "digest": written.current.file_digest,
        "line": ["3", "12"],
        "comment-3": "",
        "comment-12": "Why?",
    }
    reviewer.post(at(written, "request_changes"), fields)
    assert ChangeRequest.objects.get().comments == [{"line": 12, "text": "Why?"}]
