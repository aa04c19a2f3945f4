"""What this app refuses, with a stable code and a sentence for a person."""

from django.utils.translation import gettext as _

from gateway.errors import AppError

INVALID_SESSION = "invalid Session"


class ArchivesError(AppError):
    """Anything the archive protocol, its files or its pages refuse."""


class PathRefused(ArchivesError):
    """A path or name breaks a rule of the protocol; `code` names the rule."""


class NotThere(ArchivesError):
    """The file, bucket, archive or workspace that was asked for does not exist."""


class Blocked(ArchivesError):
    """The protocol's `BLOCKED`: nothing was archived.

    `reason` is the text of `ARCHIVE_REASON`, in English and on one line, as the seed writes it.
    """

    def __init__(self, reason: str, *, code: str = "blocked", retryable: bool | None = None) -> None:
        self.reason = " ".join(reason.split()) or "unknown"
        super().__init__(
            _("Not archived: %(reason)s") % {"reason": self.reason},
            code=code,
            details={"archiveStatus": "BLOCKED", "archiveReason": self.reason},
            retryable=retryable,
        )
