"""`manage.py setup_code`: prints a new one-time code while there is no administrator."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.people import needs_setup, new_setup_code


class Command(BaseCommand):
    help = "Prints the one-time code for the first sign-in; nothing once there is an administrator."

    def handle(self, **options: Any) -> None:
        if needs_setup():
            self.stdout.write(new_setup_code())
