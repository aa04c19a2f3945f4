"""The method table: scopes before params, typed errors, people only."""

import pytest

from gateway import registry
from gateway.callers import ADMIN, READ, WRITE, Caller
from gateway.errors import AppError
from gateway.models import AuditEntry
from gateway.registry import Params, RpcError

pytestmark = pytest.mark.django_db


class EchoParams(Params):
    some_text: str
    idempotency_key: str | None = None


@pytest.fixture
def echo(monkeypatch):
    """A table with methods of our own; `calls` lists the texts that reached the handler."""
    monkeypatch.setattr(registry, "_methods", {})
    calls: list[str] = []

    @registry.method("test.echo", params=EchoParams, scope=READ, idempotent=True)
    def handler(params: EchoParams, caller: Caller) -> dict:
        """Says it again."""
        calls.append(params.some_text)
        if params.some_text == "refuse":
            raise AppError("Not this one.", code="REFUSED", details={"why": "test"})
        return {"said": params.some_text, "call": len(calls)}

    @registry.method("test.decide", params=EchoParams, scope=WRITE, people_only=True)
    def decide(params: EchoParams, caller: Caller) -> dict:
        """Decides."""
        return {"by": caller.label}

    return calls


def caller(*scopes: str, kind: str = "token") -> Caller:
    return Caller(kind=kind, label="somebody", scopes=frozenset(scopes))


def test_a_method_gets_its_params_by_their_wire_names(echo):
    assert registry.call("test.echo", {"someText": "hi"}, caller(READ)) == {"said": "hi", "call": 1}


def test_absent_params_are_an_empty_object(echo):
    with pytest.raises(RpcError) as refused:
        registry.call("test.echo", None, caller(READ))
    assert refused.value.code == "INVALID_REQUEST"
    assert "someText" in refused.value.message


@pytest.mark.parametrize(
    "params",
    [{"someText": "hi", "extra": 1}, {"some_text": "hi"}, {"someText": 3}, {"someText": None}, [], "x", 7],
)
def test_params_are_a_closed_object_with_strict_types(echo, params):
    with pytest.raises(RpcError) as refused:
        registry.call("test.echo", params, caller(READ))
    assert refused.value.code == "INVALID_REQUEST"
    assert echo == []


def test_a_missing_scope_is_said_before_bad_params_and_is_in_the_trail(echo):
    with pytest.raises(RpcError) as refused:
        registry.call("test.decide", {"nonsense": True}, caller(READ))
    assert refused.value.as_dict()["code"] == "FORBIDDEN"
    assert refused.value.details == {
        "code": "MISSING_SCOPE",
        "missingScope": "operator.write",
        "requiredScopes": ["operator.write"],
    }
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.outcome, entry.subject) == ("method.refused", "refused", "test.decide")


def test_write_satisfies_read_and_admin_satisfies_all(echo):
    assert registry.call("test.echo", {"someText": "a"}, caller(WRITE))["said"] == "a"
    assert registry.call("test.echo", {"someText": "b"}, caller(ADMIN))["said"] == "b"


def test_an_unknown_method_hides_behind_the_admin_scope(echo):
    with pytest.raises(RpcError) as hidden:
        registry.call("test.unknown", {}, caller(WRITE))
    assert hidden.value.code == "FORBIDDEN"
    with pytest.raises(RpcError) as named:
        registry.call("test.unknown", {}, caller(ADMIN))
    assert named.value.code == "INVALID_REQUEST"
    assert named.value.details is None


@pytest.mark.parametrize("kind", ["token", "command", "system"])
def test_people_only_methods_refuse_every_program_whatever_its_scopes(echo, kind):
    with pytest.raises(RpcError) as refused:
        registry.call("test.decide", {"someText": "x"}, caller(ADMIN, kind=kind))
    assert refused.value.details == {"code": "PEOPLE_ONLY", "method": "test.decide"}
    assert registry.call("test.decide", {"someText": "x"}, caller(WRITE, kind="person")) == {"by": "somebody"}


def test_a_refusal_of_the_service_keeps_its_sentence_and_details(echo):
    with pytest.raises(RpcError) as refused:
        registry.call("test.echo", {"someText": "refuse"}, caller(READ))
    assert refused.value.as_dict() == {
        "code": "INVALID_REQUEST",
        "message": "Not this one.",
        "details": {"why": "test"},
    }


def test_the_same_key_gets_the_first_answer(echo):
    params = {"someText": "once", "idempotencyKey": "k1"}
    first = registry.call("test.echo", params, caller(READ))
    assert registry.call("test.echo", params, caller(READ)) == first == {"said": "once", "call": 1}
    assert echo == ["once"]


def test_a_used_key_with_other_params_is_refused(echo):
    registry.call("test.echo", {"someText": "one", "idempotencyKey": "k1"}, caller(READ))
    with pytest.raises(RpcError):
        registry.call("test.echo", {"someText": "two", "idempotencyKey": "k1"}, caller(READ))
    assert echo == ["one"]


def test_a_refused_call_frees_its_key(echo):
    with pytest.raises(RpcError):
        registry.call("test.echo", {"someText": "refuse", "idempotencyKey": "k1"}, caller(READ))
    answer = registry.call("test.echo", {"someText": "fine", "idempotencyKey": "k1"}, caller(READ))
    assert answer["said"] == "fine"


def test_a_name_cannot_be_registered_twice(echo):
    with pytest.raises(ValueError, match="registered twice"):
        registry.method("test.echo", params=EchoParams, scope=READ)(lambda params, caller: None)
