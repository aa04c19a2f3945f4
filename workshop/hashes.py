"""Hashes of drafts, files and revisions (contract §3.5).

A revision hash covers the support files in the order of JavaScript's ``localeCompare``, which is ICU's
root collation. Plain ASCII paths, nearly all there are, are ordered by a table; anything else by the
Unicode collation algorithm (`workshop.collation`), loaded when first needed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from typing import Any

from workshop.collation import ASCII_ORDER, unicode_key
from workshop.names import utf8

_SURROGATE = re.compile("[\ud800-\udfff]")
_RANK = {char: rank for rank, char in enumerate(ASCII_ORDER)}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def js_string(value: Any) -> str:
    """``JSON.stringify``: compact, non-ASCII as it is, lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _ascii_compare(left: str, right: str) -> int:
    first = [_RANK[c.lower()] for c in left], [c.isupper() for c in left]
    second = [_RANK[c.lower()] for c in right], [c.isupper() for c in right]
    return (first > second) - (first < second)


def locale_sorted(paths: Iterable[str]) -> list[str]:
    """`paths` as ``localeCompare`` sorts them; equal ones keep their order."""
    items = list(paths)
    if all(char in _RANK for path in items for char in path):
        return sorted(items, key=cmp_to_key(_ascii_compare))
    return sorted(items, key=unicode_key)


def revision_hash(version: str, draft_hash: str, support: Iterable[Mapping[str, Any]]) -> str:
    """`support`: ``{"path", "hash", "sizeBytes"}`` each. Returns 64 lower-case hex digits."""
    by_path = {item["path"]: item for item in support}
    files = [
        {"path": path, "sha256": by_path[path]["hash"], "sizeBytes": by_path[path]["sizeBytes"]}
        for path in locale_sorted(by_path)
    ]
    document = {"proposedVersion": version, "contentSha256": draft_hash, "supportFiles": files}
    return sha256(utf8(js_string(document)))
