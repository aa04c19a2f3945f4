"""One proposal's life through the services, with the files it leaves."""

import pytest

from gateway.callers import command_caller
from workshop.errors import WorkshopError
from workshop.models import Event, Proposal, Rollback
from workshop.queries import desk, skills
from workshop.services import decisions, proposals, revisions, rollbacks

pytestmark = pytest.mark.django_db
ME = command_caller()


@pytest.fixture
def made(two_agents):
    return proposals.create_proposal(
        "main",
        name="Morning Catchup",
        description="Triage the inbox",
        content="# Morning\n",
        support_files=[{"path": "scripts/run.sh", "content": "echo hi\n"}],
        caller=ME,
    )


def live(state_dir, path=""):
    return state_dir / "agents/main/agent/workshop-skills/morning-catchup" / path


def apply(proposal, **extra):
    return decisions.apply_proposal(
        "main", proposal.pk, expected_revision_hash=proposal.revision_hash, caller=ME, **extra
    )


def test_nothing_live_is_touched_before_apply(made, state_dir):
    revisions.revise_proposal("main", made.pk, content="# Evening\n", caller=ME)
    assert not live(state_dir).exists()


def test_every_generation_stays_on_the_disk(made, state_dir):
    revisions.revise_proposal("main", made.pk, content="# Evening\n", caller=ME)
    revisions.revise_proposal("main", made.pk, content="# Night\n", caller=ME)
    folder = state_dir / "skill-workshop/proposals" / made.pk / "generations"
    bodies = sorted((path / "PROPOSAL.md").read_text().rpartition("# ")[2] for path in folder.iterdir())
    assert bodies == ["Evening\n", "Morning\n", "Night\n"]


def test_applying_writes_the_skill_and_its_files(made, state_dir):
    apply(made)
    assert live(state_dir, "SKILL.md").read_text() == (
        '---\nname: "morning-catchup"\ndescription: "Triage the inbox"\n---\n\n# Morning\n'
    )
    assert live(state_dir, "scripts/run.sh").read_text() == "echo hi\n"
    assert oct(live(state_dir, "SKILL.md").stat().st_mode & 0o777) == "0o600"


def test_rolling_a_new_skill_back_leaves_no_trace(made, state_dir):
    apply(made)
    rollbacks.roll_back_proposal("main", made.pk, caller=ME)
    assert not live(state_dir).exists()
    assert Proposal.objects.get(pk=made.pk).status == "applied"
    assert Event.objects.filter(proposal=made).last().type == "rolled_back"


def test_rolling_an_update_back_restores_bytes_and_modes(made, state_dir):
    apply(made)
    live(state_dir, "SKILL.md").chmod(0o644)
    before = live(state_dir, "SKILL.md").read_bytes()
    update = proposals.propose_update(
        "main",
        skill_name="morning-catchup",
        content="# Changed\n",
        support_files=[
            {"path": "scripts/run.sh", "content": "two\n"},
            {"path": "assets/deep/new.txt", "content": "n"},
        ],
        caller=ME,
    )
    apply(update)
    assert live(state_dir, "scripts/run.sh").read_text() == "two\n"
    rollbacks.roll_back_proposal("main", update.pk, reason="no good", caller=ME)
    assert live(state_dir, "SKILL.md").read_bytes() == before
    assert oct(live(state_dir, "SKILL.md").stat().st_mode & 0o777) == "0o644"
    assert live(state_dir, "scripts/run.sh").read_text() == "echo hi\n"
    assert not live(state_dir, "assets").exists()


def test_a_changed_skill_is_not_rolled_back(made, state_dir):
    apply(made)
    live(state_dir, "SKILL.md").write_text("---\nname: x\ndescription: y\n---\nmine\n")
    with pytest.raises(WorkshopError) as refused:
        rollbacks.roll_back_proposal("main", made.pk, caller=ME)
    assert refused.value.code == "live-changed"
    assert Rollback.objects.get(pk=made.pk).state == "applied"


def test_rolling_back_twice_is_refused(made):
    apply(made)
    rollbacks.roll_back_proposal("main", made.pk, caller=ME)
    with pytest.raises(WorkshopError) as refused:
        rollbacks.roll_back_proposal("main", made.pk, caller=ME)
    assert refused.value.code == "rolled-back-already"


def test_the_view_has_what_a_reviewer_needs(made):
    view = desk.view(None, made.pk, ME)
    assert [(pair.path, pair.change) for pair in view.pairs] == [
        ("SKILL.md", "added"),
        ("scripts/run.sh", "added"),
    ]
    assert view.state.code == "ok"
    assert [generation.version for generation in view.generations] == [1]
    apply(made)
    assert desk.view(None, made.pk, ME).can_roll_back


def test_skills_changed_since_they_were_applied_stand_first(made, state_dir):
    apply(made)
    for name in ("aaa", "bbb"):
        folder = live(state_dir).parent / name
        folder.mkdir()
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: by hand\n---\n")
    assert [row.skill.name for row in skills.collection(ME, None).skills] == ["aaa", "bbb", "morning-catchup"]
    live(state_dir, "SKILL.md").write_text("---\nname: morning-catchup\ndescription: changed\n---\n")
    rows = skills.collection(ME, None).skills
    assert [(row.skill.name, row.changed) for row in rows] == [
        ("morning-catchup", True),
        ("aaa", False),
        ("bbb", False),
    ]
    page = skills.skill_page("main", "morning-catchup", ME)
    assert [pair.change for pair in page.difference] == ["changed"]


@pytest.fixture
def update(made, state_dir):
    """A pending update of SKILL.md alone; the live skill also has scripts/run.sh."""
    apply(made)
    return proposals.propose_update("main", skill_name="morning-catchup", content="# Changed\n", caller=ME)


@pytest.mark.parametrize("change", ["edited", "vanished", "appeared"])
def test_an_update_goes_stale_when_any_file_of_the_live_skill_changed(update, state_dir, change):
    if change == "edited":
        live(state_dir, "scripts/run.sh").write_text("echo another\n")
    elif change == "vanished":
        live(state_dir, "scripts/run.sh").unlink()
    else:
        live(state_dir, "scripts/more.sh").write_text("echo more\n")
    with pytest.raises(WorkshopError):
        apply(update)
    update.refresh_from_db()
    assert update.status == "stale"
    assert "Another file of the live skill" in update.record["statusReason"]
    assert live(state_dir, "SKILL.md").read_text().endswith("# Morning\n")


def test_a_revision_of_such_an_update_is_refused_too(update, state_dir):
    live(state_dir, "scripts/run.sh").write_text("echo another\n")
    with pytest.raises(WorkshopError):
        revisions.revise_proposal("main", update.pk, content="# Again\n", caller=ME)
    update.refresh_from_db()
    assert update.status == "stale"


def test_bound_as_the_peer_binds_other_files_do_not_matter(update, state_dir, settings):
    settings.WORKSHOP_BIND_WHOLE_TARGET = False
    live(state_dir, "scripts/run.sh").write_text("echo another\n")
    apply(update)
    assert live(state_dir, "SKILL.md").read_text().endswith("# Changed\n")
    assert live(state_dir, "scripts/run.sh").read_text() == "echo another\n"


def test_an_untouched_skill_is_updated(update, state_dir):
    apply(update)
    assert live(state_dir, "SKILL.md").read_text().endswith("# Changed\n")
