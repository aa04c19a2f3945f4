"""Whatever a program sends, every method answers or refuses: no method raises anything else."""

import random
from typing import Any

import pytest

from gateway import registry
from gateway.callers import command_caller
from gateway.registry import RpcError, call
from openclaw_web.demo import build_demo

pytestmark = pytest.mark.django_db
TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "x" * 300, "é" * 200, "main", "ops", "agent:main:main", "../../etc/passwd",
    "archives/main/PLAN.md", "%", "'", "[", "2026-01-01", "9999-99-99", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00", "10m", "明天9点", "-1", "1e999", "every 1m", "cron 99 99 99 99 99", "R 4 * * *",
)  # fmt: skip
NUMBERS = (0, 1, -1, 5, 2**31, 2**63 - 1, 2**63, 10**30)
OTHERS = ({}, [], 1, {"a": {"state": "executing", "goal": "\0"}}, [{"task": "\0"}])
ROUNDS = 12


def made_up(schema: dict[str, Any], defs: dict[str, Any], dice: random.Random) -> Any:
    """A value of the schema's type that means no good."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rsplit("/", 1)[1]]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return made_up(dice.choice(schema[several]), defs, dice)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "string":
            return dice.choice(TEXTS)
        case "integer" | "number":
            return dice.choice(NUMBERS)
        case "boolean":
            return dice.random() < 0.5
        case "null":
            return None
        case "array":
            return [made_up(schema.get("items", {}), defs, dice) for _ in range(dice.randint(0, 3))]
        case "object" if "properties" in schema:
            needed = schema.get("required", ())
            return {
                name: made_up(field, defs, dice)
                for name, field in schema["properties"].items()
                if name in needed or dice.random() < 0.5
            }
    return dice.choice(OTHERS)


def test_no_method_breaks_on_what_is_sent(state_dir, shell, agent_caller, settings):
    settings.OPENCLAW_BIN = "no such program"
    build_demo(state_dir, caller=shell)
    dice = random.Random(7)
    answered = 0
    for method in registry.methods():
        schema = method.params.model_json_schema()
        for _round in range(ROUNDS):
            params = made_up(schema, schema.get("$defs", {}), dice)
            for caller in (command_caller(), agent_caller):
                try:
                    call(method.name, params, caller)
                    answered += 1
                except RpcError:
                    continue
                except Exception as error:
                    error.add_note(f"{method.name} {params!r}")
                    raise
    assert answered > 100
