"""Who may decide, evaluators, remarks, requests, learning, retention."""

import json
import stat
import sys

import pytest
from django_q.models import OrmQ

from gateway.callers import SCOPES, Caller, command_caller
from gateway.models import AuditEntry, Delivery
from tests.workshop.conftest import write_config
from workshop import config, evaluators, tasks
from workshop.errors import WorkshopError
from workshop.models import AgentDesk, Comment, Event, Proposal, SkillUsage
from workshop.queries import desk
from workshop.services import comments, decisions, evaluations, proposals, requests, revisions, usage

pytestmark = pytest.mark.django_db
ME = command_caller()


@pytest.fixture
def made(two_agents):
    return proposals.create_proposal("main", name="One", description="d", content="# Text\n", caller=ME)


def apply(proposal, caller=ME):
    return decisions.apply_proposal(
        "main", proposal.pk, expected_revision_hash=proposal.revision_hash, caller=caller
    )


def refusal(call, *args, **kwargs):
    with pytest.raises(WorkshopError) as error:
        call(*args, **kwargs)
    return error.value.code


# -- who may decide


@pytest.mark.parametrize("operation", ["apply", "reject", "quarantine"])
def test_an_agent_decides_nothing_unless_the_policy_lets_it(operation, made, agent_caller):
    decide = {
        "apply": decisions.apply_proposal,
        "reject": decisions.reject_proposal,
        "quarantine": decisions.quarantine_proposal,
    }[operation]
    code = refusal(decide, "main", made.pk, expected_revision_hash=made.revision_hash, caller=agent_caller)
    assert code == "approval-pending"
    assert Proposal.objects.get(pk=made.pk).status == "pending"
    assert AuditEntry.objects.filter(outcome="refused", subject=made.pk).count() == 1


def test_an_agent_may_decide_where_openclaw_json_says_auto(made, agent_caller, state_dir):
    write_config(state_dir, {"approvalPolicy": "auto"})
    assert apply(made, agent_caller).status == "applied"


def test_the_desks_own_rule_goes_before_openclaw_json(made, agent_caller, state_dir):
    write_config(state_dir, {"approvalPolicy": "auto"})
    AgentDesk.objects.update_or_create(pk="main", defaults={"approval_policy": "pending"})
    assert refusal(apply, made, agent_caller) == "approval-pending"


def test_an_agents_proposal_says_where_it_comes_from(two_agents, agent_caller):
    made = proposals.create_proposal(
        "main",
        name="agent made",
        description="made through the agent tool",
        content="# body\n",
        caller=agent_caller,
    )
    assert made.record["createdBy"] == "skill-workshop"
    assert made.record["origin"] == {"agentId": "main", "sessionKey": "agent:main:main"}
    assert Event.objects.get(proposal=made).actor == {"type": "agent", "id": "main"}


@pytest.mark.parametrize(("size", "code"), [(10_000, None), (10_001, "autonomous-too-long")])
def test_an_agents_own_text_has_ten_thousand_characters_at_most(size, code, two_agents, agent_caller):
    words = {"name": "One", "description": "d", "content": "---\nlicense: MIT\n---\n\n" + "字" * size}
    if code is None:
        assert proposals.create_proposal("main", caller=agent_caller, **words).is_pending
    else:
        assert refusal(proposals.create_proposal, "main", caller=agent_caller, **words) == code
        assert proposals.create_proposal("main", caller=ME, **words).is_pending


@pytest.mark.parametrize(("size", "fits"), [(10_499, True), (10_500, False), (10_501, False)])
def test_a_skill_that_is_longer_already_may_only_become_shorter(size, fits, two_agents, agent_caller):
    long = proposals.create_proposal(
        "main", name="One", description="d", content="x" * 10_499 + "\n", caller=ME
    )
    apply(long)
    words = {"skill_name": "one", "content": "y" * size}
    if fits:
        made = proposals.propose_update("main", caller=agent_caller, **words)
        assert refusal(
            revisions.revise_proposal, "main", made.pk, content="z" * 10_500, caller=agent_caller
        ) == ("autonomous-too-long")
    else:
        assert (
            refusal(proposals.propose_update, "main", caller=agent_caller, **words) == "autonomous-too-long"
        )


