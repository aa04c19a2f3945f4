"""A doctor that is killed halfway is resumed by the next run, to the same end as without the kill."""

from pathlib import Path

import pytest

from tests.workshop import old_shapes as old
from tests.workshop.processes import Worker, environment
from workshop.hashes import sha256

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
ONE, TWO = "weekly-20260102-0123456789", "monthly-20260103-aaaaaaaaaa"
FAULTS = [
    "doctor.peer-proposal",
    "doctor.sidecar-imported",
    "doctor.sidecar-rollback-removed",
    "doctor.moved",
    "doctor.followed",
    "doctor.backup-published",
]


def old_world(state: Path) -> None:
    """A peer's database with an applied skill in the workspace, a sidecar proposal, and a backup."""
    source = state / "workspace-main/skills/weekly"
    made, draft = old.record(ONE, skill_dir=str(source), status="applied", appliedAt=old.AT)
    made["draftFile"] = "generations/00000000-0000-4000-8000-000000000001/PROPOSAL.md"
    path = state / "skill-workshop/proposals" / ONE / made["draftFile"]
    path.parent.mkdir(parents=True)
    path.write_bytes(draft)
    source.mkdir(parents=True)
    (source / "SKILL.md").write_bytes(old.skill_bytes(draft))
    connection = old.peer_database(state)
    old.put_row(connection, made)
    old.put_event(connection, made, 1, "created")
    old.put_event(connection, made, 2, "applied", {"targetSkillFile": f"{source}/SKILL.md"})
    skill = state / "agents/main/agent/workshop-skills/monthly"
    change, text = old.record(
        TWO,
        skill_dir=str(skill),
        kind="update",
        status="applied",
        appliedAt=old.AT,
        origin={"agentId": "main"},
    )
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_bytes(old.skill_bytes(text))
    rollback = {
        "proposalId": TWO,
        "writtenAt": old.AT,
        "targetSkillFile": f"{skill}/SKILL.md",
        "action": "update",
        "previousContent": "before",
        "previousContentHash": sha256(b"before"),
    }
    old.put_sidecar(state, change, text, rollback)
    old.put_backup(
        state, state / "workspace-main", "b1", {"skills/monthly": "# B\n"}, {"skills/monthly": skill}
    )
    old.insert(
        connection,
        "skill_workshop_collection_reviews",
        review_id="b1",
        owner_agent_id="main",
        backup_id="b1",
        create_time=1,
        kept_names_json="[]",
        written_names_json="[]",
        dropped_json="[]",
    )
    connection.close()


def outcome(worker, state):
    files = {
        name: data for name, (_mode, data, _at) in old.snapshot(state).items() if not name.startswith("state")
    }
    sql = "select id, status, legacy_dir, target_dir, updated_at from workshop_proposal order by id"
    rollbacks = "select proposal_id, state, action from workshop_rollback order by proposal_id"
    events = "select sequence, type from workshop_event order by sequence"
    return files, [worker.ask(sql=query)["payload"] for query in (sql, rollbacks, events)]


def relative(found, state):
    """Outcomes of two worlds are compared without the folder in which each lies."""
    return str(found).replace(str(state), "<state>")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    env = environment(tmp_path_factory.mktemp("doctor"))
    state = Path(env["OPENCLAW_STATE_DIR"])
    old_world(state)
    worker = Worker(env).wait_ready()
    found = worker.ask(service="doctor")["payload"]
    assert [code for code, done in found if done] == [
        "peer-database",
        "legacy-metadata",
        "legacy-skill",
        "backup",
    ]
    assert worker.ask(service="doctor")["payload"] == []
    end = relative(outcome(worker, state), state)
    worker.close()
    return end


@pytest.mark.parametrize("fault", FAULTS)
def test_a_killed_doctor_is_resumed(fault, undisturbed, tmp_path):
    env = environment(tmp_path / "world")
    state = Path(env["OPENCLAW_STATE_DIR"])
    old_world(state)
    victim = Worker(env, fault).wait_ready()
    victim.send(service="doctor")
    assert victim.receive() is None, "it survived"
    assert victim.process.wait(timeout=30) == -9
    worker = Worker(env).wait_ready()
    assert all(done for _code, done in worker.ask(service="doctor")["payload"])
    assert worker.ask(service="doctor")["payload"] == []
    assert relative(outcome(worker, state), state) == undisturbed
    worker.close()
