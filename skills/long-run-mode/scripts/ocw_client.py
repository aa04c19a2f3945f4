"""The one way from these scripts to the dashboard: `POST /api/rpc/<method>` with a bearer token.

Standard library only. Where to go and with which token comes from OPENCLAW_WEB_URL and OPENCLAW_WEB_TOKEN, or
from the file that `manage.py skills install` wrote beside the skills (`.openclaw-web/client.json`, mode 0600).

Exit status: 0 done; 1 the dashboard refused (its answer is printed); 2 wrong arguments; 3 the dashboard could
not be asked (one sentence on standard error, nothing on standard output).
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

CONFIG = Path(".openclaw-web") / "client.json"
SECONDS = 20


class Away(Exception):
    """The dashboard could not be asked, or what answered is not the dashboard."""


def parser(about: str) -> argparse.ArgumentParser:
    """A parser with what every script takes."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--agent", default=None, help="whose task it is, where the token is for several agents")
    made.add_argument("--json", action="store_true", help="one line instead of indented JSON")
    return made


def run(arguments: argparse.Namespace, method: str, **more: Any) -> NoReturn:
    """Calls `method` with the arguments as its params, prints the answer, and leaves with the exit status."""
    params = {
        camel(name): value for name, value in vars(arguments).items() if name not in ("agent", "json", "verb")
    }
    params = {
        name: value for name, value in {**params, **more}.items() if value is not None and value is not False
    }
    finish(ask(method, params, agent=arguments.agent), one_line=arguments.json)


def ask(method: str, params: dict[str, Any], *, agent: str | None = None) -> dict[str, Any]:
    """The answer of one method: its payload with `ok`, or `{"ok": false, "error": …}`. Leaves with 3 if away."""
    try:
        url, token, own = connection()
        if agent or own:
            params = {**params, "agentId": agent or own}
        return _post(f"{url}/api/rpc/{method}", token, params)
    except Away as away:
        print(f"{Path(sys.argv[0]).name}: {away}", file=sys.stderr)
        sys.exit(3)


def finish(answer: dict[str, Any], *, one_line: bool = False) -> NoReturn:
    """Prints the answer as JSON and leaves: status 1, and the sentence on standard error, for a refusal."""
    print(json.dumps(answer, ensure_ascii=False, indent=None if one_line else 2))
    if answer.get("ok") is True:
        sys.exit(0)
    error = answer.get("error")
    if isinstance(error, dict):
        print(f"{Path(sys.argv[0]).name}: {error.get('message', 'refused')}", file=sys.stderr)
    sys.exit(1)


def connection() -> tuple[str, str, str]:
    """Address, token and agent. Raises Away with what to do where there is none."""
    config = _config()
    url = os.environ.get("OPENCLAW_WEB_URL") or config.get("url", "")
    token = os.environ.get("OPENCLAW_WEB_TOKEN") or config.get("token", "")
    if not url or not token:
        raise Away(
            "not set up: run `manage.py skills install --agent <id>` on the dashboard's host, "
            "or set OPENCLAW_WEB_URL and OPENCLAW_WEB_TOKEN"
        )
    if urlsplit(url).scheme not in ("http", "https"):
        raise Away(f"{url} is no http address")
    return url.rstrip("/"), token, config.get("agent", "") if not os.environ.get("OPENCLAW_WEB_TOKEN") else ""


def session_in_index(key: str) -> bool | None:
    """Whether the sessions index named by OPENCLAW_SESSIONS_FILE has the key; None where none is named."""
    named = os.environ.get("OPENCLAW_SESSIONS_FILE")
    if not named:
        return None
    try:
        index = json.loads(Path(named).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(
            f"{Path(sys.argv[0]).name}: OPENCLAW_SESSIONS_FILE {named} cannot be read: {error}",
            file=sys.stderr,
        )
        sys.exit(3)
    return isinstance(index, dict) and key in index


def send_command(session_key: str, message: str, key: str) -> list[str]:
    """The command line that sends a message, for hosts without the sessions_send tool (OPENCLAW_BIN respected)."""
    params = {"key": session_key, "message": message, "idempotencyKey": key}
    program = os.environ.get("OPENCLAW_BIN") or "openclaw"
    return [
        program,
        "gateway",
        "call",
        "sessions.send",
        "--params",
        json.dumps(params, ensure_ascii=False),
        "--json",
    ]


def with_commands(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Adds to each `sessions_send` step under `name` the command line that does the same."""
    for step in answer.get(name) or []:
        arguments = step["arguments"]
        step["command"] = send_command(arguments["sessionKey"], arguments["message"], step["dedupeKey"])
    return answer


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _config() -> dict[str, str]:
    named = os.environ.get("OPENCLAW_WEB_CONFIG")
    if named:
        places = [Path(named)]
    else:
        here = [Path(__file__).resolve().parent, Path.cwd()]
        places = [folder / CONFIG for start in here for folder in (start, *start.parents)]
    for place in places:
        try:
            mode = place.stat().st_mode
            if stat.S_IMODE(mode) & 0o077:
                raise Away(f"{place} can be read by others: chmod 600 it, it holds a token")
            found = json.loads(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise Away(f"{place} cannot be read: {error}") from error
        if not isinstance(found, dict):
            raise Away(f"{place} does not hold a configuration")
        return found
    return {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another address."""

    def redirect_request(self, *_args: Any) -> None:
        return None


def _post(url: str, token: str, params: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - http(s) only: connection() has checked
        url,
        data=json.dumps(params, ensure_ascii=False).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method="POST",
    )
    handlers: list[Any] = [_NoRedirect()]
    if urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1"):
        handlers.append(urllib.request.ProxyHandler({}))
    where = url.split("/api/", maxsplit=1)[0]
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=SECONDS) as response:
            return _read(response.read(), where, response.status)
    except urllib.error.HTTPError as error:
        with error:
            return _read(error.read(), where, error.code)
    except TimeoutError as error:
        raise Away(f"the dashboard at {where} did not answer within {SECONDS} seconds") from error
    except urllib.error.URLError as error:
        raise Away(f"the dashboard at {where} cannot be reached: {error.reason}") from error
    except OSError as error:
        raise Away(f"the connection to the dashboard at {where} broke: {error}") from error


def _read(body: bytes, where: str, status: int) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "ok" not in answer:
        raise Away(f"what answers at {where} is not the dashboard (HTTP status {status})")
    if status == 401:
        raise Away(
            f"the dashboard at {where} refused the token: {answer['error'].get('message', 'unknown token')}"
        )
    if answer["ok"]:
        payload = answer.get("payload")
        return {"ok": True, **(payload if isinstance(payload, dict) else {"payload": payload})}
    return {"ok": False, "error": answer.get("error") or {"message": f"HTTP status {status}"}}
