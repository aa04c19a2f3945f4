import pytest

from gateway.callers import Caller
from gateway.deliveries import attempt_delivery, queue_message
from gateway.registry import RpcError, call
from gateway.tokens import make_token

KEY = "agent:main:main"


@pytest.fixture
def lying(db, shell, settings):
    settings.OPENCLAW_BIN = ""
    make_token("main", scopes=["operator.write"], agent_ids=["main"], is_agent=True, caller=shell)
    delivery = queue_message(
        agent_id="main", session_key=KEY, text="hello", purpose="chat", dedupe_key="d1", caller=shell
    )
    return attempt_delivery(delivery)


def test_an_agent_fetches_its_inbox_and_acknowledges_it(lying, agent_caller):
    answer = call("deliveries.inbox", {"sessionKey": KEY}, agent_caller)
    [message] = answer["messages"]
    assert (message["message"], message["outcome"], message["receivedAt"]) == ("hello", "unknown", None)
    [confirmed] = call("deliveries.acknowledge", {"ids": [message["id"]]}, agent_caller)["deliveries"]
    assert confirmed["outcome"] == "delivered"
    assert confirmed["receivedAt"]
    assert call("deliveries.inbox", {"sessionKey": KEY}, agent_caller)["messages"] == []


def test_an_agent_reports_its_own_try(lying, agent_caller):
    params = {"id": lying.pk, "outcome": "failed", "error": "channel closed"}
    answer = call("deliveries.report", params, agent_caller)
    assert (answer["outcome"], answer["error"], answer["attempts"]) == ("failed", "channel closed", 2)


def test_another_agent_sees_and_changes_nothing(lying):
    ops = Caller(
        kind="token",
        label="ops",
        scopes=frozenset({"operator.write"}),
        agent_ids=frozenset({"ops"}),
        is_agent=True,
    )
    assert call("deliveries.list", {}, ops) == {"deliveries": []}
    for name, params in (
        ("deliveries.acknowledge", {"ids": [lying.pk]}),
        ("deliveries.report", {"id": lying.pk, "outcome": "delivered"}),
        ("deliveries.inbox", {"sessionKey": KEY}),
    ):
        with pytest.raises(RpcError):
            call(name, params, ops)
    lying.refresh_from_db()
    assert (lying.received_at, lying.fetched_at) == (None, None)


def test_the_list_is_filtered_by_session_and_by_what_is_open(lying, shell, agent_caller):
    other = queue_message(
        agent_id="main", session_key="agent:main:x", text="b", purpose="chat", dedupe_key="d2", caller=shell
    )
    rows = call("deliveries.list", {"sessionKey": KEY}, shell)["deliveries"]
    assert [row["id"] for row in rows] == [lying.pk]
    call("deliveries.acknowledge", {"ids": [lying.pk]}, agent_caller)
    rows = call("deliveries.list", {"openOnly": True}, shell)["deliveries"]
    assert [row["id"] for row in rows] == [other.pk]
