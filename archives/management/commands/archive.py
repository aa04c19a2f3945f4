"""`manage.py archive write|verify|lint|reindex|receipt|watch`: the archive services behind the command line."""

import json
import signal
import sys
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from archives import receipts, services
from archives.errors import ArchivesError, Blocked
from archives.identity import Identity, fallback_id, identify
from archives.models import Workspace
from archives.watch import follow
from gateway.callers import command_caller
from gateway.errors import AppError


class Command(BaseCommand):
    help = "Writes, verifies, checks and indexes archives."

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="part", required=True)
        write = parts.add_parser("write", help="archive one file and print its receipt")
        write.add_argument("file", help="the file to archive, or - for standard input")
        write.add_argument("--name", help="its ORIGIN_NAME; default: the file's own name")
        source = write.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--session-status", metavar="FILE", help="what session_status answered, JSON or text"
        )
        source.add_argument(
            "--no-session-status",
            action="store_true",
            help="this platform has no session_status: use the fallback id",
        )
        write.add_argument("--timestamp", default="", help="the TIMESTAMP of this round; default: now")
        write.add_argument("--text-only", action="store_true", help="a receipt without archive_grid blocks")
        verify = parts.add_parser("verify", help="look at one archived file afresh")
        verify.add_argument("path")
        verify.add_argument("--sha256")
        lint = parts.add_parser("lint", help="list what breaks the protocol")
        lint.add_argument("--copy", metavar="PATH", help="make the copy that is offered for this path")
        reindex = parts.add_parser("reindex", help="look at the disk again (all agents without --agent)")
        reindex.add_argument("--drop", action="store_true", help="forget the index first")
        receipt = parts.add_parser(
            "receipt", help="a receipt for files that are there, or read one from a text"
        )
        receipt.add_argument("paths", nargs="*")
        receipt.add_argument(
            "--read", metavar="FILE", help="read the receipts in a text (- for standard input)"
        )
        receipt.add_argument("--text-only", action="store_true")
        watch = parts.add_parser("watch", help="follow the disk until stopped (script/server runs it)")
        for part in (write, verify):
            part.add_argument(
                "--required", action="append", default=[], metavar="TEXT", help="must be in the file"
            )
        for part in (write, verify, lint, reindex, receipt):
            part.add_argument("--agent", default="", help="the agent whose workspace it is")
        for part in (write, verify, lint, reindex, receipt, watch):
            part.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, part: str, json: bool, **options: Any) -> None:
        try:
            text, payload = getattr(self, f"_{part}")(**options)
        except Blocked as blocked:
            self._print(
                json,
                receipts.write_blocked(blocked.reason),
                {"status": "BLOCKED", "code": blocked.code, "reason": blocked.reason},
            )
            raise SystemExit(1) from blocked
        except AppError as error:
            if not json:
                raise CommandError(error.message) from error
            self._print(True, "", {"error": {"code": error.code, "message": error.message}})
            raise SystemExit(1) from error
        self._print(json, text, payload)
        if payload.get("status") == "BLOCKED":
            raise SystemExit(1)

    def _print(self, as_json: bool, text: str, payload: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(payload, ensure_ascii=False, indent=2) if as_json else text.rstrip("\n"))

    def _write(
        self, *, file: str, agent: str, name: str | None, text_only: bool, **options: Any
    ) -> tuple[str, dict]:
        workspace = _workspace(agent)
        if file == "-" and not name:
            raise _usage(_("--name is needed for standard input."))
        written = services.write_archive_file(
            workspace,
            _identity(workspace, options["session_status"]),
            name=name or Path(file).name,
            data=_read(file),
            caller=command_caller(),
            timestamp=options["timestamp"],
            required=options["required"],
        )
        stored = written.stored
        text = receipts.write_ok(stored.path.archive_id, [stored.path], openclaw=not text_only)
        return text, {
            "status": "OK",
            "path": str(stored.path),
            "size": stored.size,
            "sha256": stored.sha256,
            "timestamp": written.timestamp,
            "receipt": text,
        }

    def _verify(
        self, *, path: str, agent: str, sha256: str | None, required: list[str], **options: Any
    ) -> tuple[str, dict]:
        stored = services.verify_archive_file(_workspace(agent), path, sha256=sha256, required=required)
        return f"OK {stored.path} {stored.size} bytes sha256 {stored.sha256}", {
            "status": "OK", "path": str(stored.path), "size": stored.size, "sha256": stored.sha256,
        }  # fmt: skip

    def _lint(self, *, agent: str, copy: str | None, **options: Any) -> tuple[str, dict]:
        workspace = _workspace(agent)
        if copy:
            stored = services.copy_finding(workspace, copy, caller=command_caller())
            return f"copied {copy} to {stored.path}", {
                "from": copy,
                "path": str(stored.path),
                "sha256": stored.sha256,
            }
        report = services.lint_archives(workspace, seconds=600)
        rows = [
            {"code": one.code, "path": one.path, "target": str(one.target) if one.target else None, "copiedTo": str(one.copied_to) if one.copied_to else None, "detail": one.detail}
            for one in report.findings
        ]  # fmt: skip
        lines = [
            f"{row['code']:<16} {row['path']}" + (f"  →  {row['target']}" if row["target"] else "")
            for row in rows
        ]
        lines.append(
            f"{len(rows)} findings, {report.files_seen} files looked at{'' if report.complete else ', cut short'}"
        )
        return "\n".join(lines), {
            "findings": rows,
            "filesSeen": report.files_seen,
            "complete": report.complete,
        }

    def _reindex(self, *, agent: str, drop: bool, **options: Any) -> tuple[str, dict]:
        chosen = [_workspace(agent)] if agent else list(Workspace.objects.all())
        rows = []
        for workspace in chosen:
            seen = services.reindex(workspace, drop=drop)
            rows.append(
                {
                    "agentId": workspace.agent_id,
                    "archives": seen.archives,
                    "added": seen.added,
                    "changed": seen.changed,
                    "removed": seen.removed,
                }
            )
        lines = [
            f"{row['agentId']}: {row['archives']} archives, {row['added']} files added, {row['changed']} changed, {row['removed']} removed"
            for row in rows
        ]
        return "\n".join(lines) or "no workspace is known", {"workspaces": rows}

    def _receipt(
        self, *, agent: str, paths: list[str], read: str | None, text_only: bool, **options: Any
    ) -> tuple[str, dict]:
        if read:
            found = receipts.read_receipts(_read(read).decode("utf-8", "replace"))
            rows = [
                {
                    "status": one.status,
                    "root": one.root,
                    "reason": one.reason,
                    "problems": list(one.problems),
                    "ok": one.is_ok,
                }
                for one in found
            ]
            return "\n".join(
                f"{one.status} {one.root or one.reason} {' '.join(one.problems)}".rstrip() for one in found
            ) or "no receipt", {"receipts": rows}
        stored = [services.verify_archive_file(_workspace(agent), path) for path in paths]
        ids = {one.path.archive_id for one in stored}
        if len(ids) != 1:
            raise _usage(_("Name one or more files of one archive."))
        text = receipts.write_ok(ids.pop(), [one.path for one in stored], openclaw=not text_only)
        return text, {"status": "OK", "receipt": text, "files": [str(one.path) for one in stored]}

    def _watch(self, **options: Any) -> tuple[str, dict]:
        stop = Event()
        for wanted in (signal.SIGTERM, signal.SIGINT):
            signal.signal(wanted, lambda number, frame: stop.set())
        follow(stop)
        return "stopped", {"stopped": True}


def _workspace(agent: str) -> Workspace:
    if agent:
        return services.workspace_of(agent)
    known = list(Workspace.objects.all()[:2])
    if len(known) != 1:
        raise _usage(_("--agent is needed: there is not exactly one workspace."))
    return known[0]


def _identity(workspace: Workspace, session_status: str | None) -> Identity:
    if session_status is None:
        return identify(None, fallback=lambda: fallback_id(workspace.path, datetime.now(workspace.tz)))
    text = _read(session_status).decode("utf-8", "replace")
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    return identify(lambda: answer)


def _usage(sentence: str) -> ArchivesError:
    return ArchivesError(sentence, code="usage")


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read(services.MAX_WRITE + 1)
    try:
        with Path(file).open("rb") as stream:
            # One byte more than can be archived: enough to be told that it is too much.
            return stream.read(services.MAX_WRITE + 1)
    except OSError as error:
        raise _usage(_("%(file)s cannot be read: %(why)s") % {"file": file, "why": error.strerror}) from error
