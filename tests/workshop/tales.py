"""Sequences of recorded exchanges, with what was done to the files in between.

The first is the whole life of the recording's Workshop, in its order and at its times: 69 events, whose sequence
numbers, hashes and list order come out equal.
"""

from tests.workshop import recorded_cases as recorded
from tests.workshop.tales_files import FILE_CASES, FILE_TALES

LIFE = [name for name in recorded.names("life-*") if not name.startswith(("life-01", "life-16b", "life-61"))]
EVENTS = ["events-all", "events-page-1", "events-page-2"]
FM_LIVE = "---\nlicense: MIT\nauthor: a\n---\nbody\n"


def replayed_in_tales() -> set[str]:
    return {*LIFE, *EVENTS, *FILE_CASES}


def hash_of(recorded_id: str, version: str = "v1") -> str:
    """The recorded revision hash of a proposal whose creation is no case of its own."""
    events = recorded.load("events-all")["response"]["payload"]["events"]
    return next(
        e["revisionHash"] for e in events if (e["proposalId"], e["proposedVersion"]) == (recorded_id, version)
    )


def made(replay, recorded_id, at, **params):
    return replay.make(recorded_id, hash_of(recorded_id), at=at, **params)


def skills(replay, path=""):
    return replay.state_dir / "agents/main/agent/workshop-skills" / path


def bundle_tree(replay, recorded_id):
    """The active generation, alone: the peer keeps no other."""
    folder = replay.state_dir / "skill-workshop/proposals" / replay.mapped[recorded_id] / "generations"
    return max(folder.iterdir(), key=lambda path: path.stat().st_ctime_ns)


def compare_bundle(replay, recorded_id, wanted, where):
    """The recorded tree of one proposal, below its (only) generation."""
    entries = wanted["entries"]
    root = next(
        e["path"] for e in entries if e["type"] == "dir" and e["path"].split("/")[-2:-1] == ["generations"]
    )
    below = [{**e, "path": e["path"][len(root) + 1 :]} for e in entries if e["path"].startswith(root + "/")]
    replay.compare_tree(bundle_tree(replay, recorded_id), {"root_mode": "0o755", "entries": below}, where)


def life_of_the_recording(replay):
    replay.loose -= {"sequence"}
    first_life(replay)
    update_life(replay)
    frontmatter_life(replay)
    decided_life(replay)
    create_life(replay)
    for name in EVENTS:
        replay.play(name)


def first_life(replay):
    first = "morning-catchup-20261130-a1a3d68048"
    replay.play("life-02-create")
    case = recorded.load("life-03-after-create-disk-and-db")["response"]
    compare_bundle(replay, first, case["tree"], "life-03")
    replay.compare_rows(case["rows"], "life-03")
    for name in ("life-04-list-one-pending", "life-05-inspect", "life-05b-inspect-other-agent"):
        replay.play(name)
    for name in (
        "life-05c-inspect-unknown",
        "life-05d-inspect-bad-id",
        "life-06-events",
        "life-07-revise-content",
    ):
        replay.play(name)
    case = recorded.load("life-08-after-revise-disk-and-db")["response"]
    compare_bundle(replay, first, case["tree"], "life-08")
    replay.compare_rows(case["rows"], "life-08")
    for name in ("life-09-revise-stale-hash", "life-10-revise-nothing", "life-10b-revise-only-hash"):
        replay.play(name)
    replay.play("life-11-revise-metadata-only")
    draft = bundle_tree(replay, first) / "PROPOSAL.md"
    assert draft.read_text() == recorded.load("life-11b-draft")["response"]
    replay.play("life-12-revise-drop-support")
    compare_bundle(replay, first, recorded.load("life-12b-tree")["response"], "life-12b")
    replay.play("life-13-revise-new-support")
    replay.play("life-14-evaluate")
    replay.compare_rows(recorded.load("life-14b-rows-after-evaluate")["response"], "life-14b")
    for name in recorded.names("life-14c-*", "life-15*"):
        replay.play(name)
    replay.play("life-16-apply")
    case = recorded.load("life-17-after-apply-disk-and-db")["response"]
    replay.compare_tree(skills(replay), case["live"], "life-17")
    replay.compare_rows(case["rows"], "life-17")
    for name in recorded.names("life-18-*", "life-19-*", "life-20-*"):
        replay.play(name)
    curator(replay, "life-21-curator-legacy", "life-21b-curator-live-inventory")
    handmade = skills(replay, "hand-made/SKILL.md")
    handmade.parent.mkdir()
    handmade.write_text("---\nname: hand-made\ndescription: written by hand\n---\nx\n")
    curator(replay, "life-22-curator-legacy-handmade", "life-22b-curator-live-handmade")
    replay.play("life-22c-list-handmade")
    replay.play("life-22d-curator-unknown-param")


