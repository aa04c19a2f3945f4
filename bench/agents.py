"""Agents: reading openclaw.json, asking for the roster again, and their pages with 2 and with 200 agents."""

import json
from functools import partial
from pathlib import Path

import json5
from django.contrib.auth.models import Group
from django.test import Client

from agents.json5_text import loads
from agents.roster import forget_roster, load_roster
from bench.measure import Table, median_time
from gateway.models import User
from openclaw_web.paths import state_dir


def run(table: Table) -> None:
    """Ratios to the json5 package, to the first reading, and to the small roster."""
    text = _config(60)
    table.note(f"openclaw.json of {len(text.encode()) // 1024} KB with comments and unquoted keys")
    ours = median_time(lambda: loads(text))
    table.row("the json5 package", median_time(lambda: json5.loads(text), times=3), "our JSON5 reader", ours)

    config = state_dir() / "openclaw.json"
    config.write_text(text)

    def first() -> None:
        forget_roster()
        load_roster()

    fresh = median_time(first)
    table.row("the roster, read afresh", fresh, "asked again, nothing changed", median_time(load_roster))
    _pages(table, config)


def _config(count: int) -> str:
    """A commented configuration of `count` agents, as people write them."""
    entries = ",\n".join(
        f"      // the agent of team {number}\n"
        f"      agent-{number}: {{ name: '代理 {number}', workspace: '${{OPENCLAW_STATE_DIR}}/ws/{number}',"
        f' description: "Looks after {number} things, and more, and tells.", }}'.replace(
            f"agent-{number}:", f'"agent-{number}":'
        )
        for number in range(count)
    )
    return f"{{\n  agents: {{\n    entries: {{\n{entries},\n    }},\n  }},\n}}\n"


def _pages(table: Table, config: Path) -> None:
    reader = User.objects.create_user("bench-agents", password="not used")  # noqa: S106
    reader.groups.add(Group.objects.get_or_create(name="viewer")[0])
    client = Client(headers={"host": "localhost"})
    client.force_login(reader)
    taken = {}
    for count in (2, 200):
        config.write_text(_config(count))
        for number in range(count):
            workspace = state_dir() / "ws" / str(number)
            workspace.mkdir(parents=True, exist_ok=True)
            (workspace / "SOUL.md").write_text(json.dumps({"agent": number}))
        for name, url in (("roster page", "/agents/"), ("agent page", "/agents/agent-1/")):
            if client.get(url).status_code != 200:
                raise AssertionError(f"{url} is no page")
            taken[name, count] = median_time(partial(client.get, url))
    for name in ("roster page", "agent page"):
        table.row(f"{name}, 200 agents", taken[name, 200], "2 agents", taken[name, 2])
