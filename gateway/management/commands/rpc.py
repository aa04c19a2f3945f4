"""`manage.py rpc METHOD --params JSON [--url … --token …]`: one call, one JSON object."""

import json
import urllib.error
import urllib.request
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gateway import registry
from gateway.callers import command_caller
from gateway.registry import RpcError


class Command(BaseCommand):
    help = "Calls one method and prints its answer as JSON; exit status 1 for an error."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("method")
        parser.add_argument("--params", default="{}", help="the params as one JSON object")
        parser.add_argument("--url", help="a running dashboard, for example http://127.0.0.1:8000")
        parser.add_argument("--token", default="", help="a token of that dashboard")

    def handle(self, *, method: str, params: str, url: str | None, token: str, **options: Any) -> None:
        try:
            sent = json.loads(params)
        except ValueError as error:
            answer = _failed("INVALID_REQUEST", f"--params is not JSON: {error}")
        else:
            answer = _call_remote(url, token, method, sent) if url else _call_here(method, sent)
        self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2))
        if not answer["ok"]:
            raise SystemExit(1)


def _call_here(method: str, params: Any) -> dict[str, Any]:
    try:
        return {"ok": True, "payload": registry.call(method, params, command_caller())}
    except RpcError as error:
        return {"ok": False, "error": error.as_dict()}


def _call_remote(url: str, token: str, method: str, params: Any) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        return _failed("INVALID_REQUEST", "--url must begin with http:// or https://")
    request = urllib.request.Request(  # noqa: S310 (checked above)
        f"{url.rstrip('/')}/api/rpc/{method}",
        data=json.dumps(params).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            body = response.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    except OSError as error:
        return _failed("UNAVAILABLE", f"{url} does not answer: {error}")
    try:
        return json.loads(body)
    except ValueError:
        return _failed("UNAVAILABLE", f"{url} answered with something else than JSON")


def _failed(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message}}
