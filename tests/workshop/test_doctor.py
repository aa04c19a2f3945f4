"""Every legacy shape as a fixture tree: what is found, what `--fix` makes of it, and that a second run changes
no byte and no row."""

import copy
import json
import os
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command

from gateway.callers import command_caller
from tests.workshop import old_shapes as old
from tests.workshop.conftest import write_config
from workshop import targets
from workshop.doctor import examine
from workshop.errors import WorkshopError
from workshop.hashes import sha256
from workshop.models import CollectionReview, Event, ImportRun, Proposal, ReviewState, Rollback, SkillUsage
from workshop.names import from_iso
from workshop.queries import desk, wire
from workshop.queries.files import generation_bundle
from workshop.services import decisions, proposals, revisions, rollbacks

pytestmark = pytest.mark.django_db
ME = command_caller()
ONE, TWO = "weekly-20260102-0123456789", "weekly-20260103-aaaaaaaaaa"


@pytest.fixture
def state(two_agents):
    for name in ("main", "ops"):
        (two_agents / f"workspace-{name}").mkdir()
    return two_agents


def database_rows():
    models = apps.get_app_config("workshop").get_models()
    return {model.__name__: list(model.objects.order_by("pk").values_list()) for model in models}


def codes(report):
    return [finding.code for finding in report.findings]


def mend(state):
    """Looks, mends, and holds that a further run neither finds to mend nor changes anything."""
    looked = examine()
    report = examine(fix=True)
    # Mending one thing can bring the next to light, in the same run.
    assert set(codes(looked)) <= set(codes(report))
    before = (old.snapshot(state), database_rows())
    again = examine(fix=True)
    assert [finding.code for finding in again.findings if finding.done] == []
    assert [finding.code for finding in again.findings] == [finding.code for finding in report.open]
    assert (old.snapshot(state), database_rows()) == before
    return report


def legacy(state, name, agent="main"):
    return state / f"workspace-{agent}/skills" / name


def live(state, name, agent="main"):
    return state / f"agents/{agent}/agent/workshop-skills" / name


CURATOR = {
    "lastAttemptAtMs": 1_788_000_000_000,
    "lastSuccessAtMs": 1_787_000_000_000,
    "lastError": "the model was away",
    "lastResult": {
        "collectionReviews": {"c" * 64: {"attemptedAtMs": 5, "succeededAtMs": 6}},
        "experienceReviews": {
            "e" * 64: {"attemptedAtMs": 7, "outcome": "proposed", "proposalId": ONE},
            "f" * 64: {"attemptedAtMs": 8, "outcome": "failed", "error": "no transcript"},
        },
    },
}
REVIEWED = {
    "lastAttemptAtMs": 1_788_000_000_000,
    "lastSuccessAtMs": 1_787_000_000_000,
    "lastError": "the model was away",
    "collectionReview": CURATOR["lastResult"]["collectionReviews"],
    "experienceReview": CURATOR["lastResult"]["experienceReviews"],
}


def test_with_nothing_to_do_it_says_so_and_changes_no_byte(state):
    before = (old.snapshot(state), database_rows())
    out = StringIO()
    call_command("doctor", "--fix", stdout=out)
    assert out.getvalue().strip() == "Nothing to do."
    assert (old.snapshot(state), database_rows()) == before


def test_looking_changes_nothing(state):
    made, draft = old.record(ONE, skill_dir=str(legacy(state, "weekly")), origin={"agentId": "main"})
    old.put_sidecar(state, made, draft)
    before = (old.snapshot(state), database_rows())
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=StringIO())
    assert (old.snapshot(state), database_rows()) == before


# -- metadata files


