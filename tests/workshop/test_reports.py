"""Cases from other people's bug reports (reports.md, Workshop rows 1-14 and security rows 38-41), by number."""

import json
import os
import shutil

import pytest

from agents.roster import forget_roster
from gateway.callers import SCOPES, Caller, command_caller
from gateway.models import AuditEntry
from openclaw_web.markdown import render_markdown
from tests.workshop.conftest import write_config
from workshop import live, sentences
from workshop.errors import WorkshopError
from workshop.models import Event, Proposal, Rollback
from workshop.queries import desk, skills, waiting_count, wire
from workshop.services import decisions, proposals, recovery, revisions

pytestmark = pytest.mark.django_db
ME = command_caller()


@pytest.fixture
def state(two_agents):
    return two_agents


def create(name="Skill one", agent="main", **more):
    params = {"name": name, "description": "d", "content": "# Text\n", **more}
    return proposals.create_proposal(agent, caller=ME, **params)


def apply(proposal, agent="main", **more):
    return decisions.apply_proposal(
        agent, proposal.pk, expected_revision_hash=proposal.revision_hash, caller=ME, **more
    )


def put(state, name, text, agent="main"):
    file = state / f"agents/{agent}/agent/workshop-skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def refused(call, *args, **kwargs):
    with pytest.raises(WorkshopError) as error:
        call(*args, **kwargs)
    return error.value


LONG = (
    "---\nname: long\ndescription: d\n---\n\n"
    + "\n".join(f"Step {n}: do thing {n}" for n in range(20))
    + "\n"
)


def test_row_1_a_plan_in_prose_is_flagged_and_needs_a_second_yes(state):
    file = put(state, "long", LONG)
    update = proposals.propose_update(
        "main", skill_name="long", content="I plan to rewrite this later and ask the team.\n", caller=ME
    )
    view = desk.view(None, update.pk, ME)
    assert [(notice.code, notice.risk) for notice in view.notices] == [("drops-most", True)]
    assert [pair.change for pair in view.pairs] == ["changed"]
    error = refused(apply, update)
    assert (error.code, error.facts) == ("needs-acknowledgement", {"risks": ["drops-most"]})
    assert file.read_text() == LONG
    assert apply(update, acknowledged=True).status == "applied"


def test_row_1_an_update_that_keeps_the_skill_is_not_flagged(state):
    put(state, "long", LONG)
    body = LONG.partition("---\n\n")[2].replace("thing 3", "thing three")
    update = proposals.propose_update("main", skill_name="long", content=body, caller=ME)
    assert desk.view(None, update.pk, ME).notices == []
    assert apply(update).status == "applied"


# Row 14, a file that may not be read: test_unreadable.py. Row 2 and 3 (killed after SKILL.md; killed halfway through a revise): test_crashes.py, with real processes.


def test_row_4_list_and_detail_agree_and_looking_writes_nothing(state):
    made = create()
    put(state, "skill-one", "---\nname: skill-one\ndescription: by hand\n---\n")
    before = (Event.objects.count(), Proposal.objects.get(pk=made.pk).row_version)
    row = desk.rows(desk.find("main"))[0]
    assert (row.state.code, row.state.stale) == ("appeared", True)
    assert desk.view(None, made.pk, ME).state == row.state
    assert waiting_count("main") == 1
    assert (Event.objects.count(), Proposal.objects.get(pk=made.pk).row_version) == before


def test_row_5_every_read_carries_its_agent(state):
    for number in range(7):
        create(f"skill {number}", agent="ops")
    assert desk.find("main").count() == 0
    assert desk.find(None).count() == 7
    one = desk.find("ops").first()
    assert desk.view(None, one.pk, ME).desk.id == "ops"
    assert refused(desk.view, "main", one.pk, ME).code == "not-found"
    assert desk.folder_looked_in(ME, "main") == [f"{state}/agents/main/agent/workshop-skills"]
    assert refused(apply, one, agent="main").code == "not-found"


def test_row_6_a_moved_state_folder_moves_the_targets_along(state, settings, tmp_path):
    made = create()
    moved = tmp_path / "moved"
    shutil.move(state, moved)
    settings.OPENCLAW_STATE_DIR = moved
    forget_roster()
    view = desk.view(None, made.pk, ME)
    assert (
        view.record["target"]["skillFile"] == f"{moved}/agents/main/agent/workshop-skills/skill-one/SKILL.md"
    )
    apply(made)
    assert (moved / "agents/main/agent/workshop-skills/skill-one/SKILL.md").exists()


def test_row_6_a_proposal_whose_agent_is_gone_is_still_listed(state):
    made = create(agent="ops")
    write_config(state, {}, agents=("main",))
    row = desk.rows(desk.find(None))[0]
    assert (row.proposal.pk, row.desk) == (made.pk, None)


