import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway import audit
from gateway.callers import Caller, command_caller
from gateway.events import publish
from gateway.models import AuditEntry, LedgerEvent
from longrun.models import LongTask
from longrun.words import EVENTS
from openclaw_web.ledger_words import in_words
from workshop.models import Event

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
LIN = Caller(kind="person", label="lin", address="192.0.2.7", request_id="r1")


def body(client, address, **headers) -> str:
    return client.get(address, headers=headers).content.decode()


def test_a_decision_shows_who_what_from_where_on_which_text_and_why(viewer):
    audit.record(LIN, "plan.confirm", subject="Morning report", digest="ab" * 32, reason="read twice")
    html = body(viewer, "/activity/")
    for part in (
        "Confirm a plan",
        "plan.confirm",
        "Morning report",
        "lin",
        "192.0.2.7",
        "ab" * 32,
        "read twice",
    ):
        assert part in html


def test_outcomes_have_a_word_and_a_tone(viewer):
    audit.record(LIN, "a.b", outcome="refused")
    audit.record(LIN, "a.c", outcome="failed")
    html = body(viewer, "/activity/")
    assert '<span class="pill warn">refused</span>' in html
    assert '<span class="pill bad">failed</span>' in html


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("kind=plan.", {"plan.confirm", "plan.edit"}),
        ("actor=MEI", {"plan.edit"}),
        ("outcome=refused", {"token.make"}),
        ("outcome=nonsense", {"plan.confirm", "plan.edit", "token.make"}),
        ("day=2026-11-29", {"token.make"}),
        ("day=not-a-day", {"plan.confirm", "plan.edit", "token.make"}),
        ("kind=plan.&actor=lin", {"plan.confirm"}),
    ],
)
def test_each_filter_narrows_and_an_unreadable_one_does_not(viewer, query, shown):
    audit.record(LIN, "plan.confirm")
    audit.record(Caller(kind="person", label="mei"), "plan.edit")
    row = audit.record(LIN, "token.make", outcome="refused")
    AuditEntry.objects.filter(pk=row.pk).update(at=datetime(2026, 11, 29, 23, 59, tzinfo=UTC))
    html = body(viewer, f"/activity/?{query}")
    assert {name for name in ("plan.confirm", "plan.edit", "token.make") if name in html} == shown


def test_a_day_is_the_readers_day(viewer, people):
    row = audit.record(LIN, "plan.confirm")
    AuditEntry.objects.filter(pk=row.pk).update(at=datetime(2026, 11, 29, 17, 0, tzinfo=UTC))
    people["viewer"].time_zone = "Asia/Shanghai"
    people["viewer"].save()
    assert "plan.confirm" in body(viewer, "/activity/?day=2026-11-30")
    assert "plan.confirm" not in body(viewer, "/activity/?day=2026-11-29")


def test_one_agent_is_shown_with_what_belongs_to_no_agent(viewer):
    for agent in ("main", "ops", ""):
        publish(f"archive.of_{agent or 'nobody'}", agent_id=agent)
    html = body(viewer, "/activity/?tab=events&agent=main")
    assert "archive.of_main" in html
    assert "archive.of_nobody" in html
    assert "archive.of_ops" not in html


def test_pages_go_by_key_and_lose_nothing_while_new_rows_come(viewer):
    for number in range(60):
        publish(f"step.n{number:02}")
    first = viewer.get("/activity/?tab=events")
    page = first.context["page"]
    assert [line.what for line in page.lines][:2] == ["step.n59", "step.n58"]
    assert len(page.lines) == 50
    publish("step.late")
    second = viewer.get(f"/activity/?tab=events&before={page.older}")
    assert [line.what for line in second.context["page"].lines] == [
        f"step.n{number:02}" for number in range(9, -1, -1)
    ]
    assert second.context["page"].older is None


