"""The file side of plans: reading `PLAN.md` without following a link, writing it through the archive protocol.

Reading gives bytes or a refusal, never a guess: what is no regular file inside the workspace is not read at all.
"""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext as _

from archives.errors import ArchivesError, NotThere
from archives.opening import open_file
from archives.places import history_of
from archives.plan_file import write_plan
from archives.protocol import PLAN, ArchivePath, check_id
from plans.errors import PlansError
from plans.planfile import LARGEST_FILE


def read_plan_bytes(root: Path, archive_id: str) -> bytes | None:
    """The bytes of `archives/{archive_id}/PLAN.md` below `root`, or None when there is no such file.

    At most 256 KiB and one byte are read: a larger file shows by its size that it is one. Raises PlansError
    `PLAN_UNREADABLE` for a link, a pipe, a device, a folder, or a file without permission.
    """
    try:
        with open_file(root, ArchivePath(check_id(archive_id), "", PLAN)) as handle:
            return handle.read(LARGEST_FILE + 1)
    except NotThere:
        return None
    except (ArchivesError, OSError) as error:
        raise PlansError(str(error), code="PLAN_UNREADABLE") from error


def write_plan_bytes(root: Path, agent_id: str, archive_id: str, raw: bytes, *, seen: str) -> str:
    """Replace the file where its SHA-256 is still `seen` ("" for: there was none); returns the new SHA-256.

    Raises PlansError `PLAN_CHANGED` when somebody else wrote in between, `PLAN_NOT_WRITTEN` when the archive protocol
    blocked the write; the old text then stays.
    """
    try:
        stored = write_plan(
            root, history_of(agent_id), archive_id, raw, expected_sha256=seen, required=("Task_ID",)
        )
    except ArchivesError as error:
        if error.code == "plan-changed":
            message = _("PLAN.md has changed since this page was opened; your words are kept below.")
            raise PlansError(message, code="PLAN_CHANGED", details=error.details) from error
        raise PlansError(
            _("PLAN.md was not written: %(why)s") % {"why": error.message}, code="PLAN_NOT_WRITTEN"
        ) from error
    return stored.sha256
