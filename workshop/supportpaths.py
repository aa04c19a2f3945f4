"""Support files: the one validator behind the form, the methods and the command line (contract §2.3).

What the contract takes although it is risky (names that differ only by case, line breaks in names) is taken
here too and reported by `warnings_for`, so that a review shows what would happen.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from workshop.hashes import sha256
from workshop.names import trim, utf8

ROOTS = ("assets", "examples", "references", "scripts", "templates")
MAX_FILES = 64
MAX_FILE_BYTES = 262_144
MAX_TOTAL_BYTES = 2_097_152
MAX_COMPONENT_BYTES = 255
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class SupportFile:
    """A file beside the draft. `path` as the record keeps it, `data` as the disk keeps it."""

    path: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")

    def entry(self) -> dict[str, Any]:
        return {"path": self.path, "sizeBytes": len(self.data), "hash": sha256(self.data)}


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` is stable, `path` the file it is about (empty: the set), `numbers` what a sentence needs."""

    code: str
    path: str = ""
    size: int = 0
    limit: int = 0
    other: str = ""


def check_path(path: str) -> str | None:
    """The code of what is wrong with one trimmed path, or None."""
    if not path:
        return "path-blank"
    if "\\" in path:
        return "path-backslash"
    if path.startswith("/"):
        return "path-absolute"
    segments = path.split("/")
    if any(not segment or segment.startswith(".") for segment in segments):
        return "path-segment"
    if segments[0] not in ROOTS or len(segments) < 2:
        return "path-root"
    return None


def check_disk_name(path: str) -> str | None:
    """What the file system would refuse when the file is written: NUL, or a name over 255 bytes."""
    if "\0" in path:
        return "path-nul"
    if any(len(utf8(segment)) > MAX_COMPONENT_BYTES for segment in path.split("/")):
        return "path-too-long"
    return None


def _overlap(paths: Iterable[str]) -> Refusal | None:
    known = set(paths)
    for path in sorted(known):
        for parent in PurePosixPath(path).parents:
            if str(parent) in known:
                return Refusal("path-overlap", path, other=str(parent))
    return None


def validate(items: Sequence[Mapping[str, str]]) -> tuple[list[SupportFile], list[Refusal]]:
    """Check ``{"path", "content"}`` items.

    Returns the files in the order given and every refusal, in the order in which the contract checks them;
    a caller that needs one error takes the first.
    """
    files: list[SupportFile] = []
    refusals: list[Refusal] = []
    if len(items) > MAX_FILES:
        refusals.append(Refusal("too-many-files", size=len(items), limit=MAX_FILES))
    seen: set[str] = set()
    total, over = 0, False
    for item in items:
        path, content = trim(item["path"]), item["content"]
        data = utf8(content)
        code = check_path(path)
        if code is None and path in seen:
            code = "path-duplicate"
        if code is None and len(data) > MAX_FILE_BYTES:
            code = "file-too-large"
        if code is None and "\0" in content:
            code = "file-nul"
        if code:
            refusals.append(Refusal(code, path, len(data), MAX_FILE_BYTES))
            continue
        seen.add(path)
        total += len(data)
        if total > MAX_TOTAL_BYTES and not over:
            over = True
            refusals.append(Refusal("files-too-large", path, total, MAX_TOTAL_BYTES))
        files.append(SupportFile(path, data))
    clash = _overlap(seen)
    if clash:
        refusals.append(clash)
    refusals += [
        Refusal(code, file.path, limit=MAX_COMPONENT_BYTES)
        for file in files
        if (code := check_disk_name(file.path))
    ]
    return files, refusals


def warnings_for(paths: Iterable[str]) -> list[tuple[str, str, str]]:
    """`(code, path, other path)` of what is accepted but risky on some file system or to the eye."""
    found: list[tuple[str, str, str]] = []
    by_fold: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            piece = "/".join(parts[:depth])
            other = by_fold.setdefault(unicodedata.normalize("NFC", piece).casefold(), piece)
            if other != piece:
                found.append(("same-but-for-case", path, other))
                break
        if any(unicodedata.category(char) == "Cc" for char in path):
            found.append(("control-character", path, ""))
        if any(char in _BIDI for char in path):
            found.append(("direction-character", path, ""))
    return found
