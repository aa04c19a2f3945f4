"""The recorded exchanges that concern the Workshop, replayed against our methods.

Two tables: `ALONE` are exchanges that stand for themselves, `TALES` are sequences in which one follows from the
other, with what was done to the files in between. `NOT_REPLAYED` says why for the rest; a test holds the three
together, so that no recorded file is forgotten.
"""

import json
import os
import re

import pytest

from gateway.callers import READ, SCOPES, WRITE, Caller
from tests.workshop import recorded_cases as recorded
from tests.workshop.replay import Replay
from tests.workshop.tales import TALES, replayed_in_tales

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _bound_as_the_peer(settings):
    """The recorded peer binds an update to SKILL.md and the files it names; ours to the whole skill."""
    settings.WORKSHOP_BIND_WHOLE_TARGET = False


ALONE = recorded.names(
    "create-*",
    "retired-*",
    "error-*",
    "agent-id-case-and-space",
    "events-limit-*",
    "events-no-agent",
    "events-unknown-proposal",
    "events-after-end",
    "events-other-agent",
    "life-01-*",
    "update-description-161",
)
NO_SCOPES = {
    "error-missing-scope-admin-method": {READ, WRITE},
    "error-missing-scope-before-validation": {READ},
    "error-missing-scope-read-method": set(),
    "error-unknown-method-without-admin": {READ},
}
NOT_REPLAYED = {
    "error-missing-scope-write-method": "the method `agent` belongs to another area",
    "event-skills-changed": "a WebSocket broadcast 30 s later, which a request does not show",
    "life-16b-events-after-apply": "as event-skills-changed",
    "life-61-skills-status-entry": "`skills.status` is the general inventory, not the Workshop's",
    "config-variant-workshop-max-pending-201": "how the peer's process starts, and with which exit code",
    "config-variant-workshop-max-skill-bytes-1023": "as above; the clamped value: test_rules.py",
    "config-variant-workshop-mode-unknown": "as above",
    "config-variant-workshop-unknown-key": "as above",
    "hash-revision-vector": "test_hashes.py",
    "hash-verification-all": "the recording's own check of its hashes",
    "cli-gateway-call": "the peer's program against its own server",
    "cli-gateway-call-error": "as cli-gateway-call",
    "usage-chat-history-with-tool-calls": "chat.history belongs to another area",
    "usage-curator-status-after": "lists all 32 skills of the whole recording; counting: usage_row in tales_files.py",
    "tool-skill-workshop-inspect": "tools.invoke belongs to another area; the agent's door: test_rules.py",
    "tool-skill-workshop-apply": "as tool-skill-workshop-inspect",
    "tool-skill-workshop-apply-gateway-view": "as tool-skill-workshop-inspect",
    "tool-skill-workshop-create": "as tool-skill-workshop-inspect",
    "tool-skill-workshop-create-rows": "test_rules.py",
    "state-sqlite-tables": "test_doctor.py builds its database from it",
    "maxpending-leftovers": "decided: a refused create leaves nothing (contract §7.12 calls it a surprise)",
    **dict.fromkeys(recorded.names("race-*"), "test_races.py, with real processes"),
    **{name: "test_command.py" for name in recorded.names("cli-*") if not name.startswith("cli-gateway")},
}


@pytest.fixture
def replay(rpc, state_dir):
    os.umask(0o022)
    return Replay(rpc, state_dir)


@pytest.mark.parametrize("name", [name for name in ALONE if name not in NOT_REPLAYED])
def test_an_exchange_that_stands_for_itself(name, replay):
    caller = None
    if name in NO_SCOPES:
        caller = Caller(kind="token", label="few scopes", scopes=frozenset(NO_SCOPES[name]))
    if name == "update-description-161":
        skill = replay.state_dir / "agents/ops/agent/workshop-skills/plain/SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: plain\ndescription: d\n---\nx\n")
    replay.play(name, caller=caller)


@pytest.mark.parametrize("tale", TALES, ids=[tale.__name__ for tale in TALES])
def test_a_sequence(tale, replay):
    tale(replay)


def test_scopes_of_every_method(rpc):
    expected = recorded.load("scopes-per-method")["response"]
    for method, answers in expected.items():
        if not method.startswith("skills."):
            continue  # other areas' methods
        for held, wanted in answers.items():
            scopes = frozenset({held} & set(SCOPES))
            answer = rpc(method, {}, caller=Caller(kind="token", label="t", scopes=scopes))
            missing = (answer.get("error", {}).get("details") or {}).get("missingScope")
            assert (f"missing {missing}" if missing else "passes the scope gate") == wanted, (method, held)


def test_params_of_every_method(rpc):
    """Field by field, as probed: what is left out, null, of another type, or unknown."""
    for method, probes in recorded.load("params-probe")["response"].items():
        base = probes["base"]
        for probe, wanted in probes.items():
            params = probed(base, probe)
            if params is None:
                continue
            answer = rpc(method, params)
            refused = "invalid" in answer.get("error", {}).get("message", "")
            assert refused == (wanted != "accepted by the schema"), (method, probe, wanted, answer)
        for key in probes.get("keys not in the schema", []):
            answer = rpc(method, {**base, key: "x"})
            assert "invalid" in answer["error"]["message"], (method, key)


def probed(base, probe):
    if probe in ("base", "keys not in the schema"):
        return None
    if probe.startswith("without "):
        return {key: value for key, value in base.items() if key != probe.removeprefix("without ")}
    key, _, value = probe.partition("=")
    many = re.fullmatch(r"<(\d+) chars of (.)>", value)
    return {**base, key: many[2] * int(many[1]) if many else json.loads(value)}


def test_every_recorded_file_is_replayed_or_has_a_reason():
    played = {*ALONE, *replayed_in_tales(), "scopes-per-method", "params-probe", "params-table"}
    assert sorted(set(recorded.names("*")) - played - set(NOT_REPLAYED)) == []
    assert sorted(set(NOT_REPLAYED) & replayed_in_tales()) == []
