"""The ways a message reaches a session. `deliveries` asks them in order; the first that serves it sends it.

Source: spec/longrun.md §6; `sessions.send` in contract §4.4.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings

from gateway.models import ApiToken, Delivery
from gateway.sentences import DELIVERY

DELIVERED = Delivery.Outcome.DELIVERED
FAILED = Delivery.Outcome.FAILED
UNKNOWN = Delivery.Outcome.UNKNOWN


@dataclass(frozen=True, slots=True)
class Sent:
    """What a try came to. `delivered` only where the session said so; no answer in time is `unknown`."""

    outcome: Delivery.Outcome
    error: str = ""


class Transport(Protocol):
    name: str

    def serves(self, delivery: Delivery) -> bool:
        """Whether this way is open for that message now. Cheap: pages ask it."""

    def send(self, delivery: Delivery) -> Sent:
        """Tries once. Raises nothing that a peer can cause."""


# Purposes whose message is the first of a session of its own.
_BEGINNINGS: set[str] = set()


def begin_session_for(purpose: str) -> None:
    """Messages of this purpose begin their session: the `openclaw` program makes it before it sends."""
    _BEGINNINGS.add(purpose)


class Program:
    """The `openclaw` program: `gateway call sessions.send` with the dedupe key as idempotency key.

    `sessions.send`, not `chat.send`, because the second makes a session that is missing, and a message
    must never land in another session than the one it is for. A message that begins its session is preceded
    by `sessions.create` without words: that may be done twice, while words given to it would arrive twice.
    """

    name = "openclaw"

    def serves(self, delivery: Delivery) -> bool:
        return self._program() is not None

    def send(self, delivery: Delivery) -> Sent:
        if delivery.purpose in _BEGINNINGS:
            named = {"agentId": delivery.agent_id, "key": delivery.session_key}
            made = self._call("sessions.create", named)
            if made.outcome != DELIVERED:
                return made
        params = {
            "key": delivery.session_key,
            "message": delivery.text,
            "idempotencyKey": delivery.dedupe_key,
        }
        return self._call("sessions.send", params)

    def _call(self, method: str, params: dict[str, str]) -> Sent:
        command = [
            self._program() or settings.OPENCLAW_BIN,
            "gateway",
            "call",
            method,
            "--params",
            json.dumps(params, ensure_ascii=False),
            "--json",
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=settings.DELIVERY_TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Sent(
                UNKNOWN,
                DELIVERY.kept(
                    "No answer within %(seconds)s seconds; it may still arrive.",
                    seconds=settings.DELIVERY_TIMEOUT_SECONDS,
                ),
            )
        except OSError as error:
            return Sent(
                FAILED, DELIVERY.kept("The program could not be started: %(why)s", why=error.strerror)
            )
        return _read_answer(done.returncode, done.stdout, done.stderr, made=method == "sessions.create")

    @staticmethod
    def _program() -> str | None:
        return shutil.which(settings.OPENCLAW_BIN) if settings.OPENCLAW_BIN else None


class Inbox:
    """The session's own inbox here: the agent fetches and acknowledges with its token.

    It is open only where somebody can come and fetch: the agent holds a usable token.
    """

    name = "inbox"

    def serves(self, delivery: Delivery) -> bool:
        held = ApiToken.objects.usable().filter(is_agent=True).values_list("agent_ids", flat=True)
        return any(delivery.agent_id in (agents or ()) for agents in held)

    def send(self, delivery: Delivery) -> Sent:
        return Sent(UNKNOWN, "")


# In order of preference. The client of a connected Gateway puts itself first when it starts.
TRANSPORTS: list[Transport] = [Program(), Inbox()]


def register_transport(transport: Transport) -> None:
    """Puts `transport` before the others, in place of one of the same name."""
    TRANSPORTS[:] = [transport, *(other for other in TRANSPORTS if other.name != transport.name)]


def transport_for(delivery: Delivery) -> Transport | None:
    """The way that is open for this message, None where there is none."""
    return next((transport for transport in TRANSPORTS if transport.serves(delivery)), None)


def _read_answer(status: int, out: bytes, err: bytes, *, made: bool = False) -> Sent:
    """`made`: a session was asked for, which answers `ok` and starts nothing."""
    answer = _json_in(out)
    if status < 0:
        return Sent(UNKNOWN, DELIVERY.kept("The program was ended by signal %(signal)s.", signal=-status))
    if status == 0 and isinstance(answer, dict) and answer.get("status") in ("started", "ok", "in_flight"):
        return Sent(DELIVERED)
    if made and status == 0 and isinstance(answer, dict) and answer.get("ok") is True:
        return Sent(DELIVERED)
    reason = ""
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        reason = str(answer["error"].get("message", ""))
    reason = reason or err.decode(errors="replace").strip() or out.decode(errors="replace").strip()
    reason = reason[-500:] or DELIVERY.kept("The program ended with status %(status)s.", status=status)
    if is_timeout(reason) or status == 0:
        # Status 0 without a word that the session took it proves nothing either way.
        return Sent(UNKNOWN, reason)
    return Sent(FAILED, reason)


def _json_in(out: bytes) -> Any:
    """The JSON object that the program printed, None where there is none; notices may stand before it."""
    text = out.decode(errors="replace")
    start = text.find("{")
    try:
        return json.loads(text[start:]) if start >= 0 else None
    except ValueError:
        return None


def is_timeout(reason: str) -> bool:
    """Whether a reason in words says that no answer came in time, which is `unknown`, never `failed`."""
    words = reason.casefold()
    return any(
        sign in words
        for sign in ("timeout", "timed out", "time-out", "etimedout", "deadline exceeded", "超时")
    )
