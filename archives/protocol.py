"""The archive protocol's rules for time, paths and names. Pure: touches no file and no database.

Source: `seeds/bkn-archive.txt`; decisions in `spec/archives.md` §1 and §2. Identity is in `identity.py`.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils.translation import gettext as _

from archives.errors import PathRefused

ROOT = "archives"
PLAN = "PLAN.md"
MAX_ID_BYTES = 128
MAX_NAME_BYTES = 255

_TIMESTAMP = re.compile(r"[0-9]{4}(?:-[0-9]{2}){5}", re.ASCII)
_LOOSE = re.compile(
    r"(\d{4})\D?(\d{2})\D?(\d{2})(?:\D?(\d{2})\D?(\d{2})(?:\D?(\d{2}))?)?(?:\.\d+)?Z?", re.ASCII
)
_FALLBACK = re.compile(r"(?:[0-9a-f]{4,40}|local)-([0-9]{4}-[0-9]{4})", re.ASCII)
# Beside category Cc: line separators and marks that reorder a name on screen. U+200D stays: emoji need it.
_HARMFUL = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class ArchivePath:
    """A place on one of the two tracks, relative to a workspace. `bucket` is "" for the plan."""

    archive_id: str
    bucket: str
    name: str

    @property
    def is_plan(self) -> bool:
        return not self.bucket

    @property
    def root(self) -> str:
        """`archives/{ARCHIVE_ID}`, without a closing slash."""
        return f"{ROOT}/{self.archive_id}"

    @property
    def subpath(self) -> str:
        return f"{self.bucket}/{self.name}" if self.bucket else self.name

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders above the file, from the workspace down."""
        return (ROOT, self.archive_id, self.bucket) if self.bucket else (ROOT, self.archive_id)

    def __str__(self) -> str:
        return f"{self.root}/{self.subpath}"


def has_control(text: str) -> bool:
    """Whether a name holds control characters, line separators, reordering marks or lone surrogates."""
    return any(char in _HARMFUL or unicodedata.category(char) in ("Cc", "Cs") for char in text)


def byte_length(text: str) -> int:
    """UTF-8 bytes; a lone surrogate counts as three, so that a bad name can still be measured."""
    return len(text.encode("utf-8", "surrogatepass"))


def name_key(name: str) -> str:
    """Two names with one key differ only by case or by Unicode form."""
    return unicodedata.normalize("NFC", name.casefold())


def is_safe_id(text: str) -> bool:
    """Whether a text can be an ARCHIVE_ID: one safe folder name, at most 128 bytes, no leading dot."""
    return (
        bool(text)
        and text == text.strip()
        and not text.startswith(".")
        and not set(text) & set("/\\:")
        and not has_control(text)
        and byte_length(text) <= MAX_ID_BYTES
    )


def is_fallback_id(text: str) -> bool:
    """Whether an id has the form of a fallback, `<git short hash or "local">-<MMDD-HHMM>`."""
    found = _FALLBACK.fullmatch(text)
    if not found:
        return False
    try:
        # A leap year, so that 29 February is a day.
        datetime.strptime(f"2024-{found[1]}", "%Y-%m%d-%H%M").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def take_timestamp(now: datetime, zone: tzinfo | None = None) -> str:
    """TIMESTAMP of an aware instant in `zone`, or in the host's local time."""
    if now.tzinfo is None:
        raise ValueError("take_timestamp needs an aware datetime")
    return now.astimezone(zone).strftime("%Y-%m-%d-%H-%M-%S")


def read_timestamp(text: str) -> datetime | None:
    """The wall-clock time that a bucket name stands for (naive: its zone is not recorded), or None."""
    if not _TIMESTAMP.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d-%H-%M-%S")
    except ValueError:
        return None


def next_timestamp(text: str) -> str:
    """The bucket one second later."""
    moment = read_timestamp(text)
    if moment is None:
        raise _refuse_timestamp(text)
    return (moment + timedelta(seconds=1)).strftime("%Y-%m-%d-%H-%M-%S")


def guess_timestamp(text: str) -> str | None:
    """What a wrongly written bucket name (`2026-04-16 14:30:05`, `20260416T1430`) meant, or None.

    For lint's offers only; writing never guesses.
    """
    found = _LOOSE.fullmatch(text.strip())
    if not found:
        return None
    guess = "-".join(part or "00" for part in found.groups())
    return guess if read_timestamp(guess) else None


