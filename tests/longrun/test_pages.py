from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gateway.callers import command_caller
from gateway.models import AuditEntry, Delivery
from longrun.models import Boundary, LongTask
from longrun.services.heartbeat import fail_progress, send_due, send_now, tick
from longrun.services.start import validate_start
from longrun.services.tasks import Report, set_task
from longrun.services.watchdog import run_watchdog

from .conftest import KEY

NAME = "整理合同"


def text_of(response):
    return " ".join(response.content.decode().split())


def test_an_empty_board_says_what_will_appear_and_the_one_thing_to_do(viewer):
    page = text_of(viewer.get("/tasks/"))
    assert "No long-run tasks" in page
    assert "manage.py skills install --agent main" in page


def test_the_board_shows_each_state_with_goal_next_step_and_truths(clock, begin, viewer, agent_caller):
    begin()
    clock.shift(180)
    tick(NAME, caller=agent_caller)
    fail_progress(NAME, caller=agent_caller, error="no such session")
    begin("另一个", state="blocked", stuck_at="登录页", missing="验证码", suggestion="登录一次")
    page = text_of(viewer.get("/tasks/"))
    for words in ("318 份合同的到期表", "核对第 214 份", "attempted once", "登录页", "验证码", "登录一次"):
        assert words in page
    assert page.index("另一个") < page.index(NAME)
    assert 'title="no such session"' in page


def test_the_clock_of_a_card_starts_at_the_last_visible_sign_and_has_its_limits(clock, begin, viewer):
    begin(progress_every="3m")
    for seconds, tone, shown in ((180, "ok", "00:03:00"), (1, "warn", "00:03:01"), (420, "bad", "00:10:01")):
        clock.shift(seconds)
        page = text_of(viewer.get("/tasks/"))
        assert f'data-warn="180000" data-bad="600000" data-tone="{tone}"' in page
        assert f'<span class="nums">{shown}</span>' in page


def test_the_agent_switch_limits_the_board(begin, viewer, shell):
    begin("mine")
    begin("theirs", caller=shell, origin_session_key="agent:ops:main")
    page = text_of(viewer.get("/tasks/?agent=ops"))
    assert "theirs" in page
    assert "mine" not in page


def test_a_state_is_read_page_by_page(clock, begin, viewer):
    for number in range(33):
        begin(f"task-{number:02}")
        clock.shift(1)
    first = viewer.get("/tasks/?state=executing")
    page = text_of(first)
    assert page.count("task-card found") + page.count('class="panel task-card"') == 30
    assert "task-32" in page and "task-02" not in page
    cursor = first.context["cursor"]
    page = text_of(viewer.get("/tasks/", {"state": "executing", "before": cursor}))
    assert all(name in page for name in ("task-02", "task-01", "task-00"))
    assert "task-03" not in page


@pytest.mark.parametrize("query", ["state=executing&before=x~y", "state=executing&before=2026~", "before=~~"])
def test_a_broken_cursor_is_the_first_page(begin, viewer, query):
    begin()
    assert NAME in text_of(viewer.get(f"/tasks/?{query}"))


def test_an_unknown_state_is_not_found(viewer):
    assert viewer.get("/tasks/?state=running").status_code == 404


def test_the_board_makes_the_same_queries_with_hundreds_of_tasks(db, begin, viewer):
    def count():
        with CaptureQueriesContext(connection) as captured:
            viewer.get("/tasks/")
        return len(captured)

    task = begin()
    few = count()
    rows = [
        LongTask(agent_id="main", name=f"t{number}", state=state, origin_session_key=KEY, last_delivery=None)
        for number, state in enumerate(["executing", "blocked", "waiting", "done"] * 80)
    ]
    LongTask.objects.bulk_create(rows)
    many = count()
    assert many - few <= 3  # one for each state that is there now and was not
    assert task.pk