def test_row_7_a_full_desk_names_both_counts(state):
    for number in range(50):
        made = create(f"s{number}")
        decisions.quarantine_proposal("main", made.pk, caller=ME)
    error = refused(create, "one more")
    assert error.facts == {"pending": 0, "quarantined": 50, "limit": 50}
    assert "0 pending" in error.message
    assert "50 in quarantine" in error.message


def test_row_8_two_updates_of_one_skill_know_of_each_other(state):
    put(state, "long", LONG)
    first, second = (
        proposals.propose_update("main", skill_name="long", content=f"{LONG}\n{n}\n", caller=ME)
        for n in (1, 2)
    )
    assert [rival.pk for rival in desk.view(None, second.pk, ME).rivals] == [first.pk]
    apply(first)
    assert desk.view(None, second.pk, ME).state.code == "changed"
    assert refused(apply, second).code == "stale"
    assert Proposal.objects.get(pk=second.pk).status == "stale"


@pytest.mark.parametrize(("text", "size"), [("字" * 54, 162), ("字" * 53 + "ab", 161), ("😀" * 41, 164)])
def test_row_9_descriptions_are_counted_in_bytes(state, text, size):
    error = refused(create, description=text)
    assert error.code == "description-too-long"
    assert f"{size} bytes" in error.message


@pytest.mark.parametrize("text", ["字" * 53, "a" * 160, "😀" * 40])
def test_row_9_what_fits_is_kept_whole(state, text):
    assert create(description=text).record["description"] == text


def test_row_10_each_bad_file_has_its_own_message(state):
    files = [
        {"path": "skill-card.md", "content": "x"},
        {"path": "references/.env", "content": "x"},
        {"path": "references/ok.md", "content": "x"},
        {"path": "references\\a.md", "content": "x"},
    ]
    error = refused(create, support_files=files)
    assert [(p["path"], p["code"]) for p in error.problems] == [
        ("skill-card.md", "path-root"),
        ("references/.env", "path-segment"),
        ("references\\a.md", "path-backslash"),
    ]
    assert all(problem["path"] in problem["message"] for problem in error.problems)
    assert Proposal.objects.count() == 0


def test_row_10_a_name_that_turns_the_direction_is_shown_harmlessly(state):
    made = create(support_files=[{"path": "assets/a\u202egnp.txt", "content": "x"}])
    notice = desk.view(None, made.pk, ME).notices[0]
    assert notice.code == "direction-character"
    assert "\u202e" not in notice.sentence


def test_row_11_a_proposal_without_its_draft_can_only_be_rejected(state):
    made = create()
    shutil.rmtree(state / "skill-workshop/proposals" / made.pk)
    assert [row.state.code for row in desk.rows(desk.find("main"))] == ["draft-missing"]
    assert refused(apply, made).code == "stored-missing"
    assert (
        refused(revisions.revise_proposal, "main", made.pk, content="x", caller=ME).code == "stored-missing"
    )
    done = decisions.reject_proposal("main", made.pk, expected_revision_hash=made.revision_hash, caller=ME)
    assert done.status == "rejected"


