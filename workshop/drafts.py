"""From what somebody sends to a checked draft: the door every proposal comes through (contract §2.2–2.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.callers import Caller
from workshop import bundle, scanner, sentences, supportpaths
from workshop.config import AUTONOMOUS_MAX_CHARACTERS, MAX_DESCRIPTION_BYTES, Rules
from workshop.names import iso, trim_start, utf8
from workshop.records import now
from workshop.supportpaths import SupportFile


@dataclass(frozen=True, slots=True)
class Draft:
    """A rendered draft with its support files, ready to be published."""

    text: str
    support: list[SupportFile]
    scan: dict[str, Any]

    @property
    def data(self) -> bytes:
        return utf8(self.text)


def check_description(description: str) -> None:
    """A trimmed label has 160 bytes of UTF-8 at most. Raises WorkshopError `description-too-long`."""
    size = len(utf8(description))
    if size > MAX_DESCRIPTION_BYTES:
        raise sentences.description_too_long(size)


def check_content(content: str, rules: Rules) -> None:
    """The text as sent, its block included. Raises WorkshopError `content-too-long`."""
    size = len(utf8(content))
    if size > rules.max_skill_bytes:
        raise sentences.content_too_long(size, rules.max_skill_bytes)


def check_autonomous(source: bundle.Source, caller: Caller, live_body: str | None = None) -> None:
    """An agent by itself writes `AUTONOMOUS_MAX_CHARACTERS` of body at most; where the live skill is longer
    already, an update has to be strictly shorter than it. Raises WorkshopError `autonomous-too-long`."""
    size = len(trim_start(source.body))
    before = len(trim_start(live_body)) if live_body is not None else 0
    if caller.is_agent and size > AUTONOMOUS_MAX_CHARACTERS and not size < before:
        raise sentences.autonomous_too_long(size, max(before - 1, AUTONOMOUS_MAX_CHARACTERS))


def check_support(items: Sequence[Mapping[str, str]]) -> list[SupportFile]:
    """Raises WorkshopError with the first refusal; its `problems` have one message a file."""
    files, refusals = supportpaths.validate(items)
    if refusals:
        raise sentences.support_error(refusals)
    return files


def check_secrets(
    text: str,
    support: Sequence[SupportFile],
    *,
    name: str,
    description: str,
    skill_description: str,
    goal: str | None,
    evidence: str | None,
) -> None:
    """Refuse a credential written out anywhere (`literal-secret`); the sentence says where."""
    places = [
        # Paths before texts: a file's path names the place of what is in it.
        *(("support-file-path", file.path) for file in support),
        (bundle.DRAFT_NAME, text),
        *((file.path, file.text) for file in support),
        ("skill-name", name),
        ("description", description),
        ("skill-description", skill_description),
        ("goal", goal or ""),
        ("evidence", evidence or ""),
    ]
    place = scanner.find_secret(places)
    if place is not None:
        raise sentences.literal_secret(place)


def check_words(**words: str | None) -> None:
    """The same for what is said about a proposal (`reason`, `instructions`, `remark`, `correlation_id`): it is kept,
    shown to others and sent on. Raises WorkshopError `literal-secret`."""
    place = scanner.find_secret((name, text or "") for name, text in words.items())
    if place is not None:
        raise sentences.literal_secret(place)


def scan_of(text: str, support: Sequence[SupportFile]) -> dict[str, Any]:
    files = [(bundle.DRAFT_NAME, text), *((file.path, file.text) for file in support)]
    return scanner.scan(files, iso(now()))


def finish(
    text: str,
    support: list[SupportFile],
    *,
    name: str,
    description: str,
    skill_description: str,
    goal: str | None,
    evidence: str | None,
) -> Draft:
    """Refuse secrets, then scan: the last step before writing. `skill_description` is the one in the block,
    `description` the label."""
    check_secrets(
        text,
        support,
        name=name,
        description=description,
        skill_description=skill_description,
        goal=goal,
        evidence=evidence,
    )
    return Draft(text, support, scan_of(text, support))
