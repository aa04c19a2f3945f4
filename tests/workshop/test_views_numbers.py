"""Pages ask the database the same number of questions however much there is, and answer a large text fast."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.hang import not_hanging
from tests.workshop.conftest import write_config
from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file, update
from workshop.hashes import js_string
from workshop.models import Event, EventCounter, Proposal
from workshop.queries import wire
from workshop.records import now
from workshop.services.decisions import reject_proposal

pytestmark = pytest.mark.django_db


def decided_history(template: Proposal, count: int) -> None:
    """`count` more rejected proposals with their events, as rows alone."""
    record, at = template.record, now()
    start = EventCounter.objects.get().last_sequence
    fields = {
        field.attname: getattr(template, field.attname)
        for field in Proposal._meta.concrete_fields
        if field.attname not in ("id", "record_json")
    }
    rows, events = [], []
    for number in range(count):
        key = f"old-20250101-{number:010x}"
        rows.append(Proposal(id=key, record_json=js_string(record | {"id": key}), **fields))
        events.append(
            Event(
                sequence=start + number + 1,
                event_id=f"e{number}",
                proposal_id=key,
                agent_id=template.agent_id,
                proposed_version="v1",
                revision_hash=template.revision_hash,
                type="rejected",
                occurred_at=at,
                actor={"type": "gateway"},
            )
        )
    Proposal.objects.bulk_create(rows, batch_size=2000)
    Event.objects.bulk_create(events, batch_size=2000)
    EventCounter.objects.update(last_sequence=start + count)
    wire.forget_entries()


def questions(client, url) -> int:
    """The fewer of two tries: now and then the frame looks again at the background's heartbeat."""
    counts = []
    for _try in range(2):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(url).status_code == 200
        counts.append(len(seen))
    return min(counts)


def pages_of(pending: Proposal) -> list[str]:
    tabs = ("diff", "text", "files", "checks", "history")
    return [
        reverse("workshop:desk"),
        reverse("workshop:decided"),
        reverse("workshop:quarantine"),
        reverse("workshop:skills"),
        reverse("workshop:curator"),
        reverse("workshop:skill", args=["main", "trip"]),
        *(reverse("workshop:tab", args=[pending.pk, tab]) for tab in tabs),
    ]


def small_world(person) -> tuple[Proposal, Proposal]:
    live_skill(person)
    pending = update(person)
    old = propose(person, name="old")
    rejected = reject_proposal("main", old.pk, expected_revision_hash=old.revision_hash, caller=person)
    return pending, rejected


def more_skills(state_dir, count, agent="main"):
    for number in range(count):
        file = skill_file(state_dir, f"skill-{number:03}", agent)
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: skill-{number:03}\ndescription: Does number {number}\n---\n\nDo it.\n")


def test_pages_ask_as_often_with_much_as_with_little(two_agents, reviewer, person):
    pending, rejected = small_world(person)
    before = {url: questions(reviewer, url) for url in pages_of(pending)}
    decided_history(rejected, 300)
    for number in range(6):
        propose(person, name=f"wait {number}")
    more_skills(two_agents, 40)
    after = {url: questions(reviewer, url) for url in pages_of(pending)}
    assert after == before
    assert max(after.values()) <= 30


@pytest.mark.slow
def test_500_skills_20_000_decided_and_50_large_proposals_ask_no_more_questions(
    two_agents, reviewer, person, settings
):
    settings.LOGGING_CONFIG = None
    write_config(two_agents, {}, agents=("main", "ops", "desk"))
    pending, rejected = small_world(person)
    before = {url: questions(reviewer, url) for url in pages_of(pending)}
    decided_history(rejected, 20_000)
    body = TRIP + "".join(
        f"- Step {number}: compare and ask, {number * 7919 % 997}.\n" for number in range(1150)
    )
    for number in range(48):
        propose(person, name=f"large {number}", content=body[:39_900])
    # 500 in all: a loader takes at most 200 of one agent (contract §2.10).
    for agent, count in (("main", 190), ("ops", 190), ("desk", 119)):
        more_skills(two_agents, count, agent)
    assert len(reviewer.get(reverse("workshop:skills")).context["skills"]) == 500
    after = {url: questions(reviewer, url) for url in pages_of(pending)}
    assert after == before
    for url in after:
        with not_hanging():
            reviewer.get(url)


def test_a_200_kb_difference_is_a_page(two_agents, reviewer, person):
    write_config(two_agents, {"maxSkillBytes": 200_000})
    body = "# Long\n\n" + "".join(
        f"- Step {n}: compare three offers, {n * 7919 % 997}.\n" for n in range(4800)
    )
    live_skill(person, content=body[:199_000])
    changed = body[:199_000].replace("offers", "prices")
    proposal = update(person, content=changed)
    url = reverse("workshop:tab", args=[proposal.pk, "diff"])
    reviewer.get(url)
    with not_hanging():
        response = reviewer.get(url)
    assert response.content.decode().count("<ins>prices</ins>") > 4000


def test_the_order_of_the_queue_is_the_longest_waiting_first(two_agents, reviewer, person):
    made = [propose(person, name=f"n{number}").pk for number in range(3)]
    queue = reviewer.get(reverse("workshop:desk")).context["queue"]
    assert [item.url for item in queue.items] == [reverse("workshop:proposal", args=[pk]) for pk in made]
