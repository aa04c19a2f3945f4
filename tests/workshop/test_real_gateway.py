"""The same requests to a real Gateway and to us: drafts, hashes, findings and outcomes must be equal.

Beyond the recording: texts and paths at the edges of YAML, Unicode order and the scanner, sent to both sides, ours at
the instant that the real answer tells.
"""

import json
import os
from contextlib import contextmanager

import pytest
from websockets.sync.client import connect

from bench.real_gateway import RealGateway, shake_hands
from tests.interop.conftest import real_openclaw  # noqa: F401
from tests.workshop.replay import Replay
from workshop.doctor import examine
from workshop.models import Proposal
from workshop.names import from_iso
from workshop.queries import wire
from workshop.scanrules import RULES

pytestmark = [pytest.mark.real_openclaw, pytest.mark.slow, pytest.mark.django_db]

BLOCKS = {
    "comment": "# a note\nlicense: MIT\n# the end",
    "blank lines": "license: MIT\n\nauthor: me\n\n",
    "dropped, then blank": "name: x\n\nlicense: MIT",
    "list at column 0": "version:\n- 1\n- 2\nnote: x",
    "kept list at column 0": "tools:\n- a\n- b\nstatus: live",
    "quoted key": "\"name\": x\n'status': y\nlicense: MIT",
    "upper case": "NAME: x\nDescription: Shouted\nVERSION: 3\nlicense: MIT",
    "spaces before the colon": "name : x\nlicense : MIT",
    "folded": "description: >\n  one\n  two\n\n  three\nlicense: MIT",
    "folded, stripped": "description: >-\n  one\n  two\n",
    "literal": "description: |\n  one\n   two\n",
    "anchor": "note: &a hello\ndescription: *a",
    "number": "description: 7",
    "boolean": "description: yes",
    "null": "description: null",
    "list": "description: [a, b]",
    "single quotes": "description: 'it''s'",
    "plain with hash": "description: a # b",
    "plain with colon": "description: Do A. Use when: (1) b",
    "plain with two colons": "description: a: b: c",
    "url": "description: see https://x.example/a",
    "trailing colon": "description: careful:",
    "star": "description: *nobody",
    "at": "description: @me",
    "percent": "description: 100% sure",
    "tab": "description:\ttabbed",
    "duplicate": "license: MIT\nlicense: BSD\ndescription: d2",
    "flow map": 'metadata: {"openclaw": {"emoji": "x"}}\ndescription: flow',
    "deep": "metadata:\n  openclaw:\n    skillKey: other\n    version: 3",
    "not a mapping": "just words",
    "dash list": "- a\n- b",
    "emoji": "description: 检查磁盘 💾",
    "long line": "description: " + "x" * 200,
}
BODIES = {
    "leading blank lines": "\n\n  # T\n",
    "only a rule": "---\n",
    "rule at the end": "a\n---",
    "nbsp first": "\u00a0a",
    "line separator first": "\u2028a\u2029b",
    "null and bell": "a\0\x07b",
    "trailing spaces": "a  \n\n\n",
    "four dashes": "----\nx\n",
}
PATHS = [
    "é.txt",
    "e.txt",
    "f.txt",
    "Ä",
    "a",
    "ß",
    "ss",
    "ﬁ",
    "日本",
    "中",
    "一",
    "ｂ",
    "Б",
    "ж",
    "가",
    "‘q’",
    "'q'",
    "_",
    "-",
    "1",
    "10",
    "2",
]


@pytest.fixture
def replay(rpc, state_dir):
    os.umask(0o022)
    return Replay(rpc, state_dir)


@pytest.fixture
def gateway(real_openclaw, tmp_path):  # noqa: F811
    """A kept connection to a real Gateway with a state folder of its own."""
    state = tmp_path / "real"

    @contextmanager
    def start():
        facts = real_openclaw.start(state)
        with connect(facts["url"], max_size=None) as socket:
            shake_hands(socket, facts["token"])
            yield RealGateway(socket)

    with start() as opened:
        yield opened, state


