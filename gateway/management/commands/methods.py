"""`manage.py methods > docs/methods.md`: the table of methods, from the code itself."""

from typing import Any

from django.core.management.base import BaseCommand

from gateway.registry import Method, methods

HEAD = """\
# Methods

Printed by `manage.py methods`; a test compares. How to call them: [docs/gateway.md](gateway.md).
Params marked `?` are optional.
"""


class Command(BaseCommand):
    help = "Prints docs/methods.md."

    def handle(self, **options: Any) -> None:
        self.stdout.write(methods_document(), ending="")


def methods_document() -> str:
    """The whole of docs/methods.md."""
    rows = ["| method | right | params | what it does |", "| --- | --- | --- | --- |"]
    rows += [_row(method) for method in methods()]
    return HEAD + "\n" + "\n".join(rows) + "\n"


def _row(method: Method) -> str:
    schema = method.params.model_json_schema(by_alias=True)
    required = set(schema.get("required", []))
    names = [name if name in required else f"{name}?" for name in schema.get("properties", {})]
    right = method.scope + (" · people only" if method.people_only else "")
    params = ", ".join(f"`{name}`" for name in names) or "–"
    return f"| `{method.name}` | {right} | {params} | {method.summary} |"
