"""Eight real processes at once on one proposal, one name, one limit: one wins, the others get a typed refusal,
nothing is lost and nothing mixes. On SQLite and on PostgreSQL."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.workshop.processes import Worker, environment

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
EIGHT = 8
# One database per pytest process: with xdist this module may run in two of them.
DATABASE = f"ocw_workshop_races_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def crowd(request, tmp_path_factory):
    """Eight waiting processes on one database and one state folder."""
    url = ""
    if request.param == "postgres":
        for command in ("dropdb --if-exists", "createdb"):
            subprocess.run([*command.split(), "-h", "localhost", DATABASE], check=True)
        url = f"postgres://root@localhost:5432/{DATABASE}"
    env = environment(tmp_path_factory.mktemp("races"), url)
    workers = [Worker(env) for _ in range(EIGHT)]
    for worker in workers:
        worker.wait_ready()
    yield Crowd(Path(env["OPENCLAW_STATE_DIR"]), workers)
    for worker in workers:
        worker.close()


class Crowd:
    def __init__(self, state, workers):
        self.state = state
        self.workers = workers
        self.first = workers[0]

    def at_once(self, requests):
        """One request a process, all sent before any answer is read."""
        for worker, (method, params) in zip(self.workers, requests, strict=True):
            worker.send(method=f"skills.{method}", params={"agentId": "main", **params})
        return [worker.receive() for worker in self.workers]

    def create(self, name, **more):
        params = {"name": name, "description": "d", "content": "# first\n", **more}
        return self.first.must("proposals.create", **params)

    def events(self, proposal_id):
        page = self.first.must("proposals.events.list", proposalId=proposal_id, limit=200)
        return [event["type"] for event in page["events"]]

    def skill(self, name):
        return self.state / "agents/main/agent/workshop-skills" / name


def codes(answers):
    """How often each outcome came: `ok`, or the details' code, or the wire's."""
    return Counter(
        "ok"
        if answer["ok"]
        else (answer["error"].get("details") or {}).get("code") or answer["error"]["code"]
        for answer in answers
    )


def test_of_eight_revisions_of_one_hash_one_wins(crowd):
    made = crowd.create("same hash")
    proposal_id, read = made["record"]["id"], made["revisionHash"]
    asked = [
        (
            "proposals.revise",
            {"proposalId": proposal_id, "expectedRevisionHash": read, "content": f"# by {n}\n"},
        )
        for n in range(EIGHT)
    ]
    answers = crowd.at_once(asked)
    assert codes(answers) == {"ok": 1, "SKILL_PROPOSAL_REVISION_CHANGED": 7}
    winner = next(n for n, answer in enumerate(answers) if answer["ok"])
    seen = crowd.first.must("proposals.inspect", proposalId=proposal_id)
    assert seen["content"].endswith(f"# by {winner}\n")
    assert seen["record"]["proposedVersion"] == "v2"


def test_eight_revisions_without_a_hash_follow_each_other(crowd):
    made = crowd.create("no hash")
    proposal_id = made["record"]["id"]
    files = [{"path": "assets/a.txt", "content": "x"}]
    asked = [
        ("proposals.revise", {"proposalId": proposal_id, "content": f"# {n}\n", "supportFiles": files})
        for n in range(EIGHT)
    ]
    answers = crowd.at_once(asked)
    versions = sorted(answer["payload"]["record"]["proposedVersion"] for answer in answers)
    assert versions == [f"v{n}" for n in range(2, 10)]
    assert crowd.events(proposal_id) == ["created", *["revised"] * EIGHT]
    folder = crowd.state / "skill-workshop/proposals" / proposal_id / "generations"
    assert len(list(folder.iterdir())) == 9
    assert not list(folder.glob(".staging-*"))


def test_of_eight_applies_one_wins(crowd):
    made = crowd.create("apply once", supportFiles=[{"path": "assets/a.txt", "content": "x"}])
    asked = {"proposalId": made["record"]["id"], "expectedRevisionHash": made["revisionHash"]}
    answers = crowd.at_once([("proposals.apply", asked)] * EIGHT)
    assert codes(answers) == {"ok": 1, "INVALID_REQUEST": 7}
    assert all("pending" in a["error"]["message"] for a in answers if not a["ok"])
    assert crowd.events(made["record"]["id"]) == ["created", "evaluation_completed", "applied"]


def test_apply_against_reject_has_one_outcome(crowd):
    made = crowd.create("either or")
    asked = {"proposalId": made["record"]["id"], "expectedRevisionHash": made["revisionHash"]}
    answers = crowd.at_once([("proposals.apply", asked), ("proposals.reject", asked)] * 4)
    assert codes(answers)["ok"] == 1
    status = crowd.first.must("proposals.inspect", proposalId=made["record"]["id"])["record"]["status"]
    assert (crowd.skill("either-or") / "SKILL.md").exists() == (status == "applied")
    assert crowd.events(made["record"]["id"])[-1] == status


def test_apply_against_revise_applies_what_was_read_or_nothing(crowd):
    made = crowd.create("moving")
    proposal_id, read = made["record"]["id"], made["revisionHash"]
    apply = ("proposals.apply", {"proposalId": proposal_id, "expectedRevisionHash": read})
    revise = ("proposals.revise", {"proposalId": proposal_id, "content": "# second\n"})
    answers = crowd.at_once([apply, revise] * 4)
    live = crowd.skill("moving") / "SKILL.md"
    if any(answer["ok"] for answer in answers[::2]):
        assert live.read_text().endswith("# first\n")
    else:
        assert not live.exists()
        assert codes(answers[::2])["SKILL_PROPOSAL_REVISION_CHANGED"] >= 1


def test_eight_proposals_of_one_name_are_all_kept(crowd):
    params = {"name": "one name", "description": "d", "content": "# x\n"}
    answers = crowd.at_once([("proposals.create", {**params, "content": f"# {n}\n"}) for n in range(EIGHT)])
    assert codes(answers) == {"ok": EIGHT}
    ids = {answer["payload"]["record"]["id"] for answer in answers}
    assert len(ids) == EIGHT
    asked = [
        (
            "proposals.apply",
            {
                "proposalId": a["payload"]["record"]["id"],
                "expectedRevisionHash": a["payload"]["revisionHash"],
            },
        )
        for a in answers
    ]
    applied = crowd.at_once(asked)
    assert codes(applied) == {"ok": 1, "INVALID_REQUEST": 7}
    winner = next(n for n, answer in enumerate(applied) if answer["ok"])
    assert (crowd.skill("one-name") / "SKILL.md").read_text().endswith(f"# {winner}\n")


def test_of_eight_updates_of_one_skill_one_is_applied_and_the_rest_are_stale(crowd):
    made = crowd.create("much wanted")
    crowd.first.must(
        "proposals.apply", proposalId=made["record"]["id"], expectedRevisionHash=made["revisionHash"]
    )
    answers = crowd.at_once(
        [("proposals.update", {"skillName": "much-wanted", "content": f"# {n}\n"}) for n in range(EIGHT)]
    )
    asked = [
        (
            "proposals.apply",
            {
                "proposalId": a["payload"]["record"]["id"],
                "expectedRevisionHash": a["payload"]["revisionHash"],
            },
        )
        for a in answers
    ]
    assert codes(crowd.at_once(asked)) == {"ok": 1, "INVALID_REQUEST": 7}
    listed = [
        e for e in crowd.first.must("proposals.list")["proposals"] if e["title"] == "Update much-wanted"
    ]
    assert Counter(entry["status"] for entry in listed) == {"applied": 1, "stale": 7}


@pytest.fixture
def limit_of_five(crowd):
    path = crowd.state / "openclaw.json"
    before = path.read_text()
    path.write_text(json.dumps(json.loads(before) | {"skills": {"workshop": {"maxPending": 5}}}))
    yield
    path.write_text(before)


def test_the_limit_of_pending_proposals_holds(crowd, limit_of_five):
    params = {"agentId": "ops", "description": "d", "content": "x"}
    answers = crowd.at_once([("proposals.create", {**params, "name": f"n{n}"}) for n in range(EIGHT)])
    assert codes(answers) == {"ok": 5, "INVALID_REQUEST": 3}
    assert all("5 are allowed" in a["error"]["message"] for a in answers if not a["ok"])
    listed = crowd.first.must("proposals.list", agentId="ops")["proposals"]
    assert len(listed) == 5
    on_disk = [path.name for path in (crowd.state / "skill-workshop/proposals").glob("n[0-9]-*")]
    assert sorted(on_disk) == sorted(entry["id"] for entry in listed)


def test_the_ledger_has_no_gap_and_no_double(crowd):
    rows = crowd.first.ask(sql="select sequence from workshop_event order by sequence")["payload"]
    numbers = [int(row[0]) for row in rows]
    assert numbers == list(range(1, len(numbers) + 1))
