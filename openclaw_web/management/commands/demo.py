"""`manage.py demo [--remove]`: a small world to look around in."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.callers import command_caller
from gateway.errors import AppError
from openclaw_web.demo import build_demo, remove_demo
from openclaw_web.paths import state_dir


class Command(BaseCommand):
    help = "Fills an EMPTY state dir with a small demo world; with --remove, takes away what it made."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--remove", action="store_true", help="delete what the demo made and nobody changed"
        )

    def handle(self, *, remove: bool, **options: Any) -> None:
        root = state_dir()
        try:
            if remove:
                kept = remove_demo(root, caller=command_caller())
                for path in kept:
                    self.stdout.write(f"kept, because it was changed: {path}")
                self.stdout.write(f"The demo is gone from {root}.")
            else:
                world = build_demo(root, caller=command_caller())
                self.stdout.write(
                    f"{len(world.files)} files in {root}. Take them away with: manage.py demo --remove"
                )
        except AppError as error:
            raise CommandError(error.message) from error
