from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core import checks
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import post_migrate, pre_migrate
from django.utils.translation import gettext_lazy as _

from plans import guards


class PlansConfig(AppConfig):
    name = "plans"
    verbose_name = _("Plans")

    def ready(self) -> None:
        pre_migrate.connect(drop_guards, sender=self, dispatch_uid="plans.drop_guards")
        post_migrate.connect(make_guards, sender=self, dispatch_uid="plans.make_guards")
        checks.register(check_guards, checks.Tags.database)


def drop_guards(using: str = DEFAULT_DB_ALIAS, plan: object = (), **_kwargs: object) -> None:
    if plan:
        guards.remove(connections[using])


def make_guards(using: str = DEFAULT_DB_ALIAS, **_kwargs: object) -> None:
    connection = connections[using]
    model = apps.get_model("plans", "Run")
    if model._meta.db_table in connection.introspection.table_names():
        guards.install(connection)


def check_guards(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[checks.CheckMessage]:
    """`manage.py check --database default`: a database that lost its triggers is not safe to run on."""
    found: list[checks.CheckMessage] = []
    table = apps.get_model("plans", "Run")._meta.db_table
    for alias in databases or []:
        # Before the first migrate there is nothing to guard, and migrate itself asks here.
        if table not in connections[alias].introspection.table_names():
            continue
        if lost := guards.missing(connections[alias]):
            names = ", ".join(lost)
            hint = "Run manage.py migrate: it makes them again."
            found.append(checks.Error(f"Guards of plans are missing: {names}.", hint=hint, id="plans.E001"))
    return found