def curator(replay, legacy, live):
    """Creation dates are exact here: they come from the recorded apply."""
    replay.loose -= {"createdAtMs", "stateChangedAtMs"}
    replay.play(legacy)
    replay.play(live, caller=replay.caller_with("skill-curator-live-inventory"))


def update_life(replay):
    replay.play("life-30-update")
    case = recorded.load("life-30b-update-draft-and-row")["response"]
    assert (bundle_tree(replay, "morning-catchup-20261130-e65c2bee30") / "PROPOSAL.md").read_text() == case[
        "draft"
    ]
    replay.compare_rows(case["rows"], "life-30b")
    live = skills(replay, "morning-catchup/SKILL.md")
    original = live.read_bytes()
    live.write_bytes(original + b"edited\n")
    replay.play("life-31-list-after-external-edit")
    replay.play("life-31b-inspect-after-external-edit")
    stale(replay, original)
    stale_by_support(replay)
    sixth(replay)


def stale(replay, original):
    live = skills(replay, "morning-catchup/SKILL.md")
    # The peer's clock moves between the evaluation and the stale state; ours stands for one call.
    replay.play("life-32-apply-stale", at="47.655")
    replay.compare_rows(recorded.load("life-32b-rows-stale")["response"], "life-32b")
    replay.play("life-32c-apply-stale-again")
    replay.play("life-32d-reject-stale")
    live.write_bytes(original)
    made(
        replay,
        "morning-catchup-20261130-ba7cc52ab1",
        "47.679",
        skillName="morning-catchup",
        content="third\n",
    )
    live.write_bytes(original + b"edited\n")
    replay.play("life-33-revise-stale", at="47.696")
    replay.play("life-33b-inspect-stale")
    live.write_bytes(original)


def stale_by_support(replay):
    script = skills(replay, "morning-catchup/scripts/run.sh")
    made(
        replay,
        "morning-catchup-20261130-6f6908b2eb",
        "47.709",
        skillName="morning-catchup",
        content="fourth\n",
        supportFiles=[{"path": "scripts/run.sh", "content": "four\n"}],
    )
    script.write_text(script.read_text() + "# edit\n")
    replay.play("life-34-apply-support-stale", at="47.750")
    made(
        replay,
        "morning-catchup-20261130-96234ca90a",
        "47.757",
        skillName="morning-catchup",
        content="fifth\n",
        supportFiles=[{"path": "references/late.md", "content": "late\n"}],
    )
    late = skills(replay, "morning-catchup/references/late.md")
    late.parent.mkdir()
    late.write_text("appeared\n")
    replay.play("life-35-apply-support-appeared", at="47.816")


def sixth(replay):
    case = recorded.load("life-36-update-with-description-draft")
    sixth = replay.make(
        case["record"]["id"],
        hash_of(case["record"]["id"]),
        at="47.823",
        skillName="morning-catchup",
        content="# Sixth edition\n",
        description="Sixth label",
        supportFiles=[{"path": "scripts/run.sh", "content": "six\n"}],
    )
    assert sixth["content"] == case["response"]
    wanted = case["record"] | {"draftFile": "PROPOSAL.md"}
    replay.compare(sixth["record"], wanted, "life-36")
    late = skills(replay, "morning-catchup/references/late.md")
    late.write_text(late.read_text() + "untouched-by-proposal edit\n")
    replay.play("life-36b-apply-update-ok")
    case = recorded.load("life-36c-after-update-apply")["response"]
    replay.compare_tree(skills(replay, "morning-catchup"), case["live"], "life-36c")
    replay.compare_rows(case["rows"], "life-36c")


def frontmatter_life(replay):
    made(
        replay,
        "fm-rules-20261130-9421a5196d",
        "47.889",
        name="fm rules",
        description="label",
        content=FM_LIVE,
    )
    assert replay.do("apply", "fm-rules-20261130-9421a5196d", at="47.924")["ok"]
    live = skills(replay, "fm-rules/SKILL.md")
    body = recorded.load("life-39-update-body-only")
    assert live.read_text() == body["request"]["live SKILL.md"]
    replay.play("life-39-update-body-only", params={"agentId": "main"})
    first = body["response"]["record"]["id"]
    replay.play("life-39b-revise-update-description", params={"agentId": "main", "proposalId": first})
    assert replay.do("apply", first, at="47.985")["ok"]
    assert live.read_text() == recorded.load("life-39c-apply-update-body-only")["response"]["SKILL.md"]
    rejected = {
        "life-39-update-own-frontmatter": "48.005",
        "life-39-update-content-name-ignored": "48.022",
        "life-39-update-blank-description": "48.036",
        "life-39-update-goal-evidence": "48.051",
    }
    for name, at in rejected.items():
        answer = replay.play(name, params={"agentId": "main"})
        assert replay.do("reject", answer["payload"]["record"]["id"], at=at)["ok"]
    for name in recorded.names("life-39d-*"):
        replay.play(name)
    assert replay.do("reject", "fm-rules-20261130-74742f5a07", at="48.076")["ok"]


