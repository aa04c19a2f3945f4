"""`archives.*`: the same services behind methods. What an agent writes goes to the archive of its own session.

ARCHIVE_ID is never a parameter of `archives.write`: it comes from the session key that the caller's token holds.
"""

import base64
import hashlib
import os
from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import Field

from archives import indexer, queries, services
from archives.cards import Card
from archives.errors import ArchivesError, Blocked
from archives.kinds import kind_of
from archives.models import Archive, ArchiveFile
from archives.opening import open_file
from archives.protocol import parse_path
from archives.queries import Filter
from archives.receipts import write_blocked
from archives.store import Stored
from archives.texts import FINDINGS
from gateway.callers import Caller
from gateway.registry import READ, WRITE, Params, method

PIECE = 256 << 10


class ListParams(Params):
    agent_id: str = Field("", max_length=128)
    day: str = Field("", max_length=10)
    kind: str = Field("", max_length=16)
    has_plan: bool | None = None
    fallback: bool | None = None
    query: str = Field("", max_length=200)
    cursor: str = Field("", max_length=700)
    limit: int = Field(50, ge=1, le=200)


class ReadParams(Params):
    agent_id: str = Field(min_length=1, max_length=128)
    path: str = Field(min_length=1, max_length=1000)
    offset: int = Field(0, ge=0, le=1 << 50)
    max_bytes: int = Field(PIECE, ge=1, le=4 << 20)


class WriteParams(Params):
    name: str = Field(min_length=1, max_length=1000)
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    timestamp: str = Field("", max_length=19)
    required: list[str] = Field(default_factory=list, max_length=50)
    expected_sha256: str | None = Field(None, max_length=64)
    idempotency_key: str | None = Field(None, max_length=200)


class VerifyParams(Params):
    agent_id: str = Field(min_length=1, max_length=128)
    path: str = Field(min_length=1, max_length=1000)
    sha256: str | None = Field(None, max_length=64)
    required: list[str] = Field(default_factory=list, max_length=50)


class LintParams(Params):
    agent_id: str = Field(min_length=1, max_length=128)
    limit: int = Field(200, ge=1, le=500)


@method("archives.list", params=ListParams, scope=READ)
def list_archives(params: ListParams, caller: Caller) -> dict[str, Any]:
    """Archives, newest first; with `query`, the files whose names match. `cursor` leads to the next page."""
    if params.agent_id:
        caller.require_agent(params.agent_id)
    wanted = Filter(
        agent_id=params.agent_id,
        day=params.day if queries.is_day(params.day) else "",
        kind=params.kind,
        plan=params.has_plan,
        fallback=params.fallback,
        query=params.query,
        agent_ids=caller.agent_ids,
    )
    for workspace in queries.workspaces(caller.agent_ids)[:20]:
        indexer.refresh_list(workspace)
    if params.query:
        files = queries.search_files(wanted, before=params.cursor, limit=params.limit)
        return {"files": [_file(row) for row in files.rows], "cursor": files.cursor}
    page = queries.list_archives(wanted, before=params.cursor, limit=params.limit)
    return {"archives": [_archive(row) for row in page.rows], "cursor": page.cursor}


@method("archives.read", params=ReadParams, scope=READ)
def read(params: ReadParams, caller: Caller) -> dict[str, Any]:
    """A piece of one archived file: as text where it is UTF-8, else as base64; `next` is the following offset."""
    caller.require_agent(params.agent_id)
    workspace = services.workspace_of(params.agent_id)
    path = parse_path(params.path)
    with open_file(workspace.path, path) as handle:
        facts = os.fstat(handle.fileno())
        handle.seek(params.offset)
        data = handle.read(params.max_bytes)
    end = params.offset + len(data)
    return {
        "agentId": params.agent_id,
        "path": str(path),
        "kind": kind_of(path.name),
        "size": facts.st_size,
        "modifiedAtMs": facts.st_mtime_ns // 1_000_000,
        "offset": params.offset,
        "next": end if end < facts.st_size else None,
        "sha256": hashlib.sha256(data).hexdigest() if len(data) == facts.st_size else None,
        **_content(data),
    }


