"""The bytes of PROPOSAL.md and SKILL.md (contract §3.3, §3.4).

Drafts are text until they are written; `names.utf8` gives the bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workshop import frontmatter
from workshop.hashes import js_string
from workshop.names import trim, trim_start

DRAFT_NAME = "PROPOSAL.md"
SKILL_NAME = "SKILL.md"
_OWN_KEYS = frozenset({"name", "description", "status", "version", "date"})
_DRAFT_ONLY = re.compile(r"(?:status|version|date)[ \t]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A text taken apart: block lines (None without a block), body, and the block's values."""

    lines: list[str] | None
    body: str
    values: frontmatter.Values

    @property
    def description(self) -> str:
        return self.values.text("description")

    @property
    def name(self) -> str:
        return self.values.text("name")


def read(text: str) -> Source:
    """Take apart what somebody sent, a stored draft, or a live SKILL.md."""
    lines, body = frontmatter.split(frontmatter.normalise(text))
    return Source(lines, body, frontmatter.parse(lines))


def render_draft(
    source: Source, *, name: str, description: str, version: str, date: str, fallback: Source | None = None
) -> str:
    """PROPOSAL.md. The block of `source`, else of `fallback`, gives the further keys, kept line by line."""
    block = source.lines if source.lines is not None else (fallback.lines if fallback else None)
    kept = frontmatter.without_keys(block or [], _OWN_KEYS)
    head = [
        "---",
        f"name: {js_string(name)}",
        f"description: {js_string(description)}",
        "status: proposal",
        f'version: "{version}"',
        f'date: "{date}"',
        *kept,
        "---",
        "",
        "",
    ]
    body = trim_start(source.body)
    return "\n".join(head) + (body if body.endswith("\n") or not body else body + "\n")


def render_skill(draft: str) -> str:
    """The SKILL.md that applying `draft` (a rendered PROPOSAL.md) writes."""
    lines, body = frontmatter.split(frontmatter.normalise(draft))
    kept = trim("\n".join(line for line in lines or [] if not _DRAFT_ONLY.match(line)))
    text = f"---\n{kept}\n---\n\n{body.lstrip(chr(10))}"
    return text if text.endswith("\n") else text + "\n"


def draft_problem(draft: str) -> str | None:
    """Why a stored draft cannot be applied, as a machine word; None when it can (contract §2.6.3)."""
    source = read(draft)
    if source.lines is None:
        return "no-frontmatter"
    if source.values.fatal:
        return "invalid-yaml"
    if not source.name:
        return "no-name"
    if not source.description:
        return "no-description"
    return None if source.values.text("status") == "proposal" else "no-status"
