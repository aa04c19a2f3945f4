"""Plans in a real browser: from a wish to a confirmed plan, a conflict, the keyboard, a real turn's card."""

import json
import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from plans.models import Plan, Run, Schedule
from plans.services.running import execute_run
from plans.services.ticking import tick
from tests.browser import faults, overflows, shoot

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AGENT = Path(__file__).resolve().parents[1] / "plans" / "agent_program.py"
LOOKS = pytest.mark.parametrize(
    ("lang", "dark", "phone"),
    [("en", False, False), ("zh-hans", True, True)],
    ids=["en-light-desktop", "zh-dark-phone"],
)


@pytest.fixture
def ops(state_dir: Path) -> Path:
    """The workspace of agent `ops`, named by openclaw.json."""
    workspace = state_dir / "workspace-ops"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Soul\n\n先自己想办法，再开口问。\n")
    (workspace / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Mira\n")
    agents = {"list": [{"id": "ops", "name": "Ops", "workspace": str(workspace)}]}
    (state_dir / "openclaw.json").write_text(json.dumps({"agents": agents}))
    return workspace


@pytest.fixture
def agent_program(settings, monkeypatch) -> None:
    """The `command` runner set to our small agent."""
    settings.RUNNER = "command"
    settings.RUNNER_COMMAND = f"{sys.executable} {AGENT} --session {{session}} --message {{message}}"
    monkeypatch.delenv("AGENT_COUNT_FILE", raising=False)


def write_plan(page, wish: str) -> Plan:
    """From the wish to the review page, as a person goes."""
    page.goto("/plans/new/")
    page.fill("#wish", wish)
    page.click("text=Draft a plan")
    page.click("text=Show me the ORA")
    page.click("text=Agree and write PLAN.md")
    page.wait_for_url(re.compile("/review/"))
    return Plan.objects.latest("id")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_a_wish_becomes_a_confirmed_plan(ops, desk, script):
    page = desk("reviewer", script=script)
    page.goto("/plans/")
    page.fill("#wish", "每个工作日早上9点，写一份竞品快报")
    page.click("text=Draft a plan")
    assert page.locator("fieldset legend").all_inner_texts() == ["频率", "交付物", "失败处理"]
    page.check("input[name=deliverable][value=summary]")
    page.fill("#other", "只看官网")
    page.click("text=Show me the ORA")
    assert "summary.md" in page.locator(".ora").inner_text()
    assert "只看官网" in page.locator(".ora").inner_text()
    page.click("text=Agree and write PLAN.md")
    assert "PLAN.md is written. Nothing is scheduled yet" in page.locator("main").inner_text()
    assert not Schedule.objects.exists()
    plan = Plan.objects.get()
    assert (ops / plan.path).is_file()
    page.click("text=Confirm and schedule")
    page.click("text=Yes, confirm revision 1")
    assert "Revision 1 of “" in page.locator("main").inner_text()
    schedule = Schedule.objects.get()
    assert (schedule.session_target, schedule.payload_kind) == ("isolated", "agentTurn")
    assert schedule.message.startswith(
        f"从路径 {plan.path} 中读取 Task_ID: {plan.task_id} 的详细计划并按步骤执行"
    )
    assert page.url.endswith(f"/plans/{plan.uid}/")


def test_the_draft_follows_a_choice_at_once(ops, desk):
    page = desk("reviewer")
    page.goto("/plans/new/")
    page.fill("#wish", "every Friday at 4pm list the open tickets")
    page.click("text=Draft a plan")
    page.check("input[name=deliverable][value=table]")
    page.wait_for_selector("#draft:has-text('result.json')")
    assert page.locator("input[name=deliverable][value=table]").is_checked()


def test_a_phone_confirms_too(ops, desk):
    page = desk("reviewer", phone=True)
    plan = write_plan(page, "daily at 9 check the dashboards")
    assert not overflows(page)
    page.click("text=Confirm and schedule")
    page.wait_for_selector("text=Yes, confirm revision 1")
    assert "every day at 09:00" in page.locator("#decide").inner_text().lower()
    page.click("text=Yes, confirm revision 1")
    page.wait_for_url(f"**/plans/{plan.uid}/")
    assert Plan.objects.get().state == "active"


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_a_conflict_while_reviewing_shows_the_difference_and_keeps_the_words(ops, desk, script):
    page = desk("reviewer", script=script)
    plan = write_plan(page, "daily at 9 check the dashboards")
    page.click("text=Request changes")
    page.fill("#words", "Name the dashboards, please.")
    file = ops / plan.path
    file.write_text(file.read_text().replace("check the dashboards", "delete the dashboards"))
    other = desk("reviewer", script=False)
    other.goto(f"/plans/{plan.uid}/review/")
    other.click("text=Take up what stands on the disk")
    page.click("text=Send the request")
    assert page.input_value("#words") == "Name the dashboards, please."
    assert "your words are kept below" in page.locator(".conflict").inner_text()
    assert page.locator(".conflict ins").first.inner_text() == "delete"
    page.click("text=Send the request")
    assert "Name the dashboards, please." in page.locator(".talk-list").inner_text()


def test_confirming_a_text_that_changed_is_refused_in_sight_of_the_difference(ops, desk):
    page = desk("reviewer")
    plan = write_plan(page, "daily at 9 check the dashboards")
    page.click("text=Confirm and schedule")
    page.wait_for_selector("text=Yes, confirm revision 1")
    file = ops / plan.path
    file.write_text(file.read_text().replace("check the dashboards", "delete the dashboards"))
    page.click("text=Yes, confirm revision 1")
    assert "Nothing was confirmed and nothing is scheduled." in page.locator(".conflict").inner_text()
    assert page.locator(".conflict ins").first.inner_text() == "delete"
    assert not Schedule.objects.exists()


def test_the_queue_is_worked_by_keyboard_alone(ops, desk):
    page = desk("reviewer")
    first = write_plan(page, "daily at 9 check the dashboards")
    second = write_plan(page, "daily at 10 count the stars")
    page.goto("/plans/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/plans/{first.uid}/review/")
    for key, tab in (("f", "raw"), ("h", "history"), ("w", "talk"), ("t", "plan")):
        page.keyboard.press(key)
        # A key that comes before HTMX has seen the new tabs follows the plain link, which says where to look.
        page.wait_for_url(re.compile(rf"\?tab={tab}(#views)?$"))
        page.wait_for_selector(f"#tab-{tab}[aria-current=page]")
    page.keyboard.press("c")
    page.wait_for_url("**#checks")
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("r")
    page.wait_for_selector("#words:focus")
    assert page.evaluate("scrollY") == 0  # the question opens where the buttons were; the text stays
    page.keyboard.type("a r e are only letters here")
    assert page.input_value("#words") == "a r e are only letters here"
    page.goto(f"/plans/{first.uid}/review/")
    queue, object_ = page.locator(".queue").bounding_box(), page.locator("article.obj").bounding_box()
    assert queue["x"] + queue["width"] <= object_["x"] and queue["y"] == object_["y"]
    page.keyboard.press("a")
    page.wait_for_selector("button:focus:has-text('Yes, confirm revision 1')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/plans/{second.uid}/review/")
    page.keyboard.press("?")
    assert "Confirm and schedule" in page.locator("#keys").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    page.wait_for_url(f"**/plans/{second.uid}/edit/")


def test_a_comment_on_a_line_goes_out_with_the_request(ops, desk):
    page = desk("reviewer")
    write_plan(page, "daily at 9 check the dashboards")
    page.click("#tab-raw")
    page.wait_for_selector("#L6")
    page.click("#L6 .ln a")
    page.wait_for_selector("#comment-6")
    page.fill("#comment-6", "Ten is early enough.")
    page.click("text=Send the request")
    page.wait_for_selector(".talk-list")
    assert "line 6" in page.locator(".talk-list").inner_text()
    assert "Ten is early enough." in page.locator(".talk-list").inner_text()


def test_a_scheduled_turn_runs_for_real_and_its_report_is_a_card(ops, desk, agent_program):
    page = desk("reviewer")
    plan = write_plan(page, "every 5 minutes check the dashboards")
    page.click("text=Confirm and schedule")
    page.click("text=Yes, confirm revision 1")
    page.wait_for_url(f"**/plans/{plan.uid}/")
    due = Schedule.objects.get().next_due_at
    tick(now=due)
    run = Run.objects.get()
    page.goto(f"/plans/runs/{run.uid}/")
    assert "Waits for a free worker." in page.locator("main").inner_text()
    execute_run(run.pk)
    page.wait_for_selector("text=Done; step 4 found")
    card = page.locator("details.file", has_text="report.md").first
    card.locator("summary").click()
    page.wait_for_selector("details.file .file-body a:has-text('Open')")
    assert "outputs are archived" in page.locator("main").inner_text()
    assert page.locator("[data-poll]").count() == 0


def test_a_plan_whose_file_changed_is_held_and_can_be_put_back(ops, desk, agent_program):
    page = desk("reviewer")
    plan = write_plan(page, "every 5 minutes check the dashboards")
    page.click("text=Confirm and schedule")
    page.click("text=Yes, confirm revision 1")
    page.wait_for_url(f"**/plans/{plan.uid}/")
    file = ops / plan.path
    good = file.read_text()
    file.write_text(good.replace("check the dashboards", "delete the dashboards"))
    due = Schedule.objects.get().next_due_at
    tick(now=due)
    run = Run.objects.get()
    execute_run(run.pk)
    page.goto(f"/plans/runs/{run.uid}/")
    assert "PLAN.md was not what was confirmed: nothing was executed." in page.locator("main").inner_text()
    page.goto(f"/plans/{plan.uid}/")
    assert page.locator(".note.bad ins").first.inner_text() == "delete"
    page.click("text=Put revision 1 back into the file")
    page.wait_for_url(re.compile("/review/"))
    assert file.read_text() == good
    page.click("text=Confirm and schedule")
    page.click("text=Yes, confirm revision 3")
    page.wait_for_url(f"**/plans/{plan.uid}/")
    assert Plan.objects.get().state == "active"


def test_pause_and_resume_say_what_they_do(ops, desk):
    page = desk("reviewer", script=False)
    plan = write_plan(page, "daily at 9 check the dashboards")
    page.click("text=Confirm and schedule")
    page.click("text=Yes, confirm revision 1")
    page.locator("summary", has_text="Pause").click()
    assert "No due time counts until somebody resumes it." in page.locator("details[open]").inner_text()
    page.fill("#why-pause", "Holidays.")
    page.locator("details[open] button").click()
    assert "Holidays." in page.locator(".plan-head").inner_text()
    assert Plan.objects.get(pk=plan.pk).state == "paused"


@LOOKS
def test_axe_finds_nothing_and_nothing_overflows(ops, desk, agent_program, request, lang, dark, phone):
    kind = request.node.callspec.id
    writer = desk("reviewer", script=False)
    waiting = write_plan(writer, "每周一上午10点，写合同到期表")
    file = ops / waiting.path
    writer.goto(f"/plans/{waiting.uid}/review/?ask=changes&line=6")
    writer.fill("#words", "如果打不开怎么办？")
    writer.click("text=Send the request")
    file.write_text(file.read_text().replace("- **Status**: Active", "- **Status**: Draft"))
    writer.goto(f"/plans/{waiting.uid}/review/")
    writer.click("text=Take up what stands on the disk")
    active = write_plan(writer, "every 5 minutes check the dashboards")
    writer.click("text=Confirm and schedule")
    writer.click("text=Yes, confirm revision 1")
    due = Schedule.objects.get().next_due_at
    tick(now=due)
    done = Run.objects.get()
    execute_run(done.pk)
    going = Run.objects.create(
        plan=active,
        confirmation=active.confirmations.get(),
        due_at=timezone.now() - timedelta(minutes=1),
        status="running",
        started_at=timezone.now(),
    )
    writer.goto("/plans/new/")
    writer.fill("#wish", "每天晚上看看谁在等我回复")
    writer.click("text=Draft a plan")
    intake = writer.url
    pages = {
        "list": "/plans/",
        "drafts": "/plans/?state=drafts",
        "start": "/plans/new/",
        "details": intake,
        "ora": f"{intake}?step=ora",
        "review-diff": f"/plans/{waiting.uid}/review/",
        "review-plan": f"/plans/{waiting.uid}/review/?tab=plan&ask=changes",
        "review-talk": f"/plans/{waiting.uid}/review/?tab=talk",
        "review-raw": f"/plans/{waiting.uid}/review/?tab=raw",
        "review-history": f"/plans/{waiting.uid}/review/?tab=history",
        "edit": f"/plans/{waiting.uid}/edit/",
        "plan": f"/plans/{active.uid}/",
        "diff": f"/plans/{waiting.uid}/diff/1/2/?view=split",
        "revision": f"/plans/{waiting.uid}/revisions/1/",
        "runs": f"/plans/{active.uid}/runs/",
        "run": f"/plans/runs/{done.uid}/",
        "going": f"/plans/runs/{going.uid}/",
        "calendar": "/plans/calendar/",
    }
    page = desk("reviewer", lang=lang, dark=dark, phone=phone)
    for name, url in pages.items():
        page.goto(url)
        shoot(page, f"plans-{name}-{kind}")
        assert faults(page) == [], url
        assert not overflows(page), url
