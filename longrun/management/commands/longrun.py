"""`manage.py longrun VERB …`: the methods `longrun.*`, each under its own verb, printing its JSON.

The verbs are the methods' names (`longrun.touchProgress` is `touch-progress`, `longrun.watchdog.check` is
`watchdog-check`), the options their params, so a new method is a new verb without a line here.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway import registry
from gateway.callers import command_caller
from gateway.registry import RpcError

PREFIX = "longrun."


class Command(BaseCommand):
    help = "Long-run tasks: every method longrun.* as a verb. Prints JSON; exit status 1 for a refusal."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for method in registry.methods():
            if method.name.startswith(PREFIX):
                _add_verb(verbs, method)

    def handle(self, *, verb: str, **options: Any) -> None:
        method = next(one for one in registry.methods() if verb_of(one.name) == verb)
        params = {}
        for name, field in method.params.model_fields.items():
            value = options.get(name)
            if value is None or value is False:
                continue
            if name == "data":
                value = _read_json(value)
            params[field.alias or name] = value
        try:
            payload = registry.call(method.name, params, command_caller())
        except RpcError as error:
            self.stdout.write(json.dumps({"ok": False, "error": error.as_dict()}, ensure_ascii=False))
            sys.exit(1)
        self.stdout.write(json.dumps(payload, ensure_ascii=False, indent=2))


def verb_of(name: str) -> str:
    """`longrun.touchProgress` → `touch-progress`; "" for a method of somebody else."""
    if not name.startswith(PREFIX):
        return ""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: "-" + found[0].lower(), name[len(PREFIX) :]).replace(
        ".", "-"
    )


def _add_verb(verbs: Any, method: registry.Method) -> None:
    parser = verbs.add_parser(verb_of(method.name), help=method.summary)
    for name, field in method.params.model_fields.items():
        flag = "--" + (
            "file" if name == "data" else "agent" if name == "agent_id" else name.replace("_", "-")
        )
        if "bool" in str(field.annotation):
            parser.add_argument(flag, dest=name, action="store_true")
        else:
            kind = int if "int" in str(field.annotation) else str
            parser.add_argument(
                flag, dest=name, type=kind, required=field.is_required(), metavar=name.upper()
            )


def _read_json(path: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from error
