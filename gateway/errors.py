"""Errors that a person caused and can act on. Everything else is a fault and raises."""

from typing import Any

from openclaw_web.credentials import masked

# Codes of the peer's wire (contract §1.1).
INVALID_REQUEST = "INVALID_REQUEST"
FORBIDDEN = "FORBIDDEN"
UNAVAILABLE = "UNAVAILABLE"


class AppError(Exception):
    """An expected refusal: a sentence for a person, a stable `code` for programs.

    `details` (JSON-able) goes to programs; `rpc_code` is the peer's code that methods answer with;
    `retryable` is told only where it is known. Each app has its own subclass. A sentence that repeats what was
    typed never repeats a credential.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        details: dict[str, Any] | None = None,
        rpc_code: str = INVALID_REQUEST,
        retryable: bool | None = None,
    ) -> None:
        self.message = masked(message)
        super().__init__(self.message)
        self.code = code
        self.details = details
        self.rpc_code = rpc_code
        self.retryable = retryable


class GatewayError(AppError):
    """What this app refuses: tokens, sign-in, scopes, idempotency."""