def test_metadata_files_are_imported_and_then_removed(state):
    made, draft = old.record(ONE, skill_dir=str(live(state, "weekly")), origin={"agentId": "main"})
    folder = old.put_sidecar(state, made, draft)
    (state / "skill-workshop/proposals.json").write_text(json.dumps({"proposals": [{"id": ONE}]}))
    report = mend(state)
    assert codes(report) == ["legacy-metadata", "legacy-index"]
    assert sorted(path.name for path in folder.iterdir()) == ["PROPOSAL.md"]
    assert not (state / "skill-workshop/proposals.json").exists()
    proposal = Proposal.objects.get(pk=ONE)
    assert (proposal.agent_id, proposal.updated_at) == ("main", from_iso(old.AT))
    assert desk.view(None, ONE, ME).bundle.draft == draft


def test_the_next_good_revision_moves_a_root_level_draft_onto_generations(state):
    made, draft = old.record(ONE, skill_dir=str(live(state, "weekly")), origin={"agentId": "main"})
    folder = old.put_sidecar(state, made, draft)
    mend(state)
    revised = revisions.revise_proposal("main", ONE, content="# New\n", caller=ME)
    assert revised.generation
    assert (folder / revised.draft_file).exists()
    first = desk.view(None, ONE, ME).generations[-1]
    assert generation_bundle(desk.open_desk("main", ME), first).bundle.draft == draft
    decisions.apply_proposal("main", ONE, expected_revision_hash=revised.revision_hash, caller=ME)
    assert (live(state, "weekly") / "SKILL.md").read_text().endswith("# New\n")


def test_a_rollback_file_comes_along_and_still_rolls_back(state):
    skill = live(state, "weekly")
    made, draft = old.record(
        ONE,
        skill_dir=str(skill),
        kind="update",
        status="applied",
        appliedAt=old.AT,
        origin={"agentId": "main"},
    )
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_bytes(old.skill_bytes(draft))
    rollback = {
        "proposalId": ONE,
        "writtenAt": old.AT,
        "targetSkillFile": f"{skill}/SKILL.md",
        "action": "update",
        "previousContent": "---\nname: weekly\ndescription: before\n---\n",
        "previousContentHash": sha256(b"---\nname: weekly\ndescription: before\n---\n"),
    }
    old.put_sidecar(state, made, draft, rollback)
    mend(state)
    assert Rollback.objects.get(pk=ONE).state == "applied"
    rollbacks.roll_back_proposal("main", ONE, caller=ME)
    assert (skill / "SKILL.md").read_text() == rollback["previousContent"]


@pytest.mark.parametrize("fault", ["draft", "record", "id", "schema"])
def test_what_cannot_be_verified_stays_as_it_is(fault, state):
    made, draft = old.record(ONE, skill_dir=str(live(state, "weekly")), origin={"agentId": "main"})
    if fault == "schema":
        made["schema"] = "x"
    folder = old.put_sidecar(state, made, draft)
    if fault == "draft":
        (folder / "PROPOSAL.md").write_bytes(draft + b"x")
    elif fault == "record":
        (folder / "proposal.json").write_text("{")
    elif fault == "id":
        (folder / "proposal.json").write_text(json.dumps({**made, "id": TWO}))
    before = old.snapshot(state)
    report = mend(state)
    assert codes(report) == ["legacy-unverified"]
    assert old.snapshot(state) == before
    assert Proposal.objects.count() == 0


# -- owners


def test_the_owner_follows_from_the_only_workspace_that_holds_the_target(state):
    made, draft = old.record(ONE, skill_dir=str(legacy(state, "weekly", "ops")))
    old.put_sidecar(state, made, draft)
    assert codes(mend(state)) == ["legacy-metadata", "legacy-create"]
    proposal = Proposal.objects.get(pk=ONE)
    assert (proposal.agent_id, proposal.legacy_dir, proposal.status) == ("ops", "", "pending")


