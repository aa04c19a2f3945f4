"""`manage.py token make|list|revoke`: programs' keys."""

import json
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gateway.callers import READ, command_caller
from gateway.errors import AppError
from gateway.models import ApiToken
from gateway.tokens import make_token, revoke_token


class Command(BaseCommand):
    help = "Makes, lists and revokes tokens. A token's secret is printed once, when it is made."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        make = verbs.add_parser("make")
        make.add_argument("name")
        make.add_argument(
            "--scope", action="append", help="operator.read (default), operator.write, operator.admin"
        )
        make.add_argument("--agent", action="append", help="limit it to this agent; may be given again")
        make.add_argument("--held-by-agent", action="store_true", help="an agent holds it: it never decides")
        make.add_argument("--session-key", default="", help="the agent's session")
        make.add_argument("--days", type=int, help="it ends after so many days")
        verbs.add_parser("list")
        revoke = verbs.add_parser("revoke")
        revoke.add_argument("prefix", help="how the token begins, as `list` shows it")

    def handle(self, *, verb: str, **options: Any) -> None:
        try:
            answer = getattr(self, f"_{verb}")(options)
        except AppError as error:
            raise CommandError(error.message) from error
        self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2))

    def _make(self, options: dict[str, Any]) -> dict[str, Any]:
        token, secret = make_token(
            options["name"],
            scopes=options["scope"] or [READ],
            agent_ids=options["agent"],
            is_agent=options["held_by_agent"],
            session_key=options["session_key"],
            expires_at=timezone.now() + timedelta(days=options["days"]) if options["days"] else None,
            caller=command_caller(),
        )
        return {"token": secret, **_described(token)}

    def _list(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        return [_described(token) for token in ApiToken.objects.all()]

    def _revoke(self, options: dict[str, Any]) -> dict[str, Any]:
        found = list(ApiToken.objects.filter(prefix__startswith=options["prefix"], revoked_at=None)[:2])
        if len(found) != 1:
            raise CommandError(f"{len(found)} living tokens begin with {options['prefix']}")
        return _described(revoke_token(found[0], caller=command_caller()))


def _described(token: ApiToken) -> dict[str, Any]:
    def instant(value: Any) -> str | None:
        return value.isoformat() if value else None

    return {
        "name": token.name,
        "prefix": token.prefix,
        "scopes": token.scopes,
        "agents": token.agent_ids,
        "heldByAgent": token.is_agent,
        "createdAt": instant(token.created_at),
        "expiresAt": instant(token.expires_at),
        "lastUsedAt": instant(token.last_used_at),
        "revokedAt": instant(token.revoked_at),
    }