@method("archives.write", params=WriteParams, scope=WRITE, idempotent=True)
def write(params: WriteParams, caller: Caller) -> dict[str, Any]:
    """Archives one file of the caller's own session, reads it back, and answers with the receipt."""
    workspace, identity = services.identity_of_caller(caller)
    try:
        data = (
            params.content.encode()
            if params.encoding == "utf-8"
            else base64.b64decode(params.content, validate=True)
        )
    except ValueError as error:
        raise ArchivesError(
            _("The content is not %(encoding)s.") % {"encoding": params.encoding}, code="content-encoding"
        ) from error
    written = services.write_archive_file(
        workspace,
        identity,
        name=params.name,
        data=data,
        caller=caller,
        timestamp=params.timestamp,
        required=params.required,
        expected_sha256=params.expected_sha256,
    )
    return {
        "archiveId": identity.archive_id,
        "timestamp": written.timestamp,
        "receipt": written.receipt,
        **_stored(written.stored),
    }


@method("archives.verify", params=VerifyParams, scope=READ)
def verify(params: VerifyParams, caller: Caller) -> dict[str, Any]:
    """Looks at one archived file afresh: `ok`, or `blocked` with the reason and the receipt that says so."""
    caller.require_agent(params.agent_id)
    workspace = services.workspace_of(params.agent_id)
    try:
        stored = services.verify_archive_file(
            workspace, params.path, sha256=params.sha256, required=params.required
        )
    except Blocked as blocked:
        return {
            "status": "BLOCKED",
            "code": blocked.code,
            "reason": blocked.reason,
            "receipt": write_blocked(blocked.reason),
        }
    return {"status": "OK", **_stored(stored)}


@method("archives.lint", params=LintParams, scope=READ)
def lint(params: LintParams, caller: Caller) -> dict[str, Any]:
    """What in an agent's workspace breaks the archive protocol, and where a copy would be right."""
    caller.require_agent(params.agent_id)
    report = services.lint_archives(services.workspace_of(params.agent_id), limit=params.limit)
    return {
        "complete": report.complete,
        "filesSeen": report.files_seen,
        "findings": [
            {
                "code": one.code,
                "path": one.path,
                "title": str(FINDINGS[one.code][0]),
                "target": str(one.target) if one.target else None,
                "copiedTo": str(one.copied_to) if one.copied_to else None,
                "detail": one.detail,
            }
            for one in report.findings
        ],
    }


def _archive(row: Archive) -> dict[str, Any]:
    return {
        "agentId": row.workspace.agent_id,
        "archiveId": row.archive_id,
        "root": str(row),
        "fallback": row.is_fallback,
        "hasPlan": row.has_plan,
        "files": row.file_count,
        "buckets": row.bucket_count,
        "bytes": row.total_size,
        "newestAtMs": int(row.newest_at.timestamp() * 1000) if row.newest_at else None,
        "url": row.get_absolute_url(),
    }


def _file(row: ArchiveFile) -> dict[str, Any]:
    card = Card(row.workspace.agent_id, row.path, row.size, row.modified_at)
    return {
        "agentId": card.agent_id,
        "path": str(row.path),
        "name": row.name,
        "kind": row.kind,
        "size": row.size,
        "modifiedAtMs": int(row.modified_at.timestamp() * 1000),
        "url": card.url,
    }


def _stored(stored: Stored) -> dict[str, Any]:
    return {"path": str(stored.path), "size": stored.size, "sha256": stored.sha256}


def _content(data: bytes) -> dict[str, Any]:
    try:
        return {"encoding": "utf-8", "content": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"encoding": "base64", "content": base64.b64encode(data).decode()}
