"""A stand-in for a language model: an OpenAI-compatible server on localhost that does as it is told.

It is what a real OpenClaw (`script/openclaw-real`) and our own `model` runner speak to in tests, so that
whole turns run without a network. Standard library only: it runs with any Python 3.11.

The last user message steers the answer, one directive a line:

    say: TEXT              the answer
    call: TOOL {JSON}      a tool call first; the turn after its result ends with the answer
    slow: SECONDS          waits this long before the answer's first part
    fail: STATUS           answers with that HTTP status

Without a directive the answer is `stub: ` and the beginning of the message.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL_ID = "mock-1"
ECHO_CHARS = 200
DIRECTIVE = re.compile(r"^[ \t>]*(say|call|slow|fail):[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def text_of(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""


def plan_reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What to answer: `{text, call: (name, arguments) | None, slow: seconds, fail: status | None}`."""
    last_user = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    asked = text_of(messages[last_user].get("content")) if last_user >= 0 else ""
    reply: dict[str, Any] = {
        "text": f"stub: {asked.strip()[:ECHO_CHARS]}",
        "call": None,
        "slow": 0.0,
        "fail": None,
    }
    for word, value in DIRECTIVE.findall(asked):
        if word == "say":
            reply["text"] = value
        elif word == "slow":
            reply["slow"] = float(value)
        elif word == "fail":
            reply["fail"] = int(value)
        else:
            name, _, arguments = value.partition(" ")
            reply["call"] = (name, arguments or "{}")
    if any(m.get("role") == "tool" for m in messages[last_user + 1 :]):
        reply["call"] = None
    return reply


def tokens_of(messages: list[dict[str, Any]], answer: str) -> dict[str, int]:
    """Usage numbers: about four characters a token, as a provider would report them."""
    prompt = sum(len(text_of(m.get("content"))) for m in messages) // 4 + 1
    completion = len(answer) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def chunks_of(reply: dict[str, Any]) -> list[tuple[dict[str, Any], str | None]]:
    """The streamed deltas of a reply, each with its finish reason (None until the last)."""
    if reply["call"]:
        name, arguments = reply["call"]
        call = {
            "index": 0,
            "id": f"call_{time.monotonic_ns()}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        return [({"role": "assistant", "content": None, "tool_calls": [call]}, None), ({}, "tool_calls")]
    middle = len(reply["text"]) // 2
    halves = [half for half in (reply["text"][:middle], reply["text"][middle:]) if half]
    first = {"role": "assistant", "content": ""}
    return [(first, None), *(({"content": half}, None) for half in halves), ({}, "stop")]


def whole_message(reply: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The same reply as one message, for a request that does not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": None if reply["call"] else reply["text"]}
    if reply["call"]:
        (delta, _), _last = chunks_of(reply)
        message["tool_calls"] = delta["tool_calls"]
        return message, "tool_calls"
    return message, "stop"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.rstrip("/").endswith("/models"):
            self.send_object(200, {"object": "list", "data": [{"id": MODEL_ID, "object": "model"}]})
        else:
            self.send_object(200, {"ok": True})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        messages = asked.get("messages") or []
        reply = plan_reply(messages)
        time.sleep(reply["slow"])
        if reply["fail"]:
            self.send_object(
                reply["fail"], {"error": {"message": "the stub was told to fail", "type": "stub"}}
            )
        elif asked.get("stream"):
            self.stream(asked, messages, reply)
        else:
            message, finish = whole_message(reply)
            choice = {"index": 0, "message": message, "finish_reason": finish}
            usage = tokens_of(messages, reply["text"])
            self.send_object(200, self.envelope(asked, "chat.completion", [choice]) | {"usage": usage})

    def stream(self, asked: dict[str, Any], messages: list[dict[str, Any]], reply: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        frames = [
            self.envelope(
                asked, "chat.completion.chunk", [{"index": 0, "delta": delta, "finish_reason": finish}]
            )
            for delta, finish in chunks_of(reply)
        ]
        usage = self.envelope(asked, "chat.completion.chunk", []) | {
            "usage": tokens_of(messages, reply["text"])
        }
        for frame in [*frames, usage]:
            self.wfile.write(f"data: {json.dumps(frame)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def envelope(self, asked: dict[str, Any], kind: str, choices: list[Any]) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{time.monotonic_ns()}",
            "object": kind,
            "created": int(time.time()),
            "model": asked.get("model", MODEL_ID),
            "choices": choices,
        }

    def send_object(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        sys.stderr.write(f"{self.log_date_time_string()} {format % args}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible stub on localhost.")
    parser.add_argument("--port", type=int, default=18999, help="0 takes a free one; it is printed")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    server.daemon_threads = True
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}/v1"}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
