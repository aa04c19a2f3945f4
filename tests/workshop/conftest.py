import json

import pytest

from agents.roster import forget_roster
from gateway import registry
from gateway.callers import SCOPES, Caller
from gateway.registry import RpcError
from workshop.queries import wire


@pytest.fixture(autouse=True)
def _fresh_caches():
    forget_roster()
    wire.forget_entries()
    yield
    forget_roster()


@pytest.fixture
def two_agents(state_dir):
    """A state folder with agents `main` and `ops`."""
    write_config(state_dir, {})
    return state_dir


def write_config(state_dir, workshop, agents=("main", "ops")):
    entries = {name: {"workspace": str(state_dir / f"workspace-{name}")} for name in agents}
    config = {"agents": {"entries": entries}, "skills": {"workshop": workshop}}
    (state_dir / "openclaw.json").write_text(json.dumps(config))
    forget_roster()


@pytest.fixture
def gateway_caller():
    """A program's token with all scopes, not an agent's: how the recorded client connected."""
    return Caller(kind="token", label="recorded client", scopes=frozenset(SCOPES))


@pytest.fixture
def rpc(db, two_agents, gateway_caller):
    """Calls a method as the recorded client did; returns `{"ok", "payload"}` or `{"ok", "error"}`."""

    def call(method, params=None, caller=gateway_caller):
        try:
            return {"ok": True, "payload": registry.call(method, params or {}, caller)}
        except RpcError as error:
            return {"ok": False, "error": error.as_dict()}

    return call
