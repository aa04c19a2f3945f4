"""What a review desk shows, as plain values: proposals and plans fill them, templates/desk/ draws them.

Imports no app. docs/review-desk.md tells how the parts go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One line of the queue. `tone` and `word` are a pill (none without a word)."""

    url: str
    title: str
    detail: str = ""
    at: datetime | None = None
    tone: str = ""
    word: str = ""
    current: bool = False
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The left side. `total` may be more than the `items` shown; `empty` is the sentence for none."""

    title: str
    items: Sequence[QueueItem]
    total: int
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Tab:
    """One view of the object, with the key that opens it."""

    name: str
    label: str
    url: str
    key: str
    count: int | None = None
    tone: str = ""
    current: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person may do with the object.

    `says`: one sentence on what it will do. `url` is posted to, `href` is a link instead. With `field` (its
    label) or `confirms` a panel asks first; without, the button does it. `fixed`: the hidden fields that bind
    it to what is on screen. `open`: the panel is shown as part of the page, with what was typed and `error`.
    """

    name: str
    label: str
    key: str
    says: str
    url: str = ""
    href: str = ""
    tone: str = ""
    icon: str = ""
    field: str = ""
    field_name: str = "reason"
    field_help: str = ""
    long: bool = False
    required: bool = False
    confirms: Sequence[str] = ()
    confirm_label: str = ""
    confirmed: bool = False
    value: str = ""
    button: str = ""
    count: int = 0
    open: bool = False
    error: str = ""
    remarks: Sequence[Any] = ()
    fixed: Sequence[tuple[str, str]] = ()

    @property
    def asks(self) -> bool:
        return bool(self.field or self.confirms)


@dataclass(frozen=True, slots=True)
class Remark:
    """A reviewer's words on a line, a file or the whole. `state`: tray, sent, outdated."""

    id: int
    author: str
    at: datetime
    body: str
    state: str = "tray"
    where: str = ""
    quote: str = ""
    version: int = 0
    url: str = ""
    drop_url: str = ""


@dataclass(frozen=True, slots=True)
class RemarkForm:
    """The form that opens under a line. `line` 0: the file; `path` empty: the whole object. `old`: the line is one of
    the old text; `most_old` is how many those are (0: they are not offered)."""

    url: str
    cancel_url: str
    path: str = ""
    line: int = 0
    body: str = ""
    error: str = ""
    most: int = 0
    old: bool = False
    most_old: int = 0
    fixed: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class Talk:
    """What stands below one line: remarks, and the form if it is open there."""

    remarks: list[Remark] = field(default_factory=list)
    form: RemarkForm | None = None
