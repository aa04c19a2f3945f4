"""Recorded cases that need files prepared, several calls, or counting: applied drafts, scans, damaged disks,
limits, revisions, requests, and the recovery of an apply that was cut off."""

import os
from functools import partial

from gateway.callers import SCOPES, Caller, command_caller
from gateway.deliveries import acknowledge
from gateway.models import Delivery
from tests.workshop import recorded_cases as recorded
from tests.workshop.conftest import write_config
from tests.workshop.replay import answer_of, instant, second
from workshop.hashes import sha256
from workshop.models import Event, Proposal, Rollback, RollbackFile, SkillUsage
from workshop.records import now

APPLIED = [name for name in recorded.names("apply-*") if "read-by-other-key" not in name]
SCANS = [name for name in recorded.names("scan-*") if "critical-" not in name]


def root(replay, agent="main"):
    return replay.state_dir / f"agents/{agent}/agent/workshop-skills"


def draft_path(replay, made):
    proposal = Proposal.objects.get(pk=made["record"]["id"])
    return replay.state_dir / "skill-workshop/proposals" / proposal.pk / proposal.draft_file


def same_outcome(replay, got, wanted, where):
    """`ok`, code and details; for successes the fields the recording kept."""
    assert got["ok"] == wanted["ok"], f"{where}: {got}"
    if not got["ok"]:
        replay.compare(got["error"], wanted["error"], where)
        return
    record = got["payload"].get("record", got["payload"])
    for key in ("status", "scan", "targetSkillFile"):
        if key in wanted:
            replay.compare_key(key, record.get(key, got["payload"].get(key)), wanted[key], f"{where}/{key}")


# -- drafts that are applied, and scans


def applied(name, replay):
    case = recorded.load(name)["response"]
    params = recorded.load(name)["request"]["create params"]
    made = replay.call("skills.proposals.create", params, instant(case["create"]))
    replay.compare(answer_of(case["create"], made), case["create"], name)
    proposal_id = made["payload"]["record"]["id"]
    same_outcome(replay, replay.do("apply", proposal_id, agent="ops"), case["apply"], name)
    seen = replay.do("inspect", proposal_id, agent="ops")
    assert seen["payload"]["record"]["status"] == case["inspect_after"]["status"], name
    key = made["payload"]["record"]["target"]["skillKey"]
    if case["live_tree"]:
        replay.compare_tree(root(replay, "ops") / key, case["live_tree"], name)
    else:
        assert not root(replay, "ops").exists() or not any(root(replay, "ops").iterdir()), name
    read = replay.call("skills.workshop.read", {"agentId": "ops", "name": key})
    wanted = case["workshop.read(skillKey)"]
    assert read["ok"] == wanted["ok"], name
    if read["ok"]:
        replay.compare(read["payload"], {k: v for k, v in wanted.items() if k != "ok"}, name)
    listed = replay.call("skills.proposals.list", {"agentId": "ops"})["payload"]["installedSkills"]
    replay.compare(listed, case["installed"], name)


def read_by_other_key(replay):
    params = {"agentId": "ops", "name": "skill key metadata", "description": "d"}
    text = '---\nlicense: MIT\nmetadata: {"openclaw":{"emoji":"x","skillKey":"other-key"}}\n---\nbody\n'
    made = replay.call("skills.proposals.create", params | {"content": text})
    assert replay.do("apply", made["payload"]["record"]["id"], agent="ops")["ok"]
    read = replay.call("skills.workshop.read", {"agentId": "ops", "name": "other-key"})
    replay.compare(
        read["payload"],
        recorded.load("apply-skill-key-metadata-read-by-other-key")["response"]["payload"],
        "",
    )


def scanned(name, replay):
    case = recorded.load(name)
    asked, wanted = case["request"], case["response"]
    params = {"agentId": "ops", "name": "x", "description": "d", "content": "body\n"} | asked.get(
        "params", {}
    )
    params["content"] = asked.get("params.content", params["content"])
    made = replay.call("skills.proposals.create", params)
    same_outcome(replay, made, wanted.get("create", wanted), name)
    if "apply" in wanted:
        proposal_id = made["payload"]["record"]["id"]
        same_outcome(replay, replay.do("apply", proposal_id, agent="ops"), wanted["apply"], name)
        after = replay.do("inspect", proposal_id, agent="ops")["payload"]["record"]
        replay.compare(after["scan"], wanted["after_apply"]["scan"], name)
        assert after["status"] == wanted["after_apply"]["status"], name
        assert after["statusReason"], name
        assert after["quarantinedAt"], name


