"""Every write to archives, behind pages, commands, methods and agent tools alike.

Source: `spec/archives.md` §3 and §7. The ARCHIVE_ID comes from the caller's session and from nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from archives import indexer, lint, plan_file, store
from archives.errors import INVALID_SESSION, ArchivesError, Blocked, NotThere
from archives.identity import Identity, agent_of_session, identity_of_session
from archives.lint import Finding, Report
from archives.models import Workspace
from archives.places import history_of
from archives.protocol import PLAN, check_timestamp, clean_name, take_timestamp
from archives.receipts import write_ok
from archives.store import Check, Stored
from gateway import audit
from gateway.callers import Caller
from gateway.errors import AppError
from gateway.events import publish

MAX_WRITE = 8 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is in its archive and was read back, with the receipt that says so.

    `timestamp` is the round's TIMESTAMP: pass it on, so that all ordinary files of one round share it.
    """

    stored: Stored
    receipt: str
    timestamp: str


def workspace_of(agent_id: str) -> Workspace:
    """The workspace of an agent; NotThere when archives knows none."""
    # PostgreSQL takes no NUL in a query, not even to find nothing.
    found = None if "\0" in agent_id else Workspace.objects.filter(agent_id=agent_id).first()
    if found is None:
        raise NotThere(
            _("No workspace is known for the agent “%(agent)s”.") % {"agent": agent_id},
            code="unknown-workspace",
        )
    return found


def identity_of_caller(caller: Caller) -> tuple[Workspace, Identity]:
    """The archive a caller writes to: from its session key, which its token or runner vouches for.

    Blocked (`invalid Session`) for a caller without a session: people and plain programs have none.
    """
    identity = identity_of_session(caller.session_key)
    agent_id = agent_of_session(caller.session_key)
    if agent_id is None:
        only = caller.agent_ids or frozenset()
        if len(only) != 1:
            raise Blocked(INVALID_SESSION, code="invalid-session")
        (agent_id,) = only
    caller.require_agent(agent_id)
    return workspace_of(agent_id), identity


def write_archive_file(
    workspace: Workspace,
    identity: Identity,
    *,
    name: str,
    data: bytes,
    caller: Caller,
    timestamp: str = "",
    required: Sequence[str] = (),
    check: Check | None = None,
    expected_sha256: str | None = None,
) -> Written:
    """Write one file on its track, read it back, index it, and say so in the event ledger.

    `PLAN.md` replaces the plan (bound to `expected_sha256` where given; earlier texts are kept); anything else goes
    into bucket `timestamp`, or now, or the next free second. Raises Blocked, PathRefused, ArchivesError.
    """
    subject = f"archives/{identity.archive_id}/{name}"
    try:
        if len(data) > MAX_WRITE:
            raise Blocked(f"the content has {len(data)} bytes, at most {MAX_WRITE} fit", code="too-large")
        round_timestamp = (
            check_timestamp(timestamp) if timestamp else take_timestamp(timezone.now(), workspace.tz)
        )
        if clean_name(name) == PLAN:
            stored = plan_file.write_plan(
                workspace.path,
                history_of(workspace.agent_id),
                identity.archive_id,
                data,
                expected_sha256=expected_sha256,
                required=required,
                check=check,
            )
        else:
            stored = store.write_file(
                workspace.path,
                identity.archive_id,
                round_timestamp,
                name,
                data,
                required=required,
                check=check,
            )
    except AppError as error:
        _tell_failed(caller, workspace, subject, error)
        raise
    indexer.refresh_archive(workspace, identity.archive_id)
    audit.record(
        caller, "archive.write", subject=str(stored.path), agent_id=workspace.agent_id, digest=stored.sha256
    )
    publish(
        "archive.written",
        agent_id=workspace.agent_id,
        subject=str(stored.path),
        data={"archiveId": identity.archive_id, "size": stored.size, "sha256": stored.sha256},
        caller=caller,
    )
    return Written(stored, write_ok(identity.archive_id, [stored.path]), round_timestamp)


def verify_archive_file(
    workspace: Workspace, path: str, *, sha256: str | None = None, required: Sequence[str] = ()
) -> Stored:
    """Look at one archived file afresh, as §3 asks. Raises Blocked naming the first thing that is wrong."""
    return store.verify_file(workspace.path, path, sha256=sha256, required=required)


def lint_archives(
    workspace: Workspace, *, archive_id: str = "", limit: int = lint.MAX_FINDINGS, seconds: float = 10.0
) -> Report:
    """What in a workspace, or of one of its archives, breaks the protocol. Changes nothing."""
    return lint.lint_workspace(
        workspace.path, archive_id=archive_id, limit=limit, seconds=seconds, zone=workspace.tz
    )


def copy_finding(workspace: Workspace, path: str, *, caller: Caller) -> Stored:
    """Make the verified copy that lint offers for one path, as things are on the disk now. The source stays."""
    finding: Finding | None = lint.find(workspace.path, path, zone=workspace.tz)
    if finding is None:
        raise NotThere(_("Nothing is wrong with “%(path)s” any more.") % {"path": path}, code="no-finding")
    if finding.copied_to:
        raise ArchivesError(
            _("The same bytes already lie at %(path)s.") % {"path": finding.copied_to}, code="already-copied"
        )
    if finding.target is None:
        raise ArchivesError(
            _("Where “%(path)s” belongs cannot be known; it has to be moved by hand.") % {"path": path},
            code="no-target",
        )
    try:
        stored = store.copy_file(workspace.path, finding.source, finding.target)
    except AppError as error:
        _tell_failed(caller, workspace, path, error)
        raise
    indexer.refresh_archive(workspace, stored.path.archive_id)
    audit.record(
        caller,
        "archive.copy",
        subject=str(stored.path),
        agent_id=workspace.agent_id,
        digest=stored.sha256,
        detail={"from": path, "finding": finding.code},
    )
    publish(
        "archive.copied",
        agent_id=workspace.agent_id,
        subject=str(stored.path),
        data={"from": path},
        caller=caller,
    )
    return stored


def reindex(workspace: Workspace, *, drop: bool = False) -> indexer.Seen:
    """Look at everything again; `drop` forgets the index first, and rebuilds the same pages."""
    if drop:
        indexer.drop_index(workspace)
    return indexer.scan_workspace(workspace, every=True)


def _tell_failed(caller: Caller, workspace: Workspace, subject: str, error: AppError) -> None:
    audit.record(
        caller,
        "archive.write",
        subject=ascii(subject)[1:-1][:300],
        outcome="failed",
        agent_id=workspace.agent_id,
        reason=error.code,
    )
