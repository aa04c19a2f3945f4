"""What the Workshop refuses, as sentences with stable codes."""

from __future__ import annotations

from typing import Any

from gateway.errors import AppError


class WorkshopError(AppError):
    """A refusal of this app. `code` is stable; `rpc_code` is the contract's (almost always INVALID_REQUEST).

    For pages only, never on the wire: `problems` are `{"path", "code", "message"}` of each support file,
    `facts` the numbers behind the sentence.
    """

    problems: list[dict[str, str]] = []
    facts: dict[str, Any] = {}


class FileProblem(Exception):
    """What is wrong with a file, for `sentences.file_problem` to put into words.

    `code`: missing, symlink, hardlink, not-regular, outside, too-large, changed, name-too-long, io.
    """

    def __init__(self, code: str, path: str, **facts: Any) -> None:
        super().__init__(f"{code}: {path}")
        self.code = code
        self.path = path
        self.facts = facts