def critical_row(replay):
    """Listed as failed, revised clean, made critical again, quarantined by apply."""
    replay.exact = False
    made = replay.make(agentId="ops", name="crit row", description="d", content="eval('x')\n")
    proposal_id = made["record"]["id"]
    listed = replay.call("skills.proposals.list", {"agentId": "ops"})["payload"]["proposals"]
    replay.compare(listed, recorded.load("scan-critical-list-entry")["response"], "critical")
    clean = replay.do("revise", proposal_id, agent="ops", content="clean now")
    wanted = recorded.load("scan-critical-revised-clean")["response"]
    assert clean["payload"]["record"]["scan"]["state"] == wanted["scan"]["state"]
    assert clean["payload"]["record"]["proposedVersion"] == wanted["record"]["proposedVersion"]
    replay.do("revise", proposal_id, agent="ops", content="eval('x')\n")
    assert not replay.do("apply", proposal_id, agent="ops")["ok"]
    listed = replay.call("skills.proposals.list", {"agentId": "ops"})["payload"]["proposals"]
    replay.mapped.clear()
    replay.compare(listed, recorded.load("scan-critical-list-entry-after-apply")["response"], "quarantined")


# -- damage on the disk


def pending(replay, **params):
    return replay.make(**({"name": "on disk", "description": "d", "content": "body\n"} | params))


def each_of(replay, name, made, operations=None):
    case = recorded.load(name)
    for operation in operations or case["request"]["each of"]:
        extra = {"content": "new\n"} if operation == "revise" else {}
        got = replay.do(operation, made["record"]["id"], **extra)
        wanted = case["response"][operation]
        same_outcome(replay, got, {k: v for k, v in wanted.items() if k != "status"}, f"{name}/{operation}")
        if wanted["ok"]:
            record = got["payload"].get("record", got["payload"])
            assert record["status"] == wanted["status"], f"{name}/{operation}"


def damaged_drafts(replay):
    made = pending(replay)
    path = draft_path(replay, made)
    path.write_bytes(path.read_bytes() + b"appended")
    each_of(replay, "disk-edited-draft", made)
    made = pending(replay, supportFiles=[{"path": "assets/a", "content": "a"}])
    (draft_path(replay, made).parent / "assets/a").write_text("b")
    each_of(replay, "disk-edited-support", made)
    made = pending(replay)
    (draft_path(replay, made).parent / "extra.txt").write_text("x")
    each_of(replay, "disk-extra-file-in-generation", made)
    made = pending(replay, name="linked")
    path = draft_path(replay, made)
    os.link(path, path.with_name("twin"))
    each_of(replay, "disk-hardlinked-draft", made)
    made = pending(replay, name="linked")
    path = draft_path(replay, made)
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")
    each_of(replay, "disk-symlinked-draft", made)


def missing_drafts(replay):
    replay.exact = False
    made = replay.make(name="missing draft", description="d", content="b")
    draft_path(replay, made).unlink()
    listed = replay.call("skills.proposals.list", {"agentId": "main"})["payload"]["proposals"]
    replay.compare(listed, recorded.load("disk-missing-draft-list")["response"], "missing")
    each_of(replay, "disk-missing-draft-quarantine", made)
    made = pending(replay, name="missing dir")
    folder = draft_path(replay, made).parents[2]
    folder.rename(folder.with_name("moved-away"))
    each_of(replay, "disk-missing-proposal-dir", made)
    made = pending(replay, name="applied then missing")
    assert replay.do("apply", made["record"]["id"])["ok"]
    draft_path(replay, made).unlink()
    assert not replay.do("inspect", made["record"]["id"])["ok"]
    listed = replay.call("skills.proposals.list", {"agentId": "main"})["payload"]["proposals"]
    mine = [entry for entry in listed if entry["id"] == made["record"]["id"]]
    replay.compare(mine, recorded.load("disk-missing-draft-applied-list")["response"], "applied")