def test_polling_answers_204_until_something_happened(clock, begin, viewer, agent_caller):
    task = begin()
    one = f"/tasks/{task.pk}/"
    for address, region in (("/tasks/", "board"), (one, "task-live"), (one, "task-timeline")):
        headers = {"HX-Request": "true", "HX-Target": region}
        mark = viewer.get(address).context["mark"]
        assert viewer.get(address, {"mark": mark}, headers=headers).status_code == 204
        clock.shift(1)
        tick(NAME, caller=agent_caller, step="one more")
        answer = viewer.get(address, {"mark": mark}, headers=headers)
        assert answer.status_code == 200
        assert f'id="{region}"' in answer.content.decode()
        assert "<html" not in answer.content.decode()


def test_the_page_of_a_task_shows_its_timeline_with_tries_and_reasons(clock, begin, viewer, agent_caller):
    task = begin()
    clock.shift(180)
    tick(NAME, caller=agent_caller)
    fail_progress(NAME, caller=agent_caller, error="<b>no</b> such session")
    page = text_of(viewer.get(f"/tasks/{task.pk}/"))
    assert "&lt;b&gt;no&lt;/b&gt; such session" in page
    assert "<b>no</b>" not in page
    assert "2026-11-30 12:03:00" in page
    assert "1 of 3 heartbeats in a row" in page


def test_not_bound_yet_stands_on_the_page_until_the_start_is_validated(clock, begin, viewer, agent_caller):
    task = begin()
    assert "not bound yet" in text_of(viewer.get(f"/tasks/{task.pk}/"))
    validate_start(NAME, expect_session_key=KEY, caller=agent_caller)
    page = text_of(viewer.get(f"/tasks/{task.pk}/"))
    assert "not bound yet" not in page
    assert "bound" in page


def test_a_lost_task_shows_the_claim_beside_what_was_seen(clock, begin, viewer):
    task = begin(quiet_limit="20m")
    clock.shift(1201)
    page = text_of(viewer.get(f"/tasks/{task.pk}/"))
    assert "says it is executing" in page
    assert "no sign of life since 11-30 12:00" in page


def test_a_message_without_a_transport_is_said_to_be_generated_only(clock, begin, reviewer):
    task = begin()
    page = text_of(reviewer.post(f"/tasks/{task.pk}/progress/", follow=True))
    assert "There is no way to send it" in page
    assert "Generated only" in page
    assert Delivery.objects.get().outcome == ""


def test_send_progress_now_tells_what_became_of_it(clock, begin, reviewer, program):
    task = begin()
    program('echo \'{"error": {"message": "no such session"}}\'; exit 1')
    page = text_of(reviewer.post(f"/tasks/{task.pk}/progress/", follow=True))
    assert "The progress was not received: no such session" in page
    program()
    page = text_of(reviewer.post(f"/tasks/{task.pk}/progress/", follow=True))
    assert "The progress was received in the session." in page


def test_marking_waiting_in_its_three_forms(clock, begin, reviewer):
    for number, fields in enumerate(
        (
            {"waiting_kind": "external", "waiting_for": "财务部"},
            {"waiting_kind": "wakeup", "next_check": "明天9点"},
            {"waiting_kind": "background", "next_check": "10m"},
        )
    ):
        task = begin(f"t{number}")
        data = {f"waiting-{name}": value for name, value in fields.items()}
        answer = reviewer.post(f"/tasks/{task.pk}/waiting/", data)
        assert (answer.status_code, answer.url) == (302, f"/tasks/{task.pk}/")
        task.refresh_from_db()
        assert (task.state, task.waiting_kind) == ("waiting", fields["waiting_kind"])


def test_a_refused_action_keeps_what_was_typed_and_says_why_beside_it(begin, reviewer):
    task = begin()
    data = {"waiting-waiting_kind": "wakeup", "waiting-next_check": "soon", "waiting-why": "我写的话"}
    answer = reviewer.post(f"/tasks/{task.pk}/waiting/", data)
    assert answer.status_code == 422
    page = text_of(answer)
    assert "“soon” cannot be read as a time" in page
    assert "我写的话" in page
    task.refresh_from_db()
    assert task.state == "executing"


