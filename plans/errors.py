"""The one error of this app: what a person can be told, with a code that programs can rely on."""

from __future__ import annotations

from gateway.errors import AppError


class PlansError(AppError):
    """Something asked of a plan that cannot be done. `message` is a sentence for a person."""