def linked_targets(replay):
    outside = replay.state_dir.parent / "outside"
    (outside / "sk").mkdir(parents=True)
    (outside / "SKILL.md").write_text("---\nname: o\ndescription: o\n---\n")
    base = root(replay)
    base.mkdir(parents=True)
    made = pending(replay, name="leaves")
    (base / "leaves").symlink_to(outside)
    each_of(replay, "disk-live-dir-is-symlink-outside", made)
    again = replay.call(
        "skills.proposals.create", {"agentId": "main", "name": "leaves", "description": "d", "content": "b"}
    )
    replay.compare(again, recorded.load("disk-create-into-symlinked-dir")["response"], "create")
    made = pending(replay, name="stays")
    (base / "real").mkdir()
    (base / "stays").symlink_to(base / "real")
    each_of(replay, "disk-live-dir-is-symlink-inside", made)
    assert list((base / "real").iterdir()) == []
    made = pending(replay, name="file link")
    (base / "file-link").mkdir()
    (base / "file-link/SKILL.md").symlink_to(outside / "SKILL.md")
    each_of(replay, "disk-live-skill-md-is-symlink", made)
    made = pending(replay, name="support link", supportFiles=[{"path": "assets/a", "content": "a"}])
    (base / "support-link").mkdir()
    (base / "support-link/assets").symlink_to(outside / "sk")
    each_of(replay, "disk-live-support-dir-is-symlink", made)
    assert list((outside / "sk").iterdir()) == []


def linked_skills_are_not_seen(replay):
    outside = replay.state_dir.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: away\ndescription: o\n---\n")
    base = root(replay)
    base.mkdir(parents=True)
    (base / "away").symlink_to(outside)
    visibility(replay, "disk-symlinked-skill-dir-visibility")
    (base / "away").unlink()
    (base / "away").mkdir()
    (base / "away/SKILL.md").symlink_to(outside / "SKILL.md")
    visibility(replay, "disk-symlinked-skill-md-visibility")
    (base / "away/SKILL.md").unlink()
    (base / "away/SKILL.md").mkdir()
    listed = replay.call("skills.proposals.list", {"agentId": "main"})
    assert (listed["ok"], listed["payload"]["installedSkills"]) == (True, [])


def visibility(replay, name):
    wanted = recorded.load(name)["response"]
    listed = replay.call("skills.proposals.list", {"agentId": "main"})["payload"]["installedSkills"]
    assert listed == wanted["installed"], name
    read = replay.call("skills.workshop.read", {"agentId": "main", "name": "away"})
    replay.compare(read, wanted["read"], name)
    update = replay.call("skills.proposals.update", {"agentId": "main", "skillName": "away", "content": "x"})
    replay.compare(update, wanted["update"], name)


def which_folders_are_skills(replay):
    base = root(replay)
    placed = {
        "nested/inner/SKILL.md": "---\nname: inner\ndescription: x\n---\nb\n",
        ".hidden-skill/SKILL.md": "---\nname: hiddenone\ndescription: x\n---\nb\n",
        "lower/skill.md": "---\nname: lower\ndescription: x\n---\nb\n",
        "nodesc/SKILL.md": "---\nname: nodesc\n---\nb\n",
        "noname/SKILL.md": "---\ndescription: no name\n---\nb\n",
        "dup-a/SKILL.md": "---\nname: dup\ndescription: a\n---\nb\n",
        "dup-b/SKILL.md": "---\nname: dup\ndescription: b\n---\nb\n",
        "SKILL.md": "---\nname: root\ndescription: x\n---\nb\n",
    }
    for name, text in placed.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    listed = replay.call("skills.proposals.list", {"agentId": "main"})["payload"]["installedSkills"]
    assert listed == recorded.load("disk-which-dirs-are-skills")["response"]
    (base / "dir-name").mkdir()
    (base / "dir-name/SKILL.md").write_text("---\nname: Front Name\ndescription: x y\n---\nb\n")
    for name in recorded.names("disk-read-*", "disk-frontmatter-name-read-*"):
        case = recorded.load(name)
        got = replay.call("skills.workshop.read", {"agentId": "main", "name": case["request"]["name"]})
        replay.compare(got, case["response"], name)
    update = replay.make(skillName="Front Name", content="x\n")
    assert replay.do("apply", update["record"]["id"])["ok"]
    wanted = recorded.load("disk-update-frontmatter-name-applied")["response"]["tree"]
    replay.compare_tree(base / "dir-name", wanted, "front name")