def test_blocking_needs_its_three_answers(begin, reviewer):
    task = begin()
    answer = reviewer.post(f"/tasks/{task.pk}/blocked/", {"blocked-stuck_at": "登录页"})
    assert answer.status_code == 422
    assert "登录页" in answer.content.decode()
    data = {"blocked-stuck_at": "登录页", "blocked-missing": "验证码", "blocked-suggestion": "登录一次"}
    assert reviewer.post(f"/tasks/{task.pk}/blocked/", data).status_code == 302
    task.refresh_from_db()
    assert (task.state, task.missing) == ("blocked", "验证码")


def test_handing_off_goes_to_the_boundarys_session_and_tells_both(begin, reviewer, program):
    calls = program()
    task = begin()
    assert "No boundary is set up yet" in text_of(reviewer.get(f"/tasks/{task.pk}/"))
    Boundary.objects.create(name="运维", session_key="agent:ops:main")
    reviewer.post(f"/tasks/{task.pk}/handoff/", {"handoff-boundary": "运维"})
    task.refresh_from_db()
    assert (task.state, task.target_session_key) == ("handoff", "agent:ops:main")
    sent = calls.read_text()
    assert '"key": "agent:ops:main"' in sent
    assert '"key": "agent:main:main"' in sent
    assert task.last_delivery.purpose == "handoff"


def test_boundaries_are_set_up_in_the_admin_and_every_edit_is_in_the_trail(administrator):
    add, rows = "/admin/longrun/boundary/add/", Boundary.objects
    assert administrator.post(add, {"name": "运维", "session_key": "the ops session"}).status_code == 200
    assert rows.count() == 0
    assert administrator.post(add, {"name": "运维", "session_key": "agent:ops:main"}).status_code == 302
    page = f"/admin/longrun/boundary/{rows.get().pk}"
    administrator.post(f"{page}/change/", {"name": "运维", "session_key": "agent:ops:other"})
    assert rows.get().session_key == "agent:ops:other"
    administrator.post(f"{page}/delete/", {"post": "yes"})
    trail = AuditEntry.objects.filter(action__startswith="boundary.").order_by("pk")
    assert [(entry.action, entry.subject, entry.actor) for entry in trail] == [
        (f"boundary.{verb}", "运维", "administrator") for verb in ("make", "change", "remove")
    ]


def test_a_person_means_the_clock_that_the_page_shows_them(clock, begin, reviewer, people):
    task = begin()
    people["reviewer"].time_zone = "Asia/Shanghai"
    people["reviewer"].save()
    data = {"waiting-waiting_kind": "wakeup", "waiting-next_check": "2026-12-02 09:00"}
    assert reviewer.post(f"/tasks/{task.pk}/waiting/", data).status_code == 302
    task.refresh_from_db()
    assert task.next_check_at.isoformat() == "2026-12-02T01:00:00+00:00"


def test_why_nothing_arrived_is_told_in_the_readers_language(clock, begin, reviewer, program, settings):
    settings.DELIVERY_TIMEOUT_SECONDS = 1
    tried, untried = begin("tried", quiet_limit="1h"), begin("untried", quiet_limit="1h")
    clock.shift(300)
    program("sleep 5")
    send_now(tried, caller=command_caller())
    settings.OPENCLAW_BIN = "no such program"
    send_due()
    clock.shift(301)
    send_due()
    assert LongTask.objects.get(name="tried").last_progress_error == (
        "No answer within 1 seconds; it may still arrive."
    )
    reviewer.cookies["django_language"] = "zh-hans"
    page = text_of(reviewer.get(f"/tasks/{tried.pk}/"))
    assert "1 秒" in page
    assert "No answer" not in page
    page = text_of(reviewer.get(f"/tasks/{untried.pk}/"))
    assert "当时没有可用的发送途径" in page
    assert "no transport" not in page


def test_resuming_a_blocked_task_sends_the_words_of_the_person(begin, reviewer, program):
    calls = program()
    task = begin(state="blocked", stuck_at="a", missing="b", suggestion="c")
    reviewer.post(f"/tasks/{task.pk}/resume/", {"resume-note": "从第 215 份继续", "resume-why": "验证码已发"})
    task.refresh_from_db()
    assert (task.state, task.note, task.tool_failures) == ("executing", "从第 215 份继续", 0)
    assert "验证码已发" in calls.read_text()