def ask_both(gateway, replay, method, params):
    """Both answers: the real one with its folder replaced, ours at the same instant."""
    real, state = gateway
    try:
        answer = {"ok": True, "payload": real.call(method, params)}
    except RuntimeError as error:
        answer = {"ok": False, "error": error.args[1] if len(error.args) > 1 else {"code": "INVALID_REQUEST"}}
    answer = json.loads(json.dumps(answer).replace(str(state), "<state-dir>"))
    record = (answer.get("payload") or {}).get("record") or answer.get("payload") or {}
    at = from_iso(record["updatedAt"]) if isinstance(record, dict) and "schema" in record else None
    return answer, replay.call(method, params, at)


def contents():
    for name, block in BLOCKS.items():
        yield f"block: {name}", f"---\n{block}\n---\nbody\n"
    yield from BODIES.items()
    for rule in RULES.values():
        if rule.id != "literal-secret":
            yield f"rule: {rule.id}", f"{rule.hits}\n\n{rule.misses}\n"


def test_the_same_requests_have_the_same_answers(gateway, replay):
    wrong = []
    for name, content in contents():
        params = {"agentId": "main", "name": f"case {name}", "description": "d", "content": content}
        real, ours = ask_both(gateway, replay, "skills.proposals.create", params)
        try:
            replay.compare(ours, masked(real), name)
        except AssertionError as error:
            texts = [side["payload"]["content"] if side["ok"] else side["error"] for side in (real, ours)]
            wrong.append(f"{str(error).splitlines()[0][:200]}\n  theirs {texts[0]!r}\n  ours   {texts[1]!r}")
        if real["ok"] and ours["ok"]:
            decide = {"agentId": "main", "proposalId": real["payload"]["record"]["id"]}
            decide["expectedRevisionHash"] = real["payload"]["revisionHash"]
            applied = ask_both(gateway, replay, "skills.proposals.apply", decide)
            if applied[0]["ok"] != applied[1]["ok"]:
                wrong.append(f"apply {name}: {applied[0].get('error')} / {applied[1].get('error')}")
                close(gateway, replay, real, ours)
            elif not applied[0]["ok"]:
                close(gateway, replay, real, ours)
    assert not wrong, "\n".join(wrong)


def close(gateway, replay, real, ours):
    """Take a proposal that could not be applied out of the way, on both sides."""
    for call, made in ((gateway[0].call, real), (lambda m, p: replay.call(m, p), ours)):
        asked = {"agentId": "main", "proposalId": made["payload"]["record"]["id"]}
        try:
            call("skills.proposals.quarantine", asked)
        except RuntimeError:
            continue


def masked(answer):
    """The peer's own sentences are not compared."""
    if isinstance(answer, dict):
        changed = {key: masked(value) for key, value in answer.items()}
        if "ruleId" in changed:
            changed["message"] = "<rule message>"
            if changed["ruleId"].endswith("-truncated"):
                changed["evidence"] = "<how many>"
        return changed
    return [masked(item) for item in answer] if isinstance(answer, list) else answer


REVISED = {
    "text only": {"content": "# New\n"},
    "text with a block": {"content": "---\nauthor: b\ndescription: own words\n---\nnew\n"},
    "text with a block without words": {"content": "---\nauthor: b\n---\nnew\n"},
    "label only": {"description": "label"},
    "label and text": {"description": "label", "content": "---\ndescription: own words\n---\nx"},
    "files only": {"supportFiles": [{"path": "assets/a", "content": "a"}]},
    "no files": {"supportFiles": []},
    "goal": {"goal": " g ", "evidence": ""},
    "crlf": {"content": "\ufeff---\r\nnote: x\r\n---\r\n\r\nline\r\n"},
}