# -- limits


def max_pending(replay):
    for number in range(20):
        made = replay.make(name=f"q{number}", description="d", content="b")
        assert replay.do("quarantine", made["record"]["id"])["ok"]
    made = [replay.make(name=f"p{number}", description="d", content="b") for number in range(30)]
    over = {"agentId": "main", "name": "one more", "description": "d", "content": "b"}
    replay.compare(
        replay.call("skills.proposals.create", over),
        recorded.load("maxpending-reached")["response"],
        "reached",
    )
    skill = root(replay) / "live/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: live\ndescription: d\n---\nx\n")
    update = replay.call("skills.proposals.update", {"agentId": "main", "skillName": "live", "content": "b"})
    replay.compare(update, recorded.load("maxpending-update-while-full")["response"], "update")
    assert replay.call("skills.proposals.create", over | {"agentId": "ops"})["ok"]
    assert replay.do("revise", made[0]["record"]["id"], content="c")["ok"]
    assert replay.do("reject", made[1]["record"]["id"])["ok"]
    assert replay.call("skills.proposals.create", over)["ok"]
    names = ("maxpending-other-agent", "maxpending-revise-while-full", "maxpending-after-reject")
    assert all(recorded.load(name)["response"]["ok"] for name in names)


def limits_of_openclaw_json(replay):
    """The limits follow the file without a restart; an invalid value keeps the last good one."""
    wanted = recorded.load("config-variant-workshop-limits")["response"]
    first = {"maxPending": 2, "maxSkillBytes": 1024}
    write_config(replay.state_dir, first, agents=("main",))
    create = {"name": "n", "description": "d", "content": "b"}
    assert replay.call("skills.proposals.list", {})["ok"]
    got = [replay.call("skills.proposals.create", create) for _ in range(3)]
    assert [answer["ok"] for answer in got] == [row["ok"] for row in wanted["maxPending=2: three creates"]]
    proposal_id = got[0]["payload"]["record"]["id"]
    sizes = [replay.do("revise", proposal_id, content="x" * size)["ok"] for size in (1024, 1025)]
    assert sizes == [row["ok"] for row in wanted["maxSkillBytes=1024: revise with 1024 / 1025 bytes"]]
    write_config(replay.state_dir, {"maxPending": 3, "maxSkillBytes": 2048}, agents=("main",))
    assert replay.call("skills.proposals.create", create)["ok"]
    assert replay.do("revise", proposal_id, content="x" * 1025)["ok"]
    write_config(replay.state_dir, {"maxPending": 0, "maxSkillBytes": 2048}, agents=("main",))
    refused = replay.call("skills.proposals.create", create)
    replay.compare(refused, wanted["after writing maxPending 0 (below the minimum)"]["create"], "limits")
    assert "3 are allowed" in refused["error"]["message"]


# -- revisions and descriptions