@pytest.mark.parametrize(
    ("origin", "named"),
    [({"agentId": "ghost"}, "ghost"), ({"sessionKey": "agent:ghost:main"}, "ghost"), (None, "-")],
)
def test_a_proposal_without_a_certain_owner_becomes_stale_and_is_named(origin, named, state):
    made, draft = old.record(
        ONE, skill_dir="/srv/elsewhere/skills/weekly", **({"origin": origin} if origin else {})
    )
    folder = old.put_sidecar(state, made, draft)
    examine(fix=True)
    proposal = Proposal.objects.get(pk=ONE)
    assert proposal.status == "stale"
    assert named in proposal.status_reason
    assert (folder / "PROPOSAL.md").read_bytes() == draft


# -- moves


def applied_in_workspace(state, connection, *, update=False):
    """An applied create whose skill lies in the workspace, optionally with a pending update of it."""
    source = legacy(state, "weekly")
    made, draft = old.record(
        ONE, skill_dir=str(source), status="applied", appliedAt=old.AT, draft="generations/x/PROPOSAL.md"
    )
    made["draftFile"] = "generations/00000000-0000-4000-8000-000000000001/PROPOSAL.md"
    path = state / "skill-workshop/proposals" / ONE / made["draftFile"]
    path.parent.mkdir(parents=True)
    path.write_bytes(draft)
    source.mkdir(parents=True)
    (source / "SKILL.md").write_bytes(old.skill_bytes(draft))
    (source / "extra").mkdir()
    (source / "extra/run.py").write_text("print(1)\n")
    old.put_row(connection, made)
    old.put_event(connection, made, 1, "created")
    old.put_event(connection, made, 2, "applied", {"targetSkillFile": f"{source}/SKILL.md"})
    if update:
        bound = {"currentContentHash": sha256(old.skill_bytes(draft))}
        change, text = old.record(TWO, skill_dir=str(source), kind="update", body="# Better\n", target=bound)
        change["draftFile"] = "generations/00000000-0000-4000-8000-000000000002/PROPOSAL.md"
        path = state / "skill-workshop/proposals" / TWO / change["draftFile"]
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
        old.put_row(connection, change)
        old.put_event(connection, change, 3, "created")
    return source


def test_an_applied_skill_moves_and_its_pending_update_follows(state):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection, update=True)
    connection.close()
    assert codes(examine(fix=True)) == ["peer-database", "legacy-skill"]
    assert not source.exists()
    assert (live(state, "weekly") / "extra/run.py").read_text() == "print(1)\n"
    update = Proposal.objects.get(pk=TWO)
    assert (update.status, update.legacy_dir, update.updated_at) == ("pending", "", from_iso(old.AT))
    decisions.apply_proposal("main", TWO, expected_revision_hash=update.revision_hash, caller=ME)
    assert (live(state, "weekly") / "SKILL.md").read_text().endswith("# Better\n")
    assert examine(fix=True).findings == []


def test_until_then_nothing_touches_a_skill_in_its_old_place(state):
    connection = old.peer_database(state)
    applied_in_workspace(state, connection, update=True)
    connection.close()
    examine(fix=True)
    Proposal.objects.filter(pk=TWO).update(legacy_dir="/old/place")
    update = Proposal.objects.get(pk=TWO)
    with pytest.raises(WorkshopError) as error:
        decisions.apply_proposal("main", TWO, expected_revision_hash=update.revision_hash, caller=ME)
    assert error.value.code == "needs-doctor"


def test_a_pending_create_is_pointed_at_the_workshop(state):
    made, draft = old.record(ONE, skill_dir=str(legacy(state, "weekly")), origin={"agentId": "main"})
    old.put_sidecar(state, made, draft)
    assert codes(examine(fix=True)) == ["legacy-metadata", "legacy-create"]
    proposal = Proposal.objects.get(pk=ONE)
    assert (proposal.status, proposal.updated_at) == ("pending", from_iso(old.AT))
    decisions.apply_proposal("main", ONE, expected_revision_hash=proposal.revision_hash, caller=ME)
    assert (live(state, "weekly") / "SKILL.md").exists()


