"""What waits for a person: the one shape in which apps tell the home page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True)
class Waiting:
    """One line of the Inbox.

    `kind`: `plan`, `proposal`, `task` or `run`; `word` is the status in words, `tone` its colour;
    `why` is one line of what to know before opening it; `urgent` lines stand first.
    """

    kind: Literal["plan", "proposal", "task", "run"]
    title: str
    why: str
    url: str
    at: datetime
    word: str
    tone: Literal["ok", "warn", "bad", "info"] = "info"
    urgent: bool = False
    agent_id: str = ""