def revisions(replay):
    previous = recorded.load("revise-body-only-keeps-frontmatter")
    made = replay.make(
        at="52.680",
        agentId="ops",
        name="keepfm",
        description="label",
        content="---\nlicense: MIT\ndescription: body desc\n---\nbody\n",
    )
    assert made["content"] == previous["request"]["previous"]["content"]
    proposal_id = made["record"]["id"]
    asked = {"agentId": "ops", "proposalId": proposal_id}
    revise_as(replay, "revise-body-only-keeps-frontmatter", asked | {"content": "new body\n"})
    third = replay.call("skills.proposals.revise", asked | {"content": "---\nauthor: me\n---\nnew body 2\n"})
    assert third["payload"]["record"]["proposedVersion"] == "v3"
    revise_as(replay, "revise-explicit-description-create", asked | {"description": "explicit"})
    both = recorded.load("revise-explicit-description-beats-content")["request"]
    revise_as(replay, "revise-explicit-description-beats-content", asked | both)
    for name in ("revise-content-40001", "revise-description-161", "revise-description-empty"):
        case = recorded.load(name)
        replay.compare(
            replay.call("skills.proposals.revise", asked | case["request"]), case["response"], name
        )
    assert replay.call("skills.proposals.revise", asked | {"goal": "g"}, second("52.803"))["ok"]
    wanted = recorded.load("revise-failed-leaves-version")["response"]
    seen = replay.call("skills.proposals.inspect", asked)
    assert seen["payload"]["content"] == wanted["content"]
    assert seen["payload"]["record"]["draftHash"] == wanted["record"]["draftHash"]
    near = replay.make(agentId="ops", name="near limit", description="d", content="a" * 39_990)
    answer = replay.call(
        "skills.proposals.revise", {"agentId": "ops", "proposalId": near["record"]["id"], "goal": "g"}
    )
    replay.compare(answer, recorded.load("revise-metadata-of-near-limit-draft")["response"], "near limit")


def revise_as(replay, name, params):
    wanted = recorded.load(name)["response"]
    answer = replay.call("skills.proposals.revise", params, instant(wanted))
    replay.compare(answer_of(wanted, answer), wanted, name)


def label_cut_from_a_long_description(replay):
    skill = root(replay) / "multibyte-long-description/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: multibyte-long-description\ndescription: {'あ' * 60}\n---\nb\n")
    made = replay.make(skillName="multibyte-long-description", content="x")
    wanted = recorded.load("update-default-description-truncated-multibyte")["response"]
    assert made["record"]["description"] == wanted["description"]
    assert len(made["record"]["description"].encode()) == wanted["bytes"]


# -- requests for a revision


def revision_requests(replay):
    asked = recorded.load("request-revision")["request"]["params"]
    made = replay.make(
        asked["proposalId"],
        asked["expectedRevisionHash"],
        name="revise by chat",
        description="d",
        content="b",
    )
    for name in recorded.names("request-revision-error-*"):
        replay.play(name)
    replay.play("request-revision")
    message = Delivery.objects.get()
    wanted = recorded.load("request-revision-history")["response"][0]
    assert (message.text == asked["instructions"]) == wanted["user_text_equals_instructions"]
    assert message.session_key == asked["sessionKey"]
    acknowledge(message, caller=command_caller())
    replay.play("request-revision-same-key")
    assert Delivery.objects.count() == 1
    after = replay.do("inspect", made["record"]["id"])["payload"]
    case = recorded.load("request-revision-proposal-after")["response"]
    assert after["record"]["proposedVersion"] == case["proposedVersion"]
    assert after["revisionHash"] == made["revisionHash"]
    assert replay.do("reject", made["record"]["id"])["ok"]
    refused = replay.call("skills.proposals.requestRevision", asked | {"idempotencyKey": "rev-9"})
    case = recorded.load("request-revision-not-pending")["response"]
    replay.compare(refused, case, "not pending")


# -- an apply that was cut off, its record written by hand as in the recording


def cut_off(replay, name):
    """A pending create with a rollback record, as if apply had died; returns its payload and its folder."""
    made = replay.make(
        name=name, description="d", content="b", supportFiles=[{"path": "assets/a.txt", "content": "a"}]
    )
    folder = root(replay) / name
    rollback = Rollback.objects.create(
        proposal_id=made["record"]["id"],
        written_at=now(),
        target_skill_file=f"{folder}/SKILL.md",
        action="create",
        made_dirs=[name, f"{name}/assets"],
    )
    skill = f'---\nname: "{name}"\ndescription: "d"\n---\n\nb\n'.encode()
    for position, (path, data) in enumerate((("assets/a.txt", b"a"), ("SKILL.md", skill))):
        RollbackFile.objects.create(
            rollback=rollback, position=position, path=path, existed=False, written_hash=sha256(data)
        )
    (folder / "assets").mkdir(parents=True)
    return made, folder, skill


