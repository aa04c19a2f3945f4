"""`manage.py doctor [--fix]`: what older versions, kills and lost files left, and its repair."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from workshop.doctor import Finding, examine


class Command(BaseCommand):
    help = "Finds old shapes and leftovers of the Workshop; with --fix mends what can be mended."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--fix", action="store_true", help="mend what can be mended")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, fix: bool, **options: Any) -> None:
        report = examine(fix=fix)
        if options["json"]:
            self.stdout.write(_as_json(report.findings, len(report.open)))
        else:
            for finding in report.findings:
                self.stdout.write(_line(finding))
            if not report.findings:
                self.stdout.write(_("Nothing to do."))
        if report.open:
            raise SystemExit(1)


def _as_json(findings: list[Finding], left: int) -> str:
    return json.dumps({"findings": [asdict(finding) for finding in findings], "open": left}, indent=2)


def _line(finding: Finding) -> str:
    word = _("mended") if finding.done else (_("can be mended") if finding.fix else _("for a person"))
    agent = f" [{finding.agent_id}]" if finding.agent_id else ""
    text = f"{word}: {finding.code}{agent} {finding.path}\n    {finding.sentence}"
    return f"{text}\n    --fix: {finding.fix}" if finding.fix and not finding.done else text
