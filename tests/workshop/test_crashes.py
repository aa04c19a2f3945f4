"""The crash matrix: a real process is killed (SIGKILL) at every step of create, revise, apply and roll back.

After each death another process looks: every proposal and every skill is wholly old or wholly new, nothing half
is left on the disk, and the next call succeeds.
"""

import itertools

import pytest

from tests.workshop.processes import Worker, environment

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

PUBLISH = ["publish.intended", "publish.file", "publish.staged", "publish.renamed", "publish.flushed"]
CREATE = [*PUBLISH, "create.before-commit", "create.committed"]
REVISE = [*PUBLISH, "revise.before-commit", "revise.committed"]
WRITES = ["file.temporary-written", "file.renamed", "file.temporary-written:3", "file.renamed:3"]
APPLY = [
    "apply.checked",
    "apply.rollback-written",
    *WRITES,
    "apply.support-written",
    "apply.support-written:2",
    "apply.skill-written",
    "apply.before-commit",
    "apply.committed",
]
ROLL_BACK = [
    "rollback.intended",
    "file.temporary-written",
    "file.renamed",
    "restore.file",
    "restore.file:2",
    "restore.file:3",
    "rollback.before-commit",
    "rollback.committed",
]
OLD = {"SKILL.md": "# old\n", "scripts/run.sh": "old\n"}
NEW = {"SKILL.md": "# new\n", "scripts/run.sh": "new\n", "assets/deep/more.txt": "new\n"}
numbers = itertools.count()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The environment and one process that lives through all of it."""
    env = environment(tmp_path_factory.mktemp("crashes"))
    survivor = Worker(env).wait_ready()
    yield env, survivor
    survivor.close()


def kill_at(env, fault, **request):
    """Let a process of its own do `request` and die at `fault`."""
    victim = Worker(env, fault).wait_ready()
    victim.send(**request)
    assert victim.receive() is None, "it survived: the fault point was not reached"
    assert victim.process.wait(timeout=30) == -9


def state_dir(env):
    from pathlib import Path

    return Path(env["OPENCLAW_STATE_DIR"])


def skill_dir(env, name):
    return state_dir(env) / "agents/main/agent/workshop-skills" / name


def live(env, name):
    """The live files and their texts without the block of keys; every name, hidden ones included."""
    folder = skill_dir(env, name)
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
    texts = {path.relative_to(folder).as_posix(): path.read_text() for path in files}
    return {path: text.rpartition("---\n\n")[2] for path, text in texts.items()}


def support(files):
    return [{"path": path, "content": text} for path, text in files.items() if path != "SKILL.md"]


def bundles(env, proposal_id):
    folder = state_dir(env) / "skill-workshop/proposals" / proposal_id / "generations"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def generations(survivor, proposal_id):
    sql = f"select uuid from workshop_generation where proposal_id = '{proposal_id}'"
    return sorted(row[0] for row in survivor.ask(sql=sql)["payload"])


def intents(survivor):
    return survivor.ask(sql="select proposal_id from workshop_publication")["payload"]


def create(survivor, name, files):
    return survivor.must(
        "proposals.create", name=name, description="d", content=files["SKILL.md"], supportFiles=support(files)
    )


def apply(survivor, made):
    return survivor.must(
        "proposals.apply", proposalId=made["record"]["id"], expectedRevisionHash=made["revisionHash"]
    )


def updated(survivor, name):
    """A live skill `name` with OLD files and a pending update to NEW ones."""
    apply(survivor, create(survivor, name, OLD))
    return survivor.must(
        "proposals.update", skillName=name, content=NEW["SKILL.md"], supportFiles=support(NEW)
    )


@pytest.mark.parametrize("fault", CREATE)
def test_killed_while_creating(fault, world):
    env, survivor = world
    name = f"create-{next(numbers)}"
    params = {
        "agentId": "main",
        "name": name,
        "description": "d",
        "content": "# x\n",
        "supportFiles": support(NEW),
    }
    kill_at(env, fault, method="skills.proposals.create", params=params)
    survivor.ask(service="recover")
    listed = [e for e in survivor.must("proposals.list")["proposals"] if e["skillName"] == name]
    assert len(listed) == (1 if fault == "create.committed" else 0)
    assert intents(survivor) == []
    on_disk = [path.name for path in (state_dir(env) / "skill-workshop/proposals").glob(f"{name}-*")]
    assert on_disk == [entry["id"] for entry in listed]
    made = create(survivor, name, NEW)
    assert survivor.must("proposals.inspect", proposalId=made["record"]["id"])["content"] == made["content"]


@pytest.mark.parametrize("fault", REVISE)
def test_killed_while_revising(fault, world):
    env, survivor = world
    made = create(survivor, f"revise-{next(numbers)}", OLD)
    proposal_id = made["record"]["id"]
    params = {
        "agentId": "main",
        "proposalId": proposal_id,
        "content": "# new\n",
        "supportFiles": support(NEW),
    }
    kill_at(env, fault, method="skills.proposals.revise", params=params)
    seen = survivor.must("proposals.inspect", proposalId=proposal_id)
    texts = {file["path"]: file["content"] for file in seen["supportFiles"]}
    assert (seen["record"]["proposedVersion"], seen["content"].endswith("# new\n"), texts) == (
        ("v2", True, {"scripts/run.sh": "new\n", "assets/deep/more.txt": "new\n"})
        if fault == "revise.committed"
        else ("v1", False, {"scripts/run.sh": "old\n"})
    )
    again = survivor.must("proposals.revise", proposalId=proposal_id, content="# again\n")
    assert again["record"]["proposedVersion"] == ("v3" if fault == "revise.committed" else "v2")
    assert bundles(env, proposal_id) == generations(survivor, proposal_id)
    assert intents(survivor) == []


@pytest.mark.parametrize("fault", APPLY)
def test_killed_while_applying_an_update(fault, world):
    env, survivor = world
    name = f"apply-{next(numbers)}"
    made = updated(survivor, name)
    proposal_id = made["record"]["id"]
    params = {"agentId": "main", "proposalId": proposal_id, "expectedRevisionHash": made["revisionHash"]}
    kill_at(env, fault, method="skills.proposals.apply", params=params)
    seen = survivor.must("proposals.inspect", proposalId=proposal_id)
    whole = {"applied": NEW, "pending": OLD}[seen["record"]["status"]]
    if fault in ("apply.skill-written", "apply.before-commit", "apply.committed"):
        assert whole is NEW, "all files stood: the apply is finished, not undone"
    assert live(env, name) == whole
    if whole is OLD:
        apply(survivor, made)
    assert live(env, name) == NEW
    assert survivor.must("workshop.read", name=name)["content"].endswith("# new\n")


@pytest.mark.parametrize("fault", ["apply.rollback-written", "apply.support-written", "apply.skill-written"])
def test_killed_while_applying_a_new_skill(fault, world):
    env, survivor = world
    name = f"fresh-{next(numbers)}"
    made = create(survivor, name, NEW)
    params = {
        "agentId": "main",
        "proposalId": made["record"]["id"],
        "expectedRevisionHash": made["revisionHash"],
    }
    kill_at(env, fault, method="skills.proposals.apply", params=params)
    # The retry alone: never "target exists" for ever.
    apply(survivor, made)
    assert live(env, name) == NEW


@pytest.mark.parametrize("fault", ROLL_BACK)
def test_killed_while_rolling_back(fault, world):
    env, survivor = world
    name = f"back-{next(numbers)}"
    made = updated(survivor, name)
    apply(survivor, made)
    kill_at(env, fault, service="roll_back", agent="main", id=made["record"]["id"])
    survivor.ask(service="recover")
    assert live(env, name) == OLD
    assert not (skill_dir(env, name) / "assets").exists()
    states = survivor.ask(
        sql=f"select state from workshop_rollback where proposal_id = '{made['record']['id']}'"
    )
    assert states["payload"] == [["reverted"]]
    events = survivor.must("proposals.events.list", proposalId=made["record"]["id"])["events"]
    assert [event["type"] for event in events].count("rolled_back") == 1
    follow = survivor.must("proposals.update", skillName=name, content="# next\n")
    assert apply(survivor, follow)["record"]["status"] == "applied"


def test_different_bytes_after_a_kill_are_left_for_a_person(world):
    env, survivor = world
    name = f"foreign-{next(numbers)}"
    made = create(survivor, name, NEW)
    asked = {"proposalId": made["record"]["id"], "expectedRevisionHash": made["revisionHash"]}
    params = {"agentId": "main", **asked}
    kill_at(env, "apply.skill-written", method="skills.proposals.apply", params=params)
    (skill_dir(env, name) / "SKILL.md").write_text("---\nname: x\ndescription: by hand\n---\nmine\n")
    refused = survivor.rpc("proposals.apply", **asked)
    assert "cut off" in refused["error"]["message"]
    assert live(env, name)["SKILL.md"].endswith("mine\n")
    assert survivor.rpc("proposals.reject", **asked)["ok"] is False
