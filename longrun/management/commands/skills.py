"""`manage.py skills install --agent ID`: the shipped skills into an agent's workspace."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.callers import command_caller
from gateway.errors import AppError
from longrun.services.bundle import Installed, install_skills


class Command(BaseCommand):
    help = "Installs long-run-mode, archive-protocol and schedule-plan into an agent's workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        install = verbs.add_parser("install", help="write what is missing or old; show what was edited")
        install.add_argument("--agent", required=True)
        install.add_argument("--url", default="", help="where the scripts find this dashboard")
        install.add_argument("--session-key", default="", help="bind the token to this session")
        install.add_argument("--overwrite", action="store_true", help="also files that were edited there")
        install.add_argument("--json", action="store_true")

    def handle(self, **options: Any) -> None:
        try:
            done = install_skills(
                options["agent"],
                caller=command_caller(),
                overwrite=options["overwrite"],
                url=options["url"],
                session_key=options["session_key"],
            )
        except AppError as error:
            raise CommandError(error.message) from error
        self.stdout.write(
            json.dumps(_summary(done), ensure_ascii=False, indent=2) if options["json"] else _text(done)
        )
        if done.kept:
            raise CommandError(
                f"{len(done.kept)} edited file(s) were left as they are; --overwrite replaces them.",
                returncode=1,
            )


def _summary(done: Installed) -> dict[str, Any]:
    return {
        "workspace": str(done.workspace),
        "token": done.token,
        "files": {change.path: change.kind for change in done.changes},
        "kept": [change.path for change in done.kept],
        "diffs": {change.path: change.diff for change in done.changes if change.diff},
    }


def _text(done: Installed) -> str:
    lines = [f"{change.kind:7} {change.path}" for change in done.changes if change.kind != "same"]
    for change in done.changes:
        if change.diff:
            lines += ["", change.diff]
    if not lines:
        lines = ["Everything is up to date."]
    return "\n".join([f"Workspace: {done.workspace}", f"Token: {done.token}", *lines])
