"""The model stub does as it is told; what stands for a provider in tests must itself be right."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.interop.stub_model import plan_reply

STUB = Path(__file__).parent / "stub_model.py"


@pytest.fixture(scope="module")
def stub():
    """A running stub's address."""
    process = subprocess.Popen(
        [sys.executable, str(STUB), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["url"]
    process.terminate()
    process.wait(10)


def ask(url, *messages, stream=False):
    """The answer's body, and its status where it is an error."""
    said = [{"role": "user", "content": text} if isinstance(text, str) else text for text in messages]
    body = json.dumps({"model": "mock-1", "messages": said, "stream": stream}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def test_without_an_order_it_repeats_the_message(stub):
    answer = json.loads(ask(stub, "你好"))
    assert answer["choices"][0]["message"]["content"] == "stub: 你好"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert (
        answer["usage"]["total_tokens"]
        == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    )


def test_it_says_what_it_is_told(stub):
    answer = json.loads(ask(stub, "a long prompt\nsay: 收到\nand more"))
    assert answer["choices"][0]["message"]["content"] == "收到"


def test_it_calls_a_tool_and_answers_after_its_result(stub):
    order = 'call: session_status {"a": 1}\nsay: done'
    first = json.loads(ask(stub, order))["choices"][0]
    call = first["message"]["tool_calls"][0]
    assert (first["finish_reason"], call["function"]) == (
        "tool_calls",
        {"name": "session_status", "arguments": '{"a": 1}'},
    )
    result = {"role": "tool", "tool_call_id": call["id"], "content": "ok"}
    second = json.loads(ask(stub, order, first["message"], result))["choices"][0]
    assert (second["finish_reason"], second["message"]["content"]) == ("stop", "done")


def test_a_stream_has_the_same_words_and_ends(stub):
    lines = [line[6:] for line in ask(stub, "say: streamed words", stream=True).splitlines() if line]
    assert lines[-1] == "[DONE]"
    parts = [json.loads(line) for line in lines[:-1]]
    words = "".join(choice["delta"].get("content") or "" for part in parts for choice in part["choices"])
    assert words == "streamed words"
    assert parts[-2]["choices"][0]["finish_reason"] == "stop"
    assert parts[-1]["usage"]["completion_tokens"] == 4


def test_it_fails_when_it_is_told_to(stub):
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(stub, "fail: 429")
    assert caught.value.code == 429


def test_only_the_last_user_message_gives_orders():
    told = [{"role": "user", "content": "say: old"}, {"role": "assistant", "content": "old"}]
    parts = [{"type": "text", "text": "slow: 0.5\nsay: new"}]
    reply = plan_reply([*told, {"role": "user", "content": parts}])
    assert (reply["text"], reply["slow"], reply["call"], reply["fail"]) == ("new", 0.5, None, None)
