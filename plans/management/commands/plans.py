"""`manage.py plans`: look at plans and their runs, draft, pause, run, heal. Confirming is not among it: that is for
people who have read the page."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway.callers import command_caller
from gateway.errors import AppError
from plans.planfile import read_plan_file
from plans.planfile_check import find_problems
from plans.queries import list_plans, list_runs, review_plan
from plans.rpc.finding import find_plan, find_run
from plans.schedule import upcoming
from plans.schedule_text import read_schedule, write_schedule
from plans.schedule_words import describe_instant, describe_timing
from plans.services import intakes, lifecycle
from plans.services.discovery import discover_plans
from plans.services.queue import enqueue_runs
from plans.services.ticking import tick
from plans.shapes import instant, intake_shape, plan_shape, review_shape, run_shape


class Command(BaseCommand):
    help = "Plans and their runs. A plan is confirmed on its page, by a signed-in person, and nowhere else."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="plans, those that changed last first")
        listing.add_argument("--agent", default="")
        listing.add_argument("--state", default="")
        for name, text in (
            ("show", "one plan: text, problems, schedule, next due times"),
            ("pause", "no due times until it is resumed"),
            ("resume", "due times count from now"),
            ("retire", "nothing of it runs again"),
            ("run", "queue a run of the confirmed text"),
        ):
            actions.add_parser(name, help=text).add_argument("id")
        runs = actions.add_parser("runs", help="runs, newest first")
        runs.add_argument("id", nargs="?", default="")
        runs.add_argument("--limit", type=int, default=20)
        actions.add_parser("stop", help="ask a run to stop").add_argument("id")
        draft = actions.add_parser("draft", help="answer a wish with a baseline and options")
        draft.add_argument("wish")
        draft.add_argument("--agent", required=True)
        draft.add_argument("--zone", default="")
        check = actions.add_parser("check", help="what stands against confirming a PLAN.md, with lines")
        check.add_argument("file", type=Path)
        when = actions.add_parser("when", help="a schedule in words, with its next due times")
        when.add_argument("schedule")
        when.add_argument("--zone", default="UTC")
        actions.add_parser("tick", help="one look at the clock: claim what is due, heal what a crash left")
        actions.add_parser("follow", help="find plans and changes that agents wrote into PLAN.md files")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            answer = getattr(self, f"_{options['action']}")(options)
        except AppError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        if options["json"]:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        for line in _lines(answer):
            self.stdout.write(line)

    def _list(self, options: dict[str, Any]) -> dict[str, Any]:
        plans = list_plans(agent_id=options["agent"] or None, state=options["state"])[:500]
        return {"plans": [plan_shape(plan) for plan in plans]}

    def _show(self, options: dict[str, Any]) -> dict[str, Any]:
        plan = find_plan(options["id"], command_caller())
        review = review_plan(plan)
        return {"plan": review_shape(review) if review else plan_shape(plan)}

    def _pause(self, options: dict[str, Any]) -> dict[str, Any]:
        caller = command_caller()
        return {"plan": plan_shape(lifecycle.pause_plan(find_plan(options["id"], caller), caller=caller))}

    def _resume(self, options: dict[str, Any]) -> dict[str, Any]:
        caller = command_caller()
        return {"plan": plan_shape(lifecycle.resume_plan(find_plan(options["id"], caller), caller=caller))}

    def _retire(self, options: dict[str, Any]) -> dict[str, Any]:
        caller = command_caller()
        return {"plan": plan_shape(lifecycle.retire_plan(find_plan(options["id"], caller), caller=caller))}

    def _run(self, options: dict[str, Any]) -> dict[str, Any]:
        caller = command_caller()
        run = lifecycle.run_now(find_plan(options["id"], caller), caller=caller)
        enqueue_runs([run.pk])
        return {"run": run_shape(run)}

    def _runs(self, options: dict[str, Any]) -> dict[str, Any]:
        plan = find_plan(options["id"], command_caller()) if options["id"] else None
        return {"runs": [run_shape(run) for run in list_runs(plan=plan)[: max(options["limit"], 1)]]}

    def _stop(self, options: dict[str, Any]) -> dict[str, Any]:
        caller = command_caller()
        return {"run": run_shape(lifecycle.stop_run(find_run(options["id"], caller), caller=caller))}

    def _draft(self, options: dict[str, Any]) -> dict[str, Any]:
        intake = intakes.start_intake(
            options["wish"], agent_id=options["agent"], caller=command_caller(), zone=options["zone"]
        )
        return {"draft": intake_shape(intake, intakes.answer_of(intake))}

    def _check(self, options: dict[str, Any]) -> dict[str, Any]:
        try:
            raw = options["file"].read_bytes()
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        file = read_plan_file(raw)
        archive_id = options["file"].absolute().parent.name
        problems = [
            {"taskId": task_id, **problem.as_dict()}
            for task_id in dict.fromkeys(entry.task_id for entry in file.entries) or [""]
            for problem in find_problems(file, task_id, archive_id=archive_id, now=timezone.now())
        ]
        return {
            "entries": [entry.task_id for entry in file.entries],
            "sha256": file.digest,
            "problems": problems,
        }

    def _when(self, options: dict[str, Any]) -> dict[str, Any]:
        now = timezone.now()
        timing = read_schedule(options["schedule"], now=now, zone=options["zone"])
        due = upcoming(timing.anchored(now), now)
        return {
            "schedule": write_schedule(timing),
            "words": describe_timing(timing),
            "due": [
                {"utc": instant(moment), "local": describe_instant(moment, timing.zone)} for moment in due
            ],
        }

    def _tick(self, options: dict[str, Any]) -> dict[str, Any]:
        done = tick()
        return {
            "queued": len(done.queued),
            "missed": done.missed,
            "skipped": done.skipped,
            "held": done.held,
            "recovered": done.recovered,
            "sent": done.sent,
        }

    def _follow(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"changed": discover_plans(caller=command_caller())}


def _lines(answer: Any, indent: str = "") -> list[str]:
    """Nested values as indented lines: `key: value`, lists with dashes."""
    lines: list[str] = []
    for key, value in answer.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        elif isinstance(value, list):
            lines.append(f"{indent}{key}:" + ("" if value else " (none)"))
            for item in value:
                nested = _lines(item, indent + "    ") if isinstance(item, dict) else [f"{indent}    {item}"]
                lines += [f"{indent}  - {nested[0].strip()}", *nested[1:]] if nested else []
        else:
            shown = str(value).replace("\n", f"\n{indent}    ")
            lines.append(f"{indent}{key}: {shown}")
    return lines
