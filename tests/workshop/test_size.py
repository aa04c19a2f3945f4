"""Reads do not grow with history: the same queries with a thousand decided proposals as with none."""

import json
import time
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway.callers import command_caller
from tests.workshop.crowd import decided_proposals
from workshop.ledger import Author, append_event, begin_epoch
from workshop.models import Proposal
from workshop.queries import desk, skills, waiting, wire
from workshop.services import proposals, revisions, usage

pytestmark = pytest.mark.django_db
ME = command_caller()
MANY = 1000


@pytest.fixture
def state(two_agents):
    for number in range(20):
        file = two_agents / f"agents/main/agent/workshop-skills/skill-{number}/SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: skill-{number}\ndescription: d\n---\nx\n")
    time.sleep(0.06)  # what was written within the last twentieth of a second is not kept
    return two_agents


@pytest.fixture
def made(state):
    return proposals.create_proposal("main", name="One", description="d", content="# Text\n", caller=ME)


def main():
    return desk.open_desk("main", ME)


READS = {
    "list": lambda: wire.manifest(main()),
    "read": lambda: wire.read_skill(main(), "skill-7"),
    "curator": lambda: wire.curator_status(ME, live_inventory=True),
    "events": lambda: wire.event_page(main()),
    "queue": lambda: desk.rows(desk.queue_of(None)),
    "first page": lambda: desk.rows(desk.find(None)[:50]),
    "skills": lambda: skills.collection(ME, None),
    "waiting": lambda: waiting(None, 20),
}


def queries(read):
    read()
    with CaptureQueriesContext(connection) as seen:
        read()
    return [row["sql"].split(" WHERE")[0] for row in seen]


@pytest.mark.parametrize("name", READS)
def test_a_read_makes_the_same_queries_with_and_without_history(name, made):
    before = queries(READS[name])
    decided_proposals("main", MANY)
    after = queries(READS[name])
    assert len(after) == len(before)


def test_the_view_of_one_proposal_makes_the_same_queries(made):
    def look():
        view = desk.view(None, made.pk, ME)
        return view.state, view.pairs, view.notices, view.events, view.generations, view.comments, view.rivals

    before = queries(look)
    decided_proposals("main", MANY)
    assert len(queries(look)) == len(before)


def test_the_kept_text_of_the_list_is_its_json(made):
    decided_proposals("main", 50)
    payload = wire.manifest(main())
    assert json.loads(payload.json) == payload
    assert len(payload["proposals"]) == 51


def test_only_what_changed_is_read_again(made):
    decided_proposals("main", 50)
    first = wire.manifest(main())
    with CaptureQueriesContext(connection) as seen:
        revisions.revise_proposal("main", made.pk, description="changed", caller=ME)
        other = proposals.create_proposal("main", name="Two", description="d", content="x", caller=ME)
        second = wire.manifest(main())
    loads = [row["sql"] for row in seen if "record_json" in row["sql"] and row["sql"].startswith("SELECT")]
    by_key = '"workshop_proposal"."id" = '
    assert all(" IN (" in sql or by_key in sql or "'pending'" in sql for sql in loads), loads
    ids = [entry["id"] for entry in second["proposals"]]
    assert ids[:2] == [other.pk, made.pk]
    assert [e["description"] for e in second["proposals"] if e["id"] == made.pk] == ["changed"]
    assert [e["description"] for e in first["proposals"] if e["id"] == made.pk] == ["d"]
    assert json.loads(second.json) == second


def test_what_changes_without_an_event_is_seen_in_the_next_epoch(made):
    assert [entry["status"] for entry in wire.manifest(main())["proposals"]] == ["pending"]
    record = made.record | {"status": "stale"}
    Proposal.objects.filter(pk=made.pk).update(status="stale", record_json=json.dumps(record))
    begin_epoch()
    assert [entry["status"] for entry in wire.manifest(main())["proposals"]] == ["stale"]