def test_every_refused_decision_is_in_the_audit_trail(made, person):
    assert (
        refusal(decisions.reject_proposal, "main", made.pk, expected_revision_hash="0" * 64, caller=person)
        == "SKILL_PROPOSAL_REVISION_CHANGED"
    )
    entry = AuditEntry.objects.filter(outcome="refused").get()
    assert (entry.action, entry.subject, entry.actor, entry.digest, entry.reason, entry.agent_id) == (
        "proposal.rejected",
        made.pk,
        "reviewer",
        made.revision_hash,
        "SKILL_PROPOSAL_REVISION_CHANGED",
        "main",
    )


def test_a_viewer_changes_nothing(made, people):
    viewer = Caller(kind="person", label="viewer", scopes=frozenset({"operator.read"}), user=people["viewer"])
    with pytest.raises(Exception, match="needs the right"):
        apply(made, viewer)
    with pytest.raises(Exception, match="needs the right"):
        comments.add_comment("main", made.pk, body="x", caller=viewer)


def test_with_two_people_the_author_cannot_apply(two_agents, person, people):
    AgentDesk.objects.create(pk="main", two_person=True)
    made = proposals.create_proposal("main", name="One", description="d", content="# T\n", caller=person)
    assert refusal(apply, made, person) == "second-person"
    other = Caller(kind="person", label="boss", scopes=frozenset(SCOPES), user=people["administrator"])
    assert apply(made, other).status == "applied"


def test_with_two_people_who_revised_cannot_apply(made, person):
    AgentDesk.objects.update_or_create(pk="main", defaults={"two_person": True})
    revised = revisions.revise_proposal("main", made.pk, content="# U\n", caller=person)
    assert refusal(apply, revised, person) == "second-person"


# -- rules of openclaw.json


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({}, (50, 40_000, "pending", "auto")),
        ({"maxPending": 201, "maxSkillBytes": 1023}, (200, 1024, "pending", "auto")),
        ({"maxPending": 1, "maxSkillBytes": 999_999}, (1, 200_000, "pending", "auto")),
        ({"maxPending": 0, "maxSkillBytes": "x"}, (7, 7000, "pending", "auto")),
        ({"maxPending": True}, (7, 40_000, "pending", "auto")),
        ({"approvalPolicy": "auto", "autonomous": {"mode": "off"}}, (50, 40_000, "auto", "off")),
        ({"approvalPolicy": "maybe", "autonomous": {"mode": "x"}}, (50, 40_000, "pending", "propose")),
    ],
)
def test_limits_are_clamped_and_nonsense_keeps_the_last_good_value(section, expected):
    last = config.Rules(max_pending=7, max_skill_bytes=7000, mode="propose")
    rules = config.rules_from(section, last)
    assert (rules.max_pending, rules.max_skill_bytes, rules.approval_policy, rules.mode) == expected


# -- evaluators


@pytest.fixture
def program(tmp_path, settings):
    """Registers a command evaluator whose Python source is given."""

    def register(source, name="judge", timeout=20):
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        rows = [
            *settings.WORKSHOP_EVALUATORS,
            {"id": name, "command": [sys.executable, str(path)], "timeout": timeout},
        ]
        settings.WORKSHOP_EVALUATORS = rows

    return register


READ = "import json, sys\nbundle = json.load(sys.stdin)\n"


