"""The command door: rpc and token."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from gateway.models import ApiToken
from gateway.tokens import caller_for_secret

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[dict | list, int]:
    """What a command printed, as JSON, and its exit status."""
    out = StringIO()
    try:
        call_command(*arguments, stdout=out)
    except SystemExit as end:
        return json.loads(out.getvalue()), end.code
    return json.loads(out.getvalue()), 0


def test_a_call_prints_one_object():
    answer, status = run("rpc", "health")
    assert (answer["ok"], status) == (True, 0)
    assert answer["payload"]["ok"] is True


def test_an_error_is_an_object_too_and_exits_1():
    answer, status = run("rpc", "no.such.method")
    assert (answer["ok"], answer["error"]["code"], status) == (False, "INVALID_REQUEST", 1)


def test_params_that_are_no_json_are_named():
    answer, status = run("rpc", "health", "--params", "{")
    assert status == 1
    assert "--params is not JSON" in answer["error"]["message"]


def test_people_only_methods_refuse_the_shell():
    from gateway.registry import methods

    for method in methods():
        if method.people_only:
            answer, status = run("rpc", method.name)
            assert (answer["error"]["details"]["code"], status) == ("PEOPLE_ONLY", 1)


def test_another_dashboard_is_called_over_http(live_server):
    made, _status = run("token", "make", "remote")
    answer, status = run("rpc", "health", "--url", live_server.url, "--token", made["token"])
    assert (answer["ok"], status) == (True, 0)
    refused, status = run("rpc", "health", "--url", live_server.url, "--token", "ocw_wrong")
    assert (refused["error"]["code"], status) == ("UNAUTHORIZED", 1)


def test_a_dashboard_that_is_away_is_one_sentence():
    answer, status = run("rpc", "health", "--url", "http://127.0.0.1:9", "--token", "x")
    assert (answer["error"]["code"], status) == ("UNAVAILABLE", 1)


def test_a_token_is_made_listed_without_its_secret_and_revoked():
    made, _status = run("token", "make", "ci", "--scope", "operator.read", "--agent", "main", "--days", "3")
    assert caller_for_secret(made["token"]).agent_ids == frozenset({"main"})
    listed, _status = run("token", "list")
    assert "token" not in listed[0]
    assert listed[0]["name"] == "ci"
    run("token", "revoke", made["prefix"])
    assert caller_for_secret(made["token"]) is None
    assert ApiToken.objects.get().revoked_at is not None


def test_an_agents_token_names_its_one_agent():
    with pytest.raises(CommandError, match="exactly one agent"):
        call_command("token", "make", "x", "--held-by-agent", stdout=StringIO())
    made, _status = run(
        "token", "make", "x", "--held-by-agent", "--agent", "main", "--session-key", "agent:main:main"
    )
    caller = caller_for_secret(made["token"])
    assert (caller.is_agent, caller.session_key) == (True, "agent:main:main")


def test_an_unknown_scope_is_refused():
    with pytest.raises(CommandError, match=r"operator\.root"):
        call_command("token", "make", "x", "--scope", "operator.root", stdout=StringIO())