def test_an_update_of_a_skill_outside_becomes_stale(state):
    old.put_skill(legacy(state, "weekly"))
    made, draft = old.record(
        ONE, skill_dir=str(legacy(state, "weekly")), kind="update", origin={"agentId": "main"}
    )
    old.put_sidecar(state, made, draft)
    assert codes(examine(fix=True)) == ["legacy-metadata", "outside-update"]
    assert Proposal.objects.get(pk=ONE).status == "stale"
    assert (legacy(state, "weekly") / "SKILL.md").exists()


def test_a_symlinked_skill_stays_and_its_update_becomes_stale(state, tmp_path):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection, update=True)
    connection.close()
    real = tmp_path / "shared"
    source.rename(real)
    source.symlink_to(real)
    assert codes(examine(fix=True)) == ["peer-database", "symlinked-skill", "symlinked-update"]
    assert source.is_symlink()
    assert Proposal.objects.get(pk=TWO).status == "stale"
    assert not live(state, "weekly").exists()
    assert examine(fix=True).findings == []


def test_an_interrupted_move_with_two_equal_copies_removes_the_old_one(state):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection)
    connection.close()
    shutil.copytree(source, live(state, "weekly"))
    assert codes(examine(fix=True)) == ["peer-database", "legacy-skill"]
    assert not source.exists()
    assert examine(fix=True).findings == []


def test_an_interrupted_move_without_its_commit_is_adopted(state):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection, update=True)
    connection.close()
    live(state, "weekly").parent.mkdir(parents=True)
    source.rename(live(state, "weekly"))
    assert codes(examine(fix=True)) == ["peer-database", "legacy-skill"]
    assert [p.legacy_dir for p in Proposal.objects.all()] == ["", ""]


def test_something_else_at_the_new_place_is_a_conflict(state):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection, update=True)
    connection.close()
    old.put_skill(live(state, "weekly"), "# Another\n")
    assert codes(examine(fix=True)) == ["peer-database", "skill-conflict", "update-conflict"]
    assert (source / "SKILL.md").exists()
    assert (live(state, "weekly") / "SKILL.md").read_text().endswith("# Another\n")
    assert Proposal.objects.get(pk=TWO).status == "stale"


def test_a_skill_that_is_gone_from_both_places_is_named(state):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection, update=True)
    connection.close()
    shutil.rmtree(source)
    assert codes(examine(fix=True)) == ["peer-database", "skill-lost", "update-lost"]