def test_an_evaluator_reads_the_bundle_and_its_verdict_is_kept(made, program):
    program(
        READ + "print(json.dumps({'decision': 'pass', 'metrics': {'chars': len(bundle['draft'])},"
        " 'findings': [bundle['proposal']['skillKey'], bundle['agentId'], bundle['target']['skill']]}))"
    )
    proposal, evaluation = evaluations.evaluate_proposal("main", made.pk, correlation_id=" c ", caller=ME)
    assert evaluation["outcomes"] == [
        {
            "pluginId": "command",
            "evaluatorId": "judge",
            "status": "completed",
            "result": {
                "decision": "pass",
                "findings": ["one", "main", None],
                "metrics": {"chars": len(made.draft_text)},
            },
        }
    ]
    assert len(evaluation["targetTreeSha256"]) == 64
    assert proposal.record["evaluation"] == evaluation
    assert proposal.revision_hash == made.revision_hash


def test_only_block_prevents_an_apply(made, program):
    program('print(\'{"decision": "revise"}\')', "strict")
    program('print(\'{"decision": "block"}\')', "guard")
    assert refusal(apply, made) == "evaluation-blocked"
    fresh = Proposal.objects.get(pk=made.pk)
    assert (fresh.status, len(fresh.record["evaluation"]["outcomes"])) == ("pending", 2)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("raise SystemExit(3)", "exit status 3"),
        ("print('no json')", "not one JSON object"),
        ('print(\'{"decision": "maybe"}\')', "no decision"),
        ('print(\'{"decision": "pass", "metrics": []}\')', "metrics has the wrong form"),
        ("import time; time.sleep(30)", "no verdict within"),
        ("print('x' * 2_000_000)", "bytes of output"),
    ],
)
def test_a_failing_evaluator_is_an_attributed_result(source, error, made, program):
    program(source, timeout=0.5)
    _, evaluation = evaluations.evaluate_proposal("main", made.pk, caller=ME)
    outcome = evaluation["outcomes"][0]
    assert (outcome["evaluatorId"], outcome["status"]) == ("judge", "error")
    assert error in outcome["error"]
    assert apply(made).status == "applied"


def test_a_program_that_does_not_exist_is_an_attributed_result(made, settings):
    settings.WORKSHOP_EVALUATORS = [{"id": "gone", "command": ["/nonexistent/judge"]}]
    _, evaluation = evaluations.evaluate_proposal("main", made.pk, caller=ME)
    assert "cannot start" in evaluation["outcomes"][0]["error"]


def test_an_entry_point_is_an_evaluator(made, monkeypatch):
    seen = []

    def judge(bundle):
        seen.append(bundle["schema"])
        return {"decision": "block"}

    monkeypatch.setattr(
        evaluators, "evaluators", lambda: [evaluators.Evaluator("my-plugin", "judge", judge, "1.2")]
    )
    assert refusal(apply, made) == "evaluation-blocked"
    outcome = Proposal.objects.get(pk=made.pk).record["evaluation"]["outcomes"][0]
    assert (outcome["pluginId"], outcome["pluginVersion"], seen) == (
        "my-plugin",
        "1.2",
        ["openclaw-web.evaluation-request.v1"],
    )


def test_a_skill_that_changes_while_it_is_evaluated_is_not_applied(made, program, state_dir):
    apply(made)
    update = proposals.propose_update("main", skill_name="one", content="# New\n", caller=ME)
    other = state_dir / "agents/main/agent/workshop-skills/one/references"
    program(
        f"import pathlib\npathlib.Path({str(other)!r}).mkdir()\npathlib.Path({str(other / 'a.md')!r}).write_text('x')\nprint('{{\"decision\": \"pass\"}}')"
    )
    assert refusal(apply, update) == "evaluation-drifted"
    assert Proposal.objects.get(pk=update.pk).status == "pending"


# -- remarks and requests