def test_the_same_updates_and_revisions_have_the_same_answers(gateway, replay):
    wrong = []
    live = "---\nname: Live One\ndescription: 'live: words'\nlicense: MIT\nversion: 3\n---\n\nbody\n"
    for root in (gateway[1], replay.state_dir):
        folder = root / "agents/main/agent/workshop-skills/live"
        (folder / "assets").mkdir(parents=True)
        (folder / "SKILL.md").write_text(live)
        (folder / "assets/a").write_text("before")
    words = {"agentId": "main", "skillName": "live one", "content": "changed\n"}
    creates = {"agentId": "main", "name": "Fresh", "description": "first words", "content": "x"}
    for method, params in (("update", words), ("create", creates)):
        made = ask_both(gateway, replay, f"skills.proposals.{method}", params)
        replay.compare(made[1], masked(made[0]), method)
        for name, change in REVISED.items():
            asked = {"agentId": "main", "proposalId": made[0]["payload"]["record"]["id"], **change}
            real, ours = ask_both(gateway, replay, "skills.proposals.revise", asked)
            try:
                replay.compare(ours, masked(real), f"{method}, {name}")
            except AssertionError as error:
                wrong.append(f"{str(error).splitlines()[0][:300]}\n  {real}\n  {ours}")
    assert not wrong, "\n".join(wrong)


def test_the_same_live_files_are_listed(gateway, replay):
    real, state = gateway
    for root in (state, replay.state_dir):
        for number, block in enumerate(BLOCKS.values()):
            folder = root / f"agents/main/agent/workshop-skills/live-{number:02d}"
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(f"---\n{block}\n---\nbody\n")
    theirs = real.call("skills.proposals.list", {"agentId": "main"})["installedSkills"]
    ours = replay.call("skills.proposals.list", {"agentId": "main"})["payload"]["installedSkills"]
    names = dict(enumerate(BLOCKS))
    gone = [row for row in theirs if row not in ours], [row for row in ours if row not in theirs]
    assert ours == theirs, f"{gone} {names}"


def test_paths_of_many_scripts_are_hashed_in_the_same_order(gateway, replay):
    files = [{"path": f"assets/{name}", "content": name} for name in PATHS]
    params = {"agentId": "main", "name": "paths", "description": "d", "content": "x", "supportFiles": files}
    real, ours = ask_both(gateway, replay, "skills.proposals.create", params)
    assert ours["payload"]["revisionHash"] == real["payload"]["revisionHash"]


def test_a_real_state_is_imported_as_the_gateway_lists_it(gateway, settings, replay):
    real, state = gateway
    agent = {"agentId": "main"}
    files = [{"path": "scripts/a.sh", "content": "x"}]
    words = {"name": "One", "description": "d", "content": "# T\n", "supportFiles": files}
    made = real.call("skills.proposals.create", {**agent, **words})
    asked = {**agent, "proposalId": made["record"]["id"]}
    made = real.call("skills.proposals.revise", {**asked, "content": "# U\n"})
    real.call("skills.proposals.apply", {**asked, "expectedRevisionHash": made["revisionHash"]})
    real.call("skills.proposals.update", {**agent, "skillName": "one", "content": "# V\n"})
    locked = real.call(
        "skills.proposals.create", {**agent, "name": "Two", "description": "e", "content": "y"}
    )
    real.call("skills.proposals.quarantine", {**agent, "proposalId": locked["record"]["id"]})
    settings.OPENCLAW_STATE_DIR = state
    assert [finding.code for finding in examine(fix=True).findings] == ["peer-database"]
    assert replay.rpc("skills.proposals.list", agent)["payload"] == real.call("skills.proposals.list", agent)
    for proposal in Proposal.objects.all():
        one = {**agent, "proposalId": proposal.pk}
        assert replay.rpc("skills.proposals.inspect", one)["payload"] == real.call(
            "skills.proposals.inspect", one
        )
    ours = replay.rpc("skills.proposals.events.list", agent)["payload"]
    assert ours == real.call("skills.proposals.events.list", agent)
    caps = replay.caller_with("skill-curator-live-inventory")
    assert wire.curator_status(caps, live_inventory=True) == real.call("skills.curator.status", {})