def test_row_12_links_are_skipped_with_where_they_lead(state, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: o\ndescription: o\n---\n")
    root = state / "agents/main/agent/workshop-skills"
    put(state, "inside", "---\nname: inside\ndescription: d\n---\n")
    (root / "away").symlink_to(outside)
    (root / "again").symlink_to(root / "inside")
    (root / "deep").mkdir()
    (root / "deep/nested").symlink_to(outside)
    found = skills.collection(ME, "main")
    assert [row.skill.name for row in found.skills] == ["inside"]
    assert [(item.item.dir, item.sentence) for item in found.invalid] == [
        ("again", f"Skipped: resolves to {root}/inside."),
        ("away", f"Skipped: resolves to {outside}."),
        ("deep/nested", f"Skipped: resolves to {outside}."),
    ]


def test_row_12_the_skills_folder_itself_may_be_a_link(state, tmp_path):
    real = tmp_path / "elsewhere"
    real.mkdir()
    agent_dir = state / "agents/main/agent"
    agent_dir.mkdir(parents=True)
    (agent_dir / "workshop-skills").symlink_to(real)
    apply(create())
    assert (real / "skill-one/SKILL.md").exists()
    assert [row.skill.name for row in skills.collection(ME, "main").skills] == ["skill-one"]


def test_row_13_an_unquoted_colon_is_listed_with_a_suggestion(state):
    text = "---\nname: x\ndescription: Do A. Use when: (1) b\n---\n"
    file = put(state, "x", text)
    skill = skills.collection(ME, "main").skills[0].skill
    assert skill.description == "Do A. Use when: (1) b"
    assert (skill.repaired.line, skill.repaired.suggestion) == (3, 'description: "Do A. Use when: (1) b"')
    assert file.read_text() == text


BAD = {
    "no-block": [
        "no block at all\n",
        "\n---\nname: x\ndescription: d\n---\n",
        "---\nname: x\ndescription: d\n",
    ],
    "invalid-yaml": ["---\nname: x\nname: y\ndescription: d\n---\n", "---\nname: [x\ndescription: d\n---\n"],
    "not-utf8": [b"---\nname: x\ndescription: caf\xe9\n---\n"],
    "no-description": ["---\nname: x\n---\n", "---\non: 1\nno: x\n---\n"],
}
GOOD = {
    "bom": "\ufeff---\nname: bom\ndescription: d\n---\n",
    "crlf": "---\r\nname: crlf\r\ndescription: d\r\n---\r\n",
    "no-end": "---\nname: no-end\ndescription: d\n---",
    "rules": "---\nname: rules\ndescription: d\n---\na\n---\nb: [\n---\n",
    "anchors": "---\nname: &n anchors\ndescription: *n\n---\n",
    "keys": "---\nname: keys\ndescription: d\non: true\nno: 1\n---\n",
}


def test_row_14_one_bad_file_never_breaks_the_list(state):
    for name, text in GOOD.items():
        put(state, name, text)
    for code, texts in BAD.items():
        for number, text in enumerate(texts):
            put(state, f"bad-{code}-{number}", text)
    found = skills.collection(ME, "main")
    assert [row.skill.name for row in found.skills] == sorted(GOOD)
    wrong = {item.item.dir: item.item.code for item in found.invalid}
    assert wrong == {f"bad-{code}-{n}": code for code, texts in BAD.items() for n in range(len(texts))}
    assert all(item.sentence for item in found.invalid)
    line = next(item.item.line for item in found.invalid if item.item.dir == "bad-not-utf8-0")
    assert line == 3


def test_row_14_a_file_that_is_too_large_is_named(state):
    put(state, "large", "---\nname: large\ndescription: d\n---\n" + "x" * live.MAX_SKILL_FILE_BYTES)
    assert skills.collection(ME, "main").invalid[0].item.code == "too-large"


# -- security rows


# Rows 38 (what is hostile stays text), 39 and 41 on the pages: test_inert.py. Row 40: test_secrets.py.


@pytest.mark.parametrize("name", ["../../../etc/passwd", "..", "\0", "/etc/passwd", "skill-one/../../x"])
def test_row_39_no_name_reads_outside_the_workshop(state, name):
    apply(create())
    error = refused(wire.read_skill, desk.open_desk("main", ME), name)
    assert error.code == "no-skill"
    assert refused(skills.skill_page, "main", name, ME).code == "no-skill"


def test_row_39_a_fifo_is_neither_a_skill_nor_waited_for(state):
    folder = state / "agents/main/agent/workshop-skills/pipe"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "SKILL.md")
    assert skills.collection(ME, "main").invalid[0].item.code == "not-regular"


def test_row_39_another_agents_token_sees_nothing(state):
    create()
    other = Caller(kind="token", label="t", scopes=frozenset(SCOPES), agent_ids=frozenset({"ops"}))
    with pytest.raises(Exception, match="may not see"):
        desk.open_desk("main", other)


def test_row_40_a_credential_is_neither_stored_nor_repeated(state, caplog):
    secret = "gh" + "p_A1b2A1b2A1b2A1b2A1b2"
    error = refused(create, content=f"use {secret}\n")
    assert (error.code, secret in error.message) == ("literal-secret", False)
    assert Proposal.objects.count() == 0
    assert secret not in json.dumps(list(AuditEntry.objects.values("detail", "reason", "subject")))
    assert secret not in caplog.text


def test_row_41_a_hostile_body_is_rendered_in_time(state):
    made = create(content="[" * 15_000 + "\n")
    assert render_markdown(desk.view(None, made.pk, ME).skill_text)


# -- a person settles what recovery could not


@pytest.fixture
def stuck(state):
    made = create()
    file = put(state, "skill-one", "---\nname: x\ndescription: somebody else\n---\n")
    rollback = Rollback.objects.create(
        proposal=made,
        written_at=made.created_at,
        target_skill_file=str(file),
        action="create",
        made_dirs=["skill-one"],
    )
    rollback.files.create(position=0, path="SKILL.md", existed=False, written_hash="0" * 64)
    return made, file


def test_row_2_keeping_what_stands_makes_the_proposal_stale(stuck):
    made, file = stuck
    assert desk.view(None, made.pk, ME).state.code == "recovery"
    done = recovery.decide_recovery("main", made.pk, keep="live", caller=ME)
    assert (done.status, file.exists(), Rollback.objects.exists()) == ("stale", True, False)


def test_row_2_restoring_puts_back_what_was_there(stuck):
    made, file = stuck
    done = recovery.decide_recovery("main", made.pk, keep="earlier", caller=ME)
    assert (done.status, file.exists(), Rollback.objects.exists()) == ("pending", False, False)
    assert apply(Proposal.objects.get(pk=made.pk)).status == "applied"
    assert sentences.recovery_needed("x").code == "recovery-unfinished"