def test_remarks_gather_and_go_out_as_one_request(made, person):
    comments.add_comment(
        "main", made.pk, body="Say why", path="SKILL.md", line=6, quote="# Text", caller=person
    )
    comments.add_comment("main", made.pk, body="Too short", caller=person)
    view = desk.view(None, made.pk, person)
    sent = requests.request_revision(
        "main",
        made.pk,
        expected_revision_hash=made.revision_hash,
        instructions="Please revise.",
        session_key="main",
        idempotency_key="k1",
        comments=view.tray,
        caller=person,
    )
    assert sent.delivery.text == (
        "Please revise.\n\n- SKILL.md:6 (v1): Say why\n  > # Text\n- the proposal as a whole (v1): Too short"
    )
    assert (sent.delivery.session_key, sent.status) == ("agent:main:main", "started")
    after = desk.view(None, made.pk, person)
    assert (after.tray, len(after.comments), len(after.requests)) == ([], 2, 1)
    assert OrmQ.objects.count() == 1
    assert Proposal.objects.get(pk=made.pk).revision_hash == made.revision_hash


def test_a_remark_stays_with_its_generation_and_shows_as_outdated(made, person):
    remark = comments.add_comment("main", made.pk, body="x", path="PROPOSAL.md", line=1, caller=person)
    revisions.revise_proposal("main", made.pk, content="# New\n", caller=ME)
    view = desk.view(None, made.pk, person)
    assert (view.is_outdated(view.comments[0]), view.comments[0].generation) == (True, remark.generation)


def test_a_remark_can_be_taken_back_until_it_is_sent(made, person):
    remark = comments.add_comment("main", made.pk, body="x", caller=person)
    comments.drop_comment("main", made.pk, remark.pk, caller=person)
    assert desk.view(None, made.pk, person).comments == []
    assert refusal(comments.drop_comment, "main", made.pk, remark.pk, caller=person) == "comment-sent"
    assert Comment.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"body": "  "}, "comment-blank"),
        ({"body": "x" * 4001}, "comment-too-long"),
        ({"body": "x", "path": "assets/none"}, "no-such-file"),
        ({"body": "x", "path": "SKILL.md", "line": 0}, "no-such-file"),
    ],
)
def test_a_remark_that_makes_no_sense_is_refused(fields, code, made, person):
    assert refusal(comments.add_comment, "main", made.pk, caller=person, **fields) == code


def test_learning_opens_an_ordinary_session_with_its_opening_words(two_agents, person, state_dir):
    session = requests.learn_from_conversations("ops", caller=person)
    message = Delivery.objects.get(pk=session.delivery_id)
    assert session.session_key.startswith("agent:ops:dashboard:")
    assert "Learning mode: auto." in message.text
    assert Proposal.objects.count() == 0
    write_config(state_dir, {"autonomous": {"mode": "propose"}})
    propose = requests.learn_from_conversations("ops", caller=person)
    assert "apply none" in Delivery.objects.get(pk=propose.delivery_id).text
    write_config(state_dir, {"autonomous": {"mode": "off"}})
    assert refusal(requests.learn_from_conversations, "ops", caller=person) == "learning-off"


def test_a_learning_message_without_a_way_out_stays_open(two_agents, person, settings):
    settings.OPENCLAW_BIN = ""
    session = requests.learn_from_conversations("ops", caller=person)
    assert tasks.open_session(session.pk) == Delivery.objects.get(pk=session.delivery_id).outcome
    assert Delivery.objects.get(pk=session.delivery_id).received_at is None


def test_learning_makes_its_session_before_it_sends_and_may_do_so_twice(
    two_agents, person, settings, tmp_path
):
    """What a real one answers (2026.9.6): `sessions.send` refuses a session that is not there."""
    calls, there = tmp_path / "calls", tmp_path / "there"
    script = tmp_path / "openclaw-program"
    script.write_text(
        f'#!/bin/sh\nprintf "%s %s\\n" "$3" "$5" >> {calls}\n'
        f'case $3 in sessions.create) touch {there}; echo \'{{"ok": true, "runStarted": false}}\';;\n'
        f'*) test -e {there} || {{ echo \'{{"ok": false, "error": {{"message": "session not found"}}}}\'; exit 1; }}\n'
        'echo \'{"status": "started"}\';; esac\n'
    )
    script.chmod(0o755)
    settings.OPENCLAW_BIN = str(script)
    session = requests.learn_from_conversations("ops", caller=person)
    assert tasks.open_session(session.pk) == "delivered"
    create, send = (line.split(" ", 1) for line in calls.read_text().splitlines())
    assert (create[0], json.loads(create[1])) == (
        "sessions.create",
        {"agentId": "ops", "key": session.session_key},
    )
    sent = json.loads(send[1])
    assert (send[0], sent["key"], sent["message"][:16]) == (
        "sessions.send",
        session.session_key,
        "Learn from our p",
    )
    assert sent["idempotencyKey"] == Delivery.objects.get().dedupe_key