def recovery_of_a_cut_off_apply(replay):
    wanted = recorded.load("recovery-interrupted-apply")["response"]
    made, folder, skill = cut_off(replay, "whole")
    (folder / "assets/a.txt").write_bytes(b"a")
    (folder / "SKILL.md").write_bytes(skill)
    seen = replay.do("inspect", made["record"]["id"])["payload"]["record"]
    case = wanted["all proposed files on disk, then inspect"]
    events = [[e.type, e.actor, e.payload] for e in Event.objects.filter(proposal_id=made["record"]["id"])]
    assert (seen["status"], events) == (case["status"], case["events"])
    assert Rollback.objects.filter(pk=made["record"]["id"]).count() == case["rollback_rows"]

    made, folder, skill = cut_off(replay, "untouched")
    seen = replay.do("inspect", made["record"]["id"])["payload"]["record"]
    assert seen["status"] == wanted["nothing written, then inspect"]["status"]
    assert not Rollback.objects.filter(pk=made["record"]["id"]).exists()

    made, folder, skill = cut_off(replay, "partial")
    (folder / "assets/a.txt").write_bytes(b"a")
    listed = replay.call("skills.proposals.list", {"agentId": "main"})["payload"]["proposals"]
    case = wanted["only the support file written, then list"]
    assert [e["status"] for e in listed if e["id"] == made["record"]["id"]] == case["status"]
    assert (folder / "assets/a.txt").exists() == case["support_file_still_there"]
    assert not Rollback.objects.filter(pk=made["record"]["id"]).exists()

    made, folder, skill = cut_off(replay, "foreign")
    (folder / "SKILL.md").write_text("somebody else's")
    case = wanted["foreign content on disk"]
    for operation in ("inspect", "reject", "quarantine", "apply"):
        got = replay.do(operation, made["record"]["id"])
        same_outcome(replay, got, {k: v for k, v in case[operation].items() if k != "status"}, operation)
    assert replay.do("revise", made["record"]["id"], content="x")["ok"] is case["revise"]["ok"]


def usage_row(replay):
    """What the peer's table says after one read is what ours says after one report."""
    wanted = recorded.load("usage-skill-read-by-agent")["response"]["skill_usage_rows"][0]
    skill = root(replay) / "race/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: race\ndescription: d\n---\n")
    runner = Caller(kind="token", label="runner", scopes=frozenset(SCOPES))
    at = wanted["first_used_at_ms"]
    asked = {"agentId": "main", "skillFile": str(skill), "usedAtMs": at}
    assert replay.call("skills.used.record", asked, caller=runner)["ok"]
    row = SkillUsage.objects.values(*wanted).get()
    assert row | {"skill_file": wanted["skill_file"]} == wanted
    status = replay.call(
        "skills.curator.status", {}, caller=replay.caller_with("skill-curator-live-inventory")
    )
    assert [(s["useCount"], s["lastUsedAtMs"]) for s in status["payload"]["skills"]] == [(1, at)]


def named(function, name):
    tale = partial(function, name)
    tale.__name__ = name  # type: ignore[attr-defined]
    return tale


FILE_TALES = [
    *(named(applied, name) for name in APPLIED),
    *(named(scanned, name) for name in SCANS),
    read_by_other_key,
    critical_row,
    damaged_drafts,
    missing_drafts,
    linked_targets,
    linked_skills_are_not_seen,
    which_folders_are_skills,
    max_pending,
    limits_of_openclaw_json,
    revisions,
    label_cut_from_a_long_description,
    revision_requests,
    recovery_of_a_cut_off_apply,
    usage_row,
]
FILE_CASES = {
    *APPLIED,
    *recorded.names("scan-*", "disk-*", "revise-*", "request-revision*", "recovery-*"),
    "apply-skill-key-metadata-read-by-other-key",
    "config-variant-workshop-limits",
    "maxpending-reached",
    "maxpending-update-while-full",
    "maxpending-other-agent",
    "maxpending-revise-while-full",
    "maxpending-after-reject",
    "update-default-description-truncated-multibyte",
    "usage-skill-read-by-agent",
}