def check_name(name: str) -> str:
    """Return `name` if it can be an ORIGIN_NAME as it stands; raise PathRefused naming the rule it breaks."""
    if not name or not name.strip():
        raise PathRefused(_("The file name is empty."), code="name-empty")
    if name in (".", ".."):
        raise PathRefused(_("“.” and “..” are no file names."), code="name-dot")
    if "/" in name or "\\" in name:
        raise PathRefused(
            _("A file name is one path segment: “%(name)s” has a separator in it.") % {"name": name},
            code="name-separator",
        )
    if has_control(name):
        raise PathRefused(
            _("The file name %(name)s has control characters in it.") % {"name": ascii(name)},
            code="name-control",
        )
    size = byte_length(name)
    if size > MAX_NAME_BYTES:
        raise PathRefused(
            _("The file name has %(size)d bytes; at most %(limit)d fit.")
            % {"size": size, "limit": MAX_NAME_BYTES},
            code="name-too-long",
        )
    return name


def clean_name(name: str) -> str:
    """ORIGIN_NAME as it will be written: NFC, otherwise untouched."""
    return check_name(unicodedata.normalize("NFC", name))


def check_id(archive_id: str) -> str:
    """Return `archive_id` if it is safe as a folder name; raise PathRefused otherwise."""
    if not is_safe_id(archive_id):
        raise PathRefused(
            _("%(id)s is no ARCHIVE_ID: it must be one safe folder name of at most %(limit)d bytes.")
            % {"id": ascii(archive_id), "limit": MAX_ID_BYTES},
            code="path-id",
        )
    return archive_id


def check_timestamp(text: str) -> str:
    """Return `text` if it is a TIMESTAMP; raise PathRefused otherwise."""
    if read_timestamp(text) is None:
        raise _refuse_timestamp(text)
    return text


def place(archive_id: str, timestamp: str, name: str) -> ArchivePath:
    """Where the protocol puts a file: PLAN.md at the archive's root, everything else in its bucket."""
    name = clean_name(name)
    check_id(archive_id)
    if name == PLAN:
        return ArchivePath(archive_id, "", PLAN)
    return ArchivePath(archive_id, check_timestamp(timestamp), name)


def parse_path(text: str) -> ArchivePath:
    """Read a workspace-relative path that must lie on one of the two tracks, or raise PathRefused."""
    if text.startswith("/") or re.match(r"[A-Za-z]:", text):
        raise PathRefused(
            _("“%(path)s” is absolute: archive paths are relative to the workspace.") % {"path": text},
            code="path-absolute",
        )
    parts = text.split("/")
    if any(part in (".", "..") for part in parts):
        raise PathRefused(
            _("“%(path)s” has “.” or “..” in it: archive paths go straight down.") % {"path": text},
            code="path-dot",
        )
    if parts[0] != ROOT:
        raise PathRefused(
            _("“%(path)s” must begin with “archives/”: that exact word, as the first segment.")
            % {"path": text},
            code="path-root",
        )
    return _read_tracks(text, parts)


def _read_tracks(text: str, parts: list[str]) -> ArchivePath:
    if len(parts) >= 3 and parts[1]:
        check_id(parts[1])
    if len(parts) == 3 and parts[1] and parts[2] == PLAN:
        return ArchivePath(parts[1], "", PLAN)
    if len(parts) != 4 or "" in parts:
        raise PathRefused(
            _(
                "“%(path)s” is on neither track: plans are archives/{ARCHIVE_ID}/PLAN.md, "
                "all else is archives/{ARCHIVE_ID}/{TIMESTAMP}/{ORIGIN_NAME}."
            )
            % {"path": text},
            code="path-shape",
        )
    if parts[3] == PLAN:
        raise PathRefused(
            _("“%(path)s” puts PLAN.md inside a bucket; it belongs at archives/{ARCHIVE_ID}/PLAN.md.")
            % {"path": text},
            code="path-plan",
        )
    return ArchivePath(parts[1], check_timestamp(parts[2]), check_name(parts[3]))


def _refuse_timestamp(text: str) -> PathRefused:
    return PathRefused(
        _("“%(text)s” is no TIMESTAMP: it must be a real time written YYYY-MM-DD-HH-MM-SS.") % {"text": text},
        code="path-timestamp",
    )