def test_a_session_that_cannot_be_made_gets_no_message(two_agents, person, settings, tmp_path):
    script = tmp_path / "openclaw-program"
    script.write_text(
        f'#!/bin/sh\necho "$3" >> {tmp_path}/calls\necho \'{{"ok": false, "error": {{"message": "no such agent"}}}}\'; exit 1\n'
    )
    script.chmod(0o755)
    settings.OPENCLAW_BIN = str(script)
    session = requests.learn_from_conversations("ops", caller=person)
    assert tasks.open_session(session.pk) == "failed"
    assert (tmp_path / "calls").read_text() == "sessions.create\n"
    assert Delivery.objects.get().error == "no such agent"


# -- use


def test_use_follows_the_file_and_a_move_starts_anew(made, gateway_caller, state_dir):
    apply(made)
    root = state_dir / "agents/main/agent/workshop-skills"
    file = root / "one/SKILL.md"
    for _ in range(3):
        usage.record_use("main", skill_file=str(file), caller=gateway_caller)
    file.write_text(file.read_text().replace('name: "one"', 'name: "renamed"'))
    usage.record_use("main", skill_file=str(file), caller=gateway_caller)
    assert [(row.skill_name, row.use_count) for row in SkillUsage.objects.all()] == [("renamed", 4)]
    (root / "one").rename(root / "two")
    usage.record_use("main", skill_file=str(root / "two/SKILL.md"), caller=gateway_caller)
    assert sorted(SkillUsage.objects.values_list("use_count", flat=True)) == [1, 4]


def test_an_agent_cannot_report_its_own_use(made, agent_caller, state_dir):
    apply(made)
    file = state_dir / "agents/main/agent/workshop-skills/one/SKILL.md"
    assert refusal(usage.record_use, "main", skill_file=str(file), caller=agent_caller) == "not-trusted"


# -- retention


@pytest.mark.parametrize(("keep", "left"), [(0, 5), (1, 2), (3, 4)])
def test_retention_removes_only_earlier_generations_of_decided_proposals(
    keep, left, made, settings, state_dir
):
    settings.WORKSHOP_KEEP_GENERATIONS = keep
    for number in range(4):
        made = revisions.revise_proposal("main", made.pk, content=f"# {number}\n", caller=ME)
    folder = state_dir / "skill-workshop/proposals" / made.pk / "generations"
    assert tasks.prune() == 0
    apply(made)
    assert tasks.prune() == 5 - left
    assert len(list(folder.iterdir())) == left
    assert (folder / made.generation / "PROPOSAL.md").exists()
    assert made.generations.count() == 5
    assert tasks.prune() == 0


def test_the_ledger_is_read_page_by_page(made, rpc):
    for number in range(5):
        revisions.revise_proposal("main", made.pk, content=f"# {number}\n", caller=ME)
    seen, after = [], 0
    while True:
        page = rpc("skills.proposals.events.list", {"agentId": "main", "limit": 4, "afterSequence": after})[
            "payload"
        ]
        seen += [event["sequence"] for event in page["events"]]
        if "nextSequence" not in page:
            break
        after = page["nextSequence"]
    assert seen == [1, 2, 3, 4, 5, 6]
    assert json.dumps(page)