def test_onto_another_disk_a_skill_is_copied_compared_and_then_removed(state, monkeypatch):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection)
    connection.close()
    rename = Path.rename

    def across(self, target):
        if self == source:
            raise OSError(18, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", across)
    before = targets.tree_files(source)
    assert codes(examine(fix=True)) == ["peer-database", "legacy-skill"]
    assert targets.tree_files(live(state, "weekly")) == before
    assert not source.exists()
    assert not list(live(state, "weekly").parent.glob(".moving-*"))


# -- leftovers


def test_a_pending_proposal_without_its_draft_becomes_stale(state):
    made = proposals.create_proposal("main", name="One", description="d", content="x", caller=ME)
    (state / "skill-workshop/proposals" / made.pk / made.draft_file).unlink()
    assert codes(mend(state)) == ["draft-missing"]
    assert Proposal.objects.get(pk=made.pk).status == "stale"


def test_without_its_draft_and_with_an_unfinished_apply_it_stays_pending(state):
    made = proposals.create_proposal("main", name="One", description="d", content="x", caller=ME)
    (state / "skill-workshop/proposals" / made.pk / made.draft_file).unlink()
    file = old.put_skill(live(state, "one")) / "SKILL.md"
    rollback = Rollback.objects.create(
        proposal=made, written_at=made.created_at, target_skill_file=str(file), action="create"
    )
    rollback.files.create(position=0, path="SKILL.md", existed=False, written_hash="0" * 64)
    report = examine(fix=True)
    assert codes(report) == ["cut-off", "draft-missing-cut-off"]
    assert len(report.open) == 2
    assert Proposal.objects.get(pk=made.pk).status == "pending"
    assert file.read_text().endswith("# Old\n")


def test_a_half_written_bundle_is_removed_only_when_it_is_old(state):
    made = proposals.create_proposal("main", name="One", description="d", content="x", caller=ME)
    folder = state / "skill-workshop/proposals" / made.pk / "generations/.staging-x"
    folder.mkdir()
    assert examine(fix=True).findings == []
    os.utime(folder, (1_700_000_000, 1_700_000_000))
    assert codes(mend(state)) == ["staging"]
    assert not folder.exists()


# -- backups of collections


def saved_review(backup_id, dropped=()):
    CollectionReview.objects.create(
        review_id=backup_id,
        owner_agent_id="main",
        backup_id=backup_id,
        create_time_ms=1,
        dropped=[{"name": name, "reason": "r"} for name in dropped],
    )


def test_a_backup_with_full_evidence_moves_to_its_agent(state):
    kept = old.put_skill(live(state, "kept"), "# After\n")
    folder = old.put_backup(
        state, state / "workspace-main", "b1", {"skills/kept": "# Before\n"}, {"skills/kept": kept}
    )
    saved_review("b1")
    assert codes(mend(state)) == ["backup"]
    moved = state / "agents/main/agent/skill-workshop/collection-backups/b1"
    manifest = json.loads((moved / "manifest.json").read_text())
    assert (manifest["schema"], manifest["skillDirs"]) == ("openclaw.skill-collection-backup.v2", ["kept"])
    assert (moved / "skills/kept/SKILL.md").read_text().endswith("# Before\n")
    assert not folder.exists()


@pytest.mark.parametrize("missing", ["review", "hash"])
def test_a_backup_without_full_evidence_becomes_history_and_stays(missing, state):
    kept = old.put_skill(live(state, "kept"), "# After\n")
    folder = old.put_backup(
        state, state / "workspace-main", "b1", {"skills/kept": "# Before\n"}, {"skills/kept": kept}
    )
    if missing == "hash":
        saved_review("b1")
        (kept / "SKILL.md").write_text("---\nname: kept\ndescription: changed\n---\n")
    assert codes(mend(state)) == ["backup-history"]
    moved = state / "agents/main/agent/skill-workshop/collection-backups/b1"
    assert "kept" in json.loads((moved / "manifest.json").read_text())["restoreUnavailableReason"]
    assert (folder / "manifest.json").exists()


def test_a_gone_workspace_is_recognised_by_exactly_one_complete_match(state):
    kept = old.put_skill(live(state, "kept"), "# After\n")
    old.put_backup(state, state / "gone", "b1", {"skills/kept": "# Before\n"}, {"skills/kept": kept})
    saved_review("b1")
    assert codes(mend(state)) == ["backup"]


@pytest.mark.parametrize("case", ["ambiguous", "changed", "empty"])
def test_a_backup_that_points_at_nobody_for_certain_is_kept_and_reported(case, state):
    kept = old.put_skill(live(state, "kept"), "# After\n")
    results = {} if case == "empty" else {"skills/kept": kept}
    folder = old.put_backup(state, state / "gone", "b1", {"skills/kept": "# Before\n"}, results)
    if case == "ambiguous":
        old.put_skill(live(state, "kept", "ops"), "# After\n")
    if case == "changed":
        (kept / "SKILL.md").write_text("changed")
    report = mend(state)
    assert codes(report) == ["backup-kept"]
    assert "main" in report.findings[0].sentence
    assert "ops" in report.findings[0].sentence
    assert (folder / "manifest.json").exists()


def test_a_broken_manifest_is_kept(state):
    folder = old.put_backup(state, state / "workspace-main", "b1", {"skills/a": "x"}, {})
    (folder / "manifest.json").write_text('{"schema": "other"}')
    assert codes(mend(state)) == ["backup-kept"]


# -- automations


def test_automations_that_name_the_old_place_are_listed_and_not_changed(state):
    connection = old.peer_database(state)
    source = applied_in_workspace(state, connection)
    jobs = {
        "argument": {"payload": {"kind": "command", "argv": ["python3", f"{source}/extra/run.py"]}},
        "folder": {"payload": {"kind": "command", "argv": ["ls"], "cwd": f"{source}/gone"}},
        "message": {"payload": {"kind": "agentTurn", "message": f"Run {source}/extra/run.py please"}},
        "neighbour": {"payload": {"kind": "agentTurn", "message": f"Run {source}-other/x"}},
    }
    for name, job in jobs.items():
        old.insert(
            connection,
            "cron_jobs",
            store_key="s",
            job_id=name,
            name=name,
            enabled=1,
            payload_kind="x",
            job_json=json.dumps(job),
            state_json="{}",
            sort_order=0,
            updated_at=0,
        )
    connection.close()
    examine(fix=True)
    before = old.snapshot(state)
    found = [finding for finding in examine(fix=True).findings if finding.code == "automation-path"]
    assert [finding.done for finding in found] == [False] * 3
    by_job = {name: f.sentence for f in found for name in jobs if f"cron {name} " in f.sentence}
    assert set(by_job) == {"argument", "folder", "message"}
    assert f"Replace it with {live(state, 'weekly')}/extra/run.py." in by_job["argument"]
    assert "does not exist" in by_job["folder"]
    assert "left for you to change" in by_job["message"]
    assert old.snapshot(state) == before


# -- the peer's database


def test_a_real_database_is_copied_with_its_sequence_numbers(state):
    connection = old.peer_database(state)
    applied_in_workspace(state, connection, update=True)
    old.insert(
        connection,
        "skill_usage",
        skill_file=str(live(state, "weekly") / "SKILL.md"),
        skill_key="weekly",
        skill_name="weekly",
        skill_source="workspace",
        first_used_at_ms=1,
        last_used_at_ms=5,
        use_count=3,
    )
    old.insert(
        connection,
        "skill_workshop_collection_reviews",
        review_id="r1",
        owner_agent_id="main",
        backup_id="b",
        create_time=7,
        kept_names_json='["a"]',
        written_names_json="[]",
        dropped_json="[]",
    )
    old.put_curator_state(connection, CURATOR)
    path = state / "state/openclaw.sqlite"
    before = (path.read_bytes(), sorted(p.name for p in path.parent.iterdir()))
    examine(fix=True)
    assert list(Event.objects.values_list("sequence", "type")) == [
        (1, "created"),
        (2, "applied"),
        (3, "created"),
    ]
    assert ImportRun.objects.get().counts == {
        "proposals_imported": 2,
        "events": 3,
        "usage": 1,
        "reviews": 1,
        "review_states": 4,
    }
    assert (path.read_bytes(), sorted(p.name for p in path.parent.iterdir())) == before
    fresh = proposals.create_proposal("main", name="Next", description="d", content="x", caller=ME)
    assert Event.objects.get(proposal=fresh).sequence == 4
    connection.execute("update skill_usage set use_count = 5")
    connection.commit()
    examine(fix=True)
    assert SkillUsage.objects.get().use_count == 5
    assert Proposal.objects.count() == 3
    connection.close()


def test_the_state_of_reviews_follows_the_peer_and_the_curator_answers_it(state):
    connection = old.peer_database(state)
    old.put_curator_state(connection, CURATOR)
    examine(fix=True)
    status = wire.curator_status(ME, live_inventory=True)
    assert {name: status[name] for name in REVIEWED} == REVIEWED
    newer = copy.deepcopy(CURATOR)
    newer["lastResult"]["experienceReviews"]["e" * 64] = {"attemptedAtMs": 9, "outcome": "nothing"}
    old.put_curator_state(connection, newer)
    examine(fix=True)
    status = wire.curator_status(ME, live_inventory=False)
    assert status["experienceReview"]["e" * 64] == {"attemptedAtMs": 9, "outcome": "nothing"}
    assert ReviewState.objects.count() == 4
    assert "not ours" not in str(list(ReviewState.objects.values()))
    connection.close()


@pytest.mark.parametrize(
    "text", ["no json", "[]", '{"lastResult": []}', '{"lastResult": {"experienceReviews": [1]}}']
)
def test_a_state_of_reviews_that_cannot_be_read_is_left_alone(state, text):
    connection = old.peer_database(state)
    old.put_curator_state(connection, text)
    examine(fix=True)
    status = wire.curator_status(ME, live_inventory=True)
    assert (status["collectionReview"], status["experienceReview"]) == ({}, {})
    connection.close()


def test_what_is_newer_there_is_taken_and_what_was_touched_here_stays(state):
    connection = old.peer_database(state)
    made, draft = old.record(ONE, skill_dir=str(live(state, "weekly")))
    old.put_row(connection, made)
    old.put_event(connection, made, 1, "created")
    folder = state / "skill-workshop/proposals" / ONE
    folder.mkdir(parents=True)
    (folder / "PROPOSAL.md").write_bytes(draft)
    examine(fix=True)
    later = made | {
        "status": "rejected",
        "updatedAt": "2026-02-02T00:00:00.000Z",
        "rejectedAt": "2026-02-02T00:00:00.000Z",
    }
    connection.execute("delete from skill_workshop_proposals")
    old.put_row(connection, later)
    examine(fix=True)
    assert Proposal.objects.get(pk=ONE).status == "rejected"
    connection.execute("delete from skill_workshop_proposals")
    old.put_row(connection, made | {"updatedAt": "2027-01-01T00:00:00.000Z"})
    Event.objects.create(
        sequence=99,
        event_id="x",
        proposal_id=ONE,
        agent_id="main",
        proposed_version="v1",
        revision_hash="0" * 64,
        type="stale",
        occurred_at=from_iso(old.AT),
        actor={"type": "system"},
    )
    assert "peer-both-changed" in codes(examine(fix=True))
    assert Proposal.objects.get(pk=ONE).status == "rejected"
    connection.close()


@pytest.mark.parametrize("column", [{"status": "applied"}, {"draft_hash": "0" * 64}, {"record_json": "{"}])
def test_a_row_that_contradicts_its_record_counts_as_not_there(column, state):
    connection = old.peer_database(state)
    made, _draft = old.record(ONE, skill_dir=str(live(state, "weekly")))
    old.put_row(connection, made, **column)
    connection.close()
    assert "peer-row" in codes(examine(fix=True))
    assert Proposal.objects.count() == 0


def test_a_file_that_is_no_database_is_reported(state):
    path = state / "state/openclaw.sqlite"
    path.parent.mkdir()
    path.write_text("not a database, but long enough to be read as one " * 20)
    assert codes(mend(state)) == ["peer-unreadable"]


def test_an_agent_without_configuration_keeps_its_decided_proposals(state):
    connection = old.peer_database(state)
    applied_in_workspace(state, connection)
    connection.close()
    write_config(state, {}, agents=("ops",))
    examine(fix=True)
    assert Proposal.objects.get(pk=ONE).status == "applied"


def test_the_tree_hash_is_the_peers(tmp_path):
    """The value was computed by OpenClaw 2026.9's own function on the same three files."""
    (tmp_path / "assets/deep").mkdir(parents=True)
    (tmp_path / "SKILL.md").write_text("hi\n")
    (tmp_path / "assets/a.txt").write_text("a\n")
    (tmp_path / "assets/deep/B").write_text("é")
    wanted = "a14de1094cba415104d54216d855eff2055b8dbc6fef7391fc8655e61f30e058"
    assert targets.tree_digest(targets.tree_files(tmp_path)) == wanted
