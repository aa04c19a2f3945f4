"""Names, keys and ids of skills and proposals (contract §3.1, §3.2).

Everything here is pure: text in, text out.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

# ECMAScript white space and line terminators. Python's own idea of white space differs in both
# directions: it counts U+001C..U+001F and U+0085, and does not count U+FEFF.
ES_SPACE = (
    "\t\n\v\f\r \u00a0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_SEPARATORS = re.compile(f"[{re.escape(ES_SPACE)}_/]+")
_NOT_KEY = re.compile(r"[^a-z0-9-]")
_DASHES = re.compile(r"-{2,}")
_SURROGATE = re.compile("[\ud800-\udfff]")
PROPOSAL_ID = re.compile(r"[a-z0-9][a-z0-9-]{5,120}\Z")
GENERATION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def trim(text: str) -> str:
    """``String.prototype.trim``."""
    return text.strip(ES_SPACE)


def trim_start(text: str) -> str:
    """``String.prototype.trimStart``."""
    return text.lstrip(ES_SPACE)


def blank_to_none(text: str | None) -> str | None:
    """The trimmed text, or None when nothing is left: how goal, evidence and reason are kept."""
    return (trim(text) or None) if text is not None else None


def skill_key(name: str) -> str:
    """The directory name of a skill; empty when the name has no ASCII letter or digit."""
    key = _SEPARATORS.sub("-", trim(name).lower())
    return _DASHES.sub("-", _NOT_KEY.sub("", key)).strip("-")


def new_proposal_id(key: str, at: datetime) -> str:
    """``<key, 60 at most>-<day in UTC>-<10 hex>``; `key` must not be empty."""
    return f"{key[:60]}-{at.astimezone(UTC):%Y%m%d}-{uuid.uuid4().hex[:10]}"


def is_proposal_id(text: str) -> bool:
    return PROPOSAL_ID.match(text) is not None


def is_generation_id(text: str) -> bool:
    return GENERATION_ID.match(text) is not None


def utf16_length(text: str) -> int:
    """Length as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> bytes:
    """The bytes JavaScript would write: a lone surrogate becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def cut_utf8(text: str, limit: int) -> str:
    """The longest beginning of `text` that fits into `limit` bytes, never cut inside a character."""
    return utf8(text)[:limit].decode(errors="ignore")


def storable(text: str) -> str:
    """Text every database takes: no NUL (PostgreSQL) and no lone surrogate (UTF-8)."""
    if text.isascii() and "\0" not in text:
        return text
    return _SURROGATE.sub("\ufffd", text).replace("\0", "\ufffd")


def iso(at: datetime) -> str:
    """``Date.prototype.toISOString``: milliseconds and a Z."""
    at = at.astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def from_iso(text: str) -> datetime:
    """The inverse of `iso`; raises ValueError."""
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