def test_an_open_page_is_told_only_when_something_came(viewer):
    publish("a.first")
    newest = LedgerEvent.objects.get().pk
    ask = {"hx-request": "true", "hx-target": "news"}
    address = f"/activity/?tab=events&since={newest}"
    assert viewer.get(address, headers=ask).status_code == 204
    publish("a.second")
    publish("a.third")
    answer = viewer.get(address, headers=ask)
    html = answer.content.decode()
    assert "2 new lines" in html
    assert f"since={newest}" in html
    assert "<html" not in html


def test_what_an_agent_wrote_is_inert(viewer):
    audit.record(
        Caller(kind="token", label='<img src=x onerror="alert(1)">'),
        "a.b",
        subject="<script>alert(1)</script>",
        detail={"<b>k</b>": "<i>v</i>"},
    )
    html = body(viewer, "/activity/")
    for raw in ("<script>alert", "<img src=x", "<b>k</b>", "<i>v</i>"):
        assert raw not in html


def test_a_line_leads_to_its_thing_by_the_name_people_know(viewer):
    task = LongTask.objects.create(
        name="合同", agent_id="ops", state="blocked", origin_session_key="agent:ops:main"
    )
    LedgerEvent.objects.all().delete()
    publish("longtask.moved", agent_id="ops", subject=f"longtask:{task.pk}")
    publish("archive.written", agent_id="ops", subject="archives/ab12/2026-11-30_09-00-04/快报 1.md")
    publish("longtask.moved", agent_id="ops", subject="longtask:99999")
    lines = {line.subject: line.url for line in viewer.get("/activity/?tab=events").context["page"].lines}
    assert lines["合同"] == f"/tasks/{task.pk}/"
    assert lines["longtask:99999"] == ""
    archived = lines["archives/ab12/2026-11-30_09-00-04/快报 1.md"]
    assert archived.startswith("/archives/ops/ab12/file/2026-11-30_09-00-04/")


def test_fifty_lines_ask_no_more_than_five(viewer, django_assert_max_num_queries):
    for number in range(50):
        for noun in ("plan", "run", "proposal", "longtask", "agent"):
            publish(f"{noun}.moved", agent_id="ops", subject=f"{number:032x}")
    viewer.get("/activity/?tab=events")
    with django_assert_max_num_queries(18):
        viewer.get("/activity/?tab=events")


def test_an_impossible_page_key_is_ignored(viewer):
    publish("a.b")
    for key in ("x", "-1", "9" * 30, "1e3"):
        assert viewer.get(f"/activity/?tab=events&before={key}").status_code == 200


def test_the_empty_ledgers_say_what_will_appear(viewer):
    AuditEntry.objects.all().delete()
    assert "Every confirmation, apply, refusal" in body(viewer, "/activity/")
    assert "When agents write archives" in body(viewer, "/activity/?tab=events")
    assert "No line fits these filters" in body(viewer, "/activity/?kind=zzz")


def test_old_rows_keep_their_place(viewer):
    old = publish("a.old")
    LedgerEvent.objects.filter(pk=old.pk).update(at=datetime.now(UTC) - timedelta(days=3))
    assert "3 days ago" in body(viewer, "/activity/?tab=events")


def test_every_kind_that_the_code_writes_down_has_words():
    """Kinds stand in the code as `"noun.verb"`; those made of parts are the tasks' and the proposals'."""
    apps = ("gateway", "archives", "agents", "plans", "workshop", "longrun")
    code = "".join(
        path.read_text()
        for app in apps
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
    )
    calls = re.findall(r"(?:publish|audit\.record|\brecord|_tell)\(([^()]*)", code)
    written = {kind for call in calls for kind in re.findall(r'"([a-z]+\.[a-z_]+)"', call)}
    assert {"plan.confirm", "token.make", "run.started", "runs.due"} <= written
    made = {f"longtask.{kind}" for kind in EVENTS} | {f"proposal.{kind}" for kind in Event.Type.values}
    assert sorted(kind for kind in written | made if in_words(kind) == kind) == []


def test_our_own_programs_have_names_in_the_readers_language(viewer):
    publish("longtask.heartbeat_lost", subject="x", caller=command_caller())
    html = body(viewer, "/activity/?tab=events", **{"accept-language": "zh-hans"})
    assert "命令行" in html and "command line" not in html