def test_the_order_is_that_of_the_database_whatever_changed_last(made):
    decided_proposals("main", 30)
    wire.manifest(main())
    for name in ("B", "A", "C"):
        proposals.create_proposal("main", name=name, description="d", content="x", caller=ME)
    revisions.revise_proposal("main", made.pk, description="changed", caller=ME)
    # One that moves back in time, as an import may bring it.
    old = Proposal.objects.newest_first()[20]
    record = old.record | {"updatedAt": "2001-01-01T00:00:00.000Z"}
    Proposal.objects.filter(pk=old.pk).update(
        updated_at=datetime(2001, 1, 1, tzinfo=UTC), record_json=json.dumps(record)
    )
    append_event(old, "revised", Author(ME), datetime.now(UTC))
    ids = [entry["id"] for entry in wire.manifest(main())["proposals"]]
    assert ids == list(Proposal.objects.newest_first().values_list("pk", flat=True))
    assert ids[-1] == old.pk


def test_a_skill_that_appears_and_one_that_goes_are_in_the_next_answer(state):
    def names():
        listed = [skill["name"] for skill in wire.manifest(main())["installedSkills"]]
        curated = [skill["skillName"] for skill in wire.curator_status(ME, live_inventory=True)["skills"]]
        assert sorted(listed) == sorted(curated)
        return set(listed)

    root = state / "agents/main/agent/workshop-skills"
    before = names()
    (root / "skill-3/SKILL.md").unlink()
    (root / "new").mkdir()
    (root / "new/SKILL.md").write_text("---\nname: new\ndescription: d\n---\n")
    assert names() == before - {"skill-3"} | {"new"}
    # The folder stays, the file is another: only its own stamp tells.
    time.sleep(0.06)
    names()
    (root / "new/SKILL.md").write_text("---\nname: newer\ndescription: d\n---\n")
    assert names() == before - {"skill-3"} | {"newer"}
    # A link in the place of a skill's folder is no member.
    time.sleep(0.06)
    names()
    (root / "skill-4").rename(state / "elsewhere")
    (root / "skill-4").symlink_to(state / "elsewhere")
    assert names() == before - {"skill-3", "skill-4"} | {"newer"}


def test_uses_are_those_of_this_moment(state):
    def used():
        skills = wire.curator_status(ME, live_inventory=True)
        assert json.loads(skills.json) == skills
        return {row["skillName"]: row["useCount"] for row in skills["skills"] if row["useCount"]}

    assert used() == {}
    file = str((state / "agents/main/agent/workshop-skills/skill-7/SKILL.md").resolve())
    for count in (1, 2):
        usage.record_use("main", skill_file=file, used_at_ms=1000 * count, caller=ME)
        assert used() == {"skill-7": count}


def test_a_missing_draft_shows_in_both_forms(made, state):
    (state / "skill-workshop/proposals" / made.pk / made.draft_file).unlink()
    payload = wire.manifest(main())
    assert payload["proposals"][0]["degradedState"] == "draft-missing"
    assert json.loads(payload.json) == payload


def test_the_http_door_sends_the_kept_text(made, client, administrator):
    from gateway.tokens import make_token

    _token, secret = make_token("t", scopes=["operator.read"], caller=ME)
    answer = client.post(
        "/api/rpc/skills.proposals.list",
        '{"agentId": "main"}',
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.json() == {"ok": True, "payload": wire.manifest(main())}


def test_a_capability_is_declared_by_a_header(state, client):
    from gateway.tokens import make_token

    _token, secret = make_token("t", scopes=["operator.read"], caller=ME)

    def status(**headers):
        answer = client.post(
            "/api/rpc/skills.curator.status",
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}", **headers},
        )
        return answer.json()["payload"]

    assert (status().get("inventory"), status()["counts"]["active"]) == (None, 0)
    declared = status(**{"OpenClaw-Caps": "other,  skill-curator-live-inventory"})
    assert (declared["inventory"], declared["counts"]["active"]) == ("live-workshop", 20)