def decided_life(replay):
    gone = "morning-catchup-20261130-ffa6527f03"
    made(replay, gone, "48.080", skillName="morning-catchup", content="seventh\n")
    live = skills(replay, "morning-catchup/SKILL.md")
    kept = live.read_bytes()
    live.unlink()
    replay.play("life-37-apply-target-missing", at="48.100")
    replay.play("life-37b-revise-target-missing")
    replay.play("life-37c-inspect-target-missing")
    live.write_bytes(kept)
    replay.play("life-37d-reject")
    replay.compare_rows(recorded.load("life-37e-rows-rejected")["response"], "life-37e")
    for name in recorded.names("life-38-*"):
        replay.play(name)
    # What these two said was not kept; their hashes are mapped, not compared.
    replay.exact = False
    made(
        replay,
        "quarantine-me-20261130-7a702e53a0",
        "48.185",
        name="quarantine me",
        description="d",
        content="b",
    )
    replay.play("life-40-quarantine-wrong-hash")
    replay.play("life-40b-quarantine")
    replay.compare_rows(recorded.load("life-40c-rows")["response"], "life-40c")
    replay.play("life-40d-apply-quarantined")
    replay.play("life-40e-quarantine-again")
    made(replay, "reject-me-20261130-4546f597c4", "48.223", name="reject me", description="d", content="b")
    replay.play("life-41-reject-no-hash")
    replay.play("life-41b-reject-no-reason")
    replay.compare_rows(recorded.load("life-41c-rows")["response"], "life-41c")
    replay.exact = True
    for name in recorded.names("life-42*"):
        replay.play(name)


def put_skill(replay, name, text):
    file = skills(replay, f"{name}/SKILL.md")
    file.parent.mkdir()
    file.write_text(text)


def create_life(replay):
    replay.play("life-50-create-dup-1")
    replay.play("life-50b-create-dup-2")
    assert replay.do("apply", "twin-20261130-e5ba4565a7", at="48.295")["ok"]
    replay.play("life-51-apply-second-dup", at="48.311")
    replay.compare_rows(recorded.load("life-51b-rows")["response"], "life-51b")
    replay.play("life-52-create-existing-skill")
    by_hand = "---\nname: {}\ndescription: x\n---\nb\n"
    made(replay, "twin-two-20261130-ad625ba6a2", "48.330", name="twin-two", description="d", content="b")
    put_skill(replay, "twin-two", by_hand.format("twin-two"))
    replay.play("life-53-inspect-after-target-appeared")
    replay.compare_rows(recorded.load("life-53b-rows")["response"], "life-53b")
    made(replay, "twin-three-20261130-d1f320bf20", "48.368", name="twin-three", description="d", content="b")
    put_skill(replay, "twin-three", by_hand.format("twin-three"))
    replay.play("life-54-revise-after-target-appeared", at="48.384")
    made(replay, "twin-four-20261130-514b4b0c4b", "48.388", name="twin-four", description="d", content="b")
    put_skill(replay, "twin-four", "no frontmatter\n")
    replay.play("life-55-apply-after-invalid-skill-appeared", at="48.407")
    replay.play("life-55b-inspect")
    replay.play("life-56-list-installed-with-invalid-skill", at="48.455")
    in_folders(replay)


def in_folders(replay):
    for name in ("has-dir", "has-dir2"):
        old = skills(replay, f"{name}/references/old.md")
        old.parent.mkdir(parents=True)
        old.write_text("old\n")
    replay.play("life-57-create-into-existing-dir")
    replay.play("life-57b-apply-into-existing-dir")
    replay.compare_tree(skills(replay, "has-dir"), recorded.load("life-57c-tree")["response"], "life-57c")
    second = "has-dir2-20261130-def441db38"
    files = [{"path": "references/old.md", "content": "new"}]
    made(replay, second, "48.526", name="has-dir2", description="d", content="b", supportFiles=files)
    replay.play("life-58-apply-support-collision", at="48.552")
    replay.play("life-58b-inspect")
    assert replay.do("reject", second, at="48.586")["ok"]
    elsewhere = replay.state_dir / "workspace-main/skills/ws-skill"
    elsewhere.mkdir(parents=True)
    (elsewhere / "SKILL.md").write_text("---\nname: ws-skill\ndescription: d\n---\nx\n")
    for name in recorded.names("life-60-*", "life-60b-*", "life-60c-*", "life-60d-*"):
        replay.play(name)
    assert replay.do("reject", "weather-20261130-f534a0407b", at="48.611")["ok"]
    replay.play("life-60e-create-same-name-as-workspace-skill")
    assert replay.do("reject", "ws-skill-20261130-8aa7be0443", at="48.628")["ok"]


TALES = [life_of_the_recording, *FILE_TALES]