def test_done_from_blocked_needs_the_reason(begin, reviewer):
    task = begin(state="blocked", stuck_at="a", missing="b", suggestion="c")
    assert reviewer.post(f"/tasks/{task.pk}/done/", {}).status_code == 422
    assert reviewer.post(f"/tasks/{task.pk}/done/", {"done-why": "手工完成"}).status_code == 302
    task.refresh_from_db()
    assert task.state == "done"


def test_a_persons_change_is_told_to_the_session_once(begin, reviewer, program):
    calls = program()
    task = begin()
    for _ in range(2):
        reviewer.post(f"/tasks/{task.pk}/done/", {})
    assert len(calls.read_text().splitlines()) == 1
    assert "负责人把任务状态改为 done" in calls.read_text()


def test_a_viewer_sees_no_actions_and_may_not_act(begin, viewer):
    task = begin()
    assert "Send progress now" not in viewer.get(f"/tasks/{task.pk}/").content.decode()
    for action in ("progress", "waiting", "blocked", "handoff", "resume", "done"):
        assert viewer.post(f"/tasks/{task.pk}/{action}/", {}).status_code == 403
    task.refresh_from_db()
    assert task.state == "executing"


def test_an_unknown_action_is_not_found(begin, reviewer):
    task = begin()
    assert reviewer.post(f"/tasks/{task.pk}/explode/", {}).status_code == 404
    assert reviewer.get("/tasks/999999/").status_code == 404


def test_a_long_timeline_goes_on_before_its_last_event(clock, begin, viewer, agent_caller):
    task = begin()
    for number in range(70):
        clock.shift(1)
        tick(NAME, caller=agent_caller, step=f"step-{number:02}")
    first = viewer.get(f"/tasks/{task.pk}/")
    page = text_of(first)
    assert "step-60" in page and "step-09" not in page
    page = text_of(viewer.get(f"/tasks/{task.pk}/", {"before": first.context["cursor"]}))
    assert "step-09" in page and "step-60" not in page


def test_lost_and_blocked_tasks_stand_on_the_home_page(clock, begin, viewer):
    begin()
    clock.shift(601)
    run_watchdog()
    page = text_of(viewer.get("/"))
    assert NAME in page
    assert ">lost<" in page.replace("> ", ">").replace(" <", "<")


def test_html_in_every_text_of_a_task_is_inert(db, clock, agent_caller, viewer, administrator):
    evil = "<script>alert(1)</script>"
    report = Report(
        origin_session_key=KEY, session=evil, goal=evil, done_when=evil, blocked_when=evil, boundary=evil, note=evil,
        focus=evil, confirmed=evil, stuck_at=evil, missing=evil, suggestion=evil,
    )  # fmt: skip
    task = set_task(evil, state="blocked", report=report, caller=agent_caller)
    for address in ("/tasks/", f"/tasks/{task.pk}/", "/", f"/admin/longrun/longtask/{task.pk}/change/"):
        assert "<script>alert" not in administrator.get(address).content.decode(), address


def test_the_admin_shows_tasks_read_only_and_clears_through_the_service(begin, administrator):
    task = begin()
    assert administrator.get("/admin/longrun/longtask/").status_code == 200
    page = administrator.get(f"/admin/longrun/longtask/{task.pk}/change/").content.decode()
    assert "_save" not in page
    data = {"action": "clear", "_selected_action": [task.pk]}
    administrator.post("/admin/longrun/longtask/", data)
    assert LongTask.objects.count() == 0


def test_a_boundary_needs_a_real_session_key(administrator):
    for key, count in (("主会话", 0), ("agent:ops:main", 1)):
        administrator.post("/admin/longrun/boundary/add/", {"name": "运维", "session_key": key, "about": ""})
        assert Boundary.objects.count() == count


def test_ages_on_the_page_are_of_now(begin, viewer):
    task = begin()
    LongTask.objects.filter(pk=task.pk).update(updated_at=timezone.now() - timedelta(hours=3))
    assert "3 h ago" in text_of(viewer.get(f"/tasks/{task.pk}/"))
