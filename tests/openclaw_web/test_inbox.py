import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone
from model_bakery import baker

from gateway.clusters import beat, cluster_names
from gateway.waiting import Waiting
from longrun.models import LongTask
from openclaw_web import inbox
from openclaw_web.inbox import Source, load_inbox, waiting_counts

pytestmark = pytest.mark.django_db
PULSE = {"hx-request": "true", "hx-target": "pulse"}


def lost_task(name="合同到期表", agent="ops", minutes=14):
    return LongTask.objects.create(
        name=name,
        agent_id=agent,
        state="blocked",
        origin_session_key=f"agent:{agent}:main",
        goal="318 contracts",
        updated_at=timezone.now() - timedelta(minutes=minutes),
    )


class Pretend:
    """Another app's queries, with lines of any kind."""

    def __init__(self, *lines):
        self.lines = lines

    def waiting(self, agent_id, limit):
        return [line for line in self.lines if agent_id in (None, line.agent_id)][:limit]

    def waiting_count(self, agent_id):
        return len([line for line in self.lines if agent_id in (None, line.agent_id)])


def line(title, *, minutes=5, urgent=False, agent="main"):
    at = timezone.now() - timedelta(minutes=minutes)
    return Waiting("plan", title, "why", f"/plans/{title}/", at, "to confirm", "warn", urgent, agent)


def alive():
    for name in cluster_names():
        beat(cluster_id="c", host="box", pid=1, workers=2, name=name)


def test_urgent_lines_of_every_app_stand_first_the_longest_waiting_on_top(monkeypatch):
    sources = (
        Source("plans/", "Plans", Pretend(line("a"), line("b", urgent=True, minutes=3))),
        Source("workshop/", "Skills", Pretend(line("c", urgent=True, minutes=9), line("d"))),
    )
    monkeypatch.setattr(inbox, "SOURCES", sources)
    found = load_inbox(None)
    assert [one.title for one in found.urgent] == ["c", "b"]
    assert [(section.title, [one.title for one in section.lines]) for section in found.sections] == [
        ("Plans", ["a"]),
        ("Skills", ["d"]),
    ]
    assert found.total == 4


def test_one_agent_sees_and_counts_only_its_own(monkeypatch):
    sources = (Source("plans/", "Plans", Pretend(line("a", agent="main"), line("b", agent="ops"))),)
    monkeypatch.setattr(inbox, "SOURCES", sources)
    assert [one.title for one in load_inbox("ops").lines] == ["b"]
    assert waiting_counts("ops") == {"plans/": 1, "": 1}
    assert waiting_counts(None) == {"plans/": 2, "": 2}


def test_more_than_a_dozen_are_counted_and_linked_not_listed(monkeypatch, viewer):
    sources = (Source("plans/", "Plans", Pretend(*(line(f"p{number}") for number in range(20)))),)
    monkeypatch.setattr(inbox, "SOURCES", sources)
    html = viewer.get("/").content.decode()
    assert html.count('href="/plans/p') == 12
    assert "20 things wait for you" in html
    assert ">All 20</a>" in html


def test_a_blocked_task_stands_on_the_home_page_and_in_the_rail(viewer):
    alive()
    task = lost_task()
    html = viewer.get("/").content.decode()
    assert "One thing waits for you" in html
    assert f'href="/tasks/{task.pk}/"' in html
    assert "合同到期表" in html
    assert html.count('<span class="count">1<span class="sr">') == 2


def test_the_home_page_says_that_the_cluster_is_down_since_when_and_what_to_do(viewer):
    beat(cluster_id="c", host="box", pid=1, workers=2, now=timezone.now() - timedelta(minutes=7))
    html = viewer.get("/").content.decode()
    assert "Background is down" in html
    assert "7 min ago" in html
    assert "script/server" in html


def test_it_also_says_that_only_the_cluster_of_turns_is_down(viewer):
    beat(cluster_id="c", host="box", pid=1, workers=2)
    html = viewer.get("/").content.decode()
    assert "Agents&#x27; turns never ran" in html
    assert "Q_CLUSTER_NAME=turns" in html


def test_an_open_home_page_hears_of_the_cluster_and_of_new_lines_and_else_nothing(viewer):
    alive()
    seen = viewer.get("/").context["digest"]
    assert viewer.get(f"/?seen={seen}", headers=PULSE).status_code == 204
    lost_task()
    answer = viewer.get(f"/?seen={seen}", headers=PULSE)
    html = answer.content.decode()
    assert "The list has changed" in html
    assert "<html" not in html
    assert f"seen={seen}" in html
    told = unescape(re.search(r'hx-get="([^"]+)"', html)[1])
    assert "&told=" in told
    assert viewer.get(told, headers=PULSE).status_code == 204
    beat(cluster_id="c", host="box", pid=1, workers=2, now=timezone.now() - timedelta(seconds=50))
    assert "Background is down" in viewer.get(told, headers=PULSE).content.decode()


def test_a_notice_that_stood_in_the_page_keeps_its_place_when_all_is_well_again(viewer):
    beat(cluster_id="c", host="box", pid=1, workers=2, now=timezone.now() - timedelta(minutes=7))
    seen = viewer.get("/").context["digest"]
    alive()
    html = viewer.get(f"/?seen={seen}", headers=PULSE).content.decode()
    assert 'class="note ok"' in html and "The cluster answers." in html
    assert "afloat" not in html


def test_a_newcomer_is_told_where_it_looked_and_the_one_thing_to_do(viewer, state_dir):
    html = viewer.get("/").content.decode()
    assert str(state_dir) in html
    assert "agent" in html
    assert 'href="/agents/"' in html or 'href="/plans/"' in html


def test_a_state_dir_that_is_not_there_is_named(viewer, state_dir):
    state_dir.rmdir()
    html = viewer.get("/").content.decode()
    assert f"<code>{state_dir}</code>, which does not exist" in html
    assert "OPENCLAW_STATE_DIR" in html


def test_titles_and_reasons_that_agents_wrote_are_inert(viewer, monkeypatch):
    bad = line("<script>alert(1)</script>")
    monkeypatch.setattr(inbox, "SOURCES", (Source("plans/", "Plans", Pretend(bad)),))
    assert "<script>alert" not in viewer.get("/").content.decode()


def test_the_home_page_asks_the_same_for_one_task_and_for_forty(viewer, django_assert_max_num_queries):
    for number in range(40):
        lost_task(f"t{number}")
    viewer.get("/")
    with django_assert_max_num_queries(25):
        viewer.get("/")


def test_a_plan_to_confirm_and_a_pending_proposal_stand_there_and_are_found(viewer, shell):
    plan = baker.make(
        "plans.Plan", agent_id="ops", name="每日竞品快报", task_id="t1", archive_id="ab12", state="awaiting"
    )
    proposal = baker.make(
        "workshop.Proposal", id="p-1", agent_id="ops", title="trip-planning", status="pending", kind="create"
    )
    html = viewer.get("/").content.decode()
    assert "2 things wait for you" in html
    assert f'href="/plans/{plan.uid}/' in html
    assert f'href="/workshop/proposals/{proposal.pk}/"' in html
    found = viewer.get("/search/?q=竞品").content.decode()
    assert f'href="/plans/{plan.uid}/' in found
    assert "trip-planning" in viewer.get("/search/?q=trip").content.decode()
