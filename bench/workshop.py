"""Workshop: its methods against a real Gateway on the same skills, and against 20,000 decided proposals.

Ours are called through the HTTP door (token, JSON both ways); the real one over a kept WebSocket connection, where
it is installed, else its recorded middle times. Flushes to the disk are included on both sides.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.roster import forget_roster
from bench.measure import Table, median_time
from bench.real_gateway import is_installed, running
from gateway.callers import SCOPES, command_caller
from gateway.models import User
from gateway.tokens import make_token
from openclaw_web.diffs import diff_texts
from openclaw_web.paths import state_dir
from tests.workshop.crowd import decided_proposals
from workshop.models import Event, Proposal
from workshop.queries import wire

SKILLS, DECIDED = 200, 20_000
# Middle times of OpenClaw 2026.9.6 over a kept connection at 200 skills, in seconds.
RECORDED = {"list": 0.045, "read": 0.018, "curator": 0.027, "create": 0.0475, "apply": 0.050}
BODY = "# Steps\n\n" + "".join(
    f"{number}. Do the thing number {number} and note it.\n" for number in range(40)
)
Call = Callable[[str, dict[str, Any]], Any]


def run(table: Table) -> None:
    state = state_dir()
    (state / "openclaw.json").write_text(json.dumps({"agents": {"entries": {"main": {}}}}))
    forget_roster()
    fill_skills(state / "agents/main/agent/workshop-skills")
    _token, secret = make_token("bench", scopes=SCOPES, caller=command_caller())
    ours = measure(door(secret))
    real, named = real_times()
    for what, seconds in ours.items():
        if what in real:
            table.row(f"{what}, {SKILLS} skills", seconds, named, real[what])
    with bare_write() as bare:
        baseline = median_time(bare, times=40)
    for what in ("create", "revise", "apply"):
        table.row(f"{what}, two files", ours[what], "the same writes and flushes, bare", baseline)
    _history(table, secret, ours)
    _diff(table)


def fill_skills(root: Path) -> None:
    for number in range(SKILLS):
        folder = root / f"skill-{number:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f'---\nname: "skill-{number:03d}"\ndescription: "Number {number}"\n---\n\n{BODY}'
        (folder / "SKILL.md").write_text(text)


def door(secret: str) -> Call:
    client = Client(SERVER_NAME="localhost", HTTP_AUTHORIZATION=f"Bearer {secret}")

    def call(method: str, params: dict[str, Any]) -> Any:
        response = client.post(f"/api/rpc/{method}", json.dumps(params), content_type="application/json")
        answer = json.loads(response.content)
        if not answer["ok"]:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["payload"]

    return call


def measure(call: Call) -> dict[str, float]:
    """Middle seconds of each method; works on either side."""
    number = itertools.count()
    agent = {"agentId": "main"}
    files = [{"path": "references/notes.md", "content": "notes\n"}]

    def create() -> Any:
        name = f"bench {next(number)} {os.getpid()}"
        made = call(
            "skills.proposals.create",
            {**agent, "name": name, "description": "d", "content": BODY, "supportFiles": files},
        )
        waiting.append(made)
        if len(waiting) > 40:
            old = waiting.pop(0)
            call("skills.proposals.reject", decide(old))
        return made

    def decide(made: Any) -> dict[str, Any]:
        return {**agent, "proposalId": made["record"]["id"], "expectedRevisionHash": made["revisionHash"]}

    def revise() -> None:
        waiting[-1] = call(
            "skills.proposals.revise", {**agent, "proposalId": waiting[-1]["record"]["id"], "content": BODY}
        )

    waiting: list[Any] = []
    times = {
        "list": median_time(lambda: call("skills.proposals.list", agent), times=25),
        "read": median_time(lambda: call("skills.workshop.read", {**agent, "name": "skill-150"}), times=25),
        "curator": median_time(lambda: call("skills.curator.status", {}), times=25),
        "create": median_time(create, times=25),
        "revise": median_time(revise, times=15),
    }
    times["apply"] = median_time(
        lambda: call("skills.proposals.apply", decide(waiting.pop())), times=15, warm_up=1
    )
    for made in waiting:
        call("skills.proposals.reject", decide(made))
    return times


def real_times() -> tuple[dict[str, float], str]:
    if not is_installed():
        return RECORDED, "a real Gateway, as recorded"
    with running() as (gateway, state):
        fill_skills(state / "agents/main/agent/workshop-skills")
        return measure(gateway.call), "a real Gateway, here and now"


@contextlib.contextmanager
def bare_write() -> Iterator[Callable[[], None]]:
    """The file operations of one publication with one support file, and nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="bench-workshop-"))
    number = itertools.count()

    def flush(path: Path) -> None:
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def write() -> None:
        bundle = folder / str(next(number))
        draft = bundle.with_suffix(".tmp")
        (draft / "references").mkdir(parents=True)
        for path, text in ((draft / "references/notes.md", "notes\n"), (draft / "PROPOSAL.md", BODY)):
            with path.open("w") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
        flush(draft / "references")
        flush(draft)
        draft.rename(bundle)
        flush(folder)

    try:
        yield write
    finally:
        shutil.rmtree(folder)


def _history(table: Table, secret: str, before: dict[str, float]) -> None:
    """The same with 20,000 decided proposals, and pages with their numbers of queries."""
    call = door(secret)
    pages = {
        "desk": "/workshop/",
        "decided": "/workshop/decided/",
        "skills": "/workshop/skills/",
        "curator": "/workshop/curator/",
    }
    client = Client(SERVER_NAME="localhost")
    user = User.objects.create_user("bench", password="not used by anyone")  # noqa: S106
    user.groups.add(Group.objects.get(name="reviewer"))
    client.force_login(user)
    small = {what: _page(client, page) for what, page in pages.items()}
    decided_proposals("main", DECIDED)
    wire.forget_entries()
    agent = {"agentId": "main"}
    for what, method, params in (
        ("list", "skills.proposals.list", agent),
        ("read", "skills.workshop.read", {**agent, "name": "skill-150"}),
        ("curator", "skills.curator.status", {}),
    ):
        seconds = median_time(lambda method=method, params=params: call(method, params), times=15)
        table.row(f"{what}, {DECIDED:,} decided proposals", seconds, "without them", before[what])
    for what, page in pages.items():
        seconds, queries = _page(client, page)
        table.row(f"page {what}, {DECIDED:,} decided", seconds, "without them", small[what][0])
        table.note(f"{'':52} {queries} queries; without them {small[what][1]}")
    Event.objects.all().delete()
    Proposal.objects.all().delete()


def _page(client: Client, page: str) -> tuple[float, int]:
    def get() -> None:
        response = client.get(page)
        if response.status_code != 200:
            raise AssertionError(f"{page} answered {response.status_code}")

    get()
    with CaptureQueriesContext(connection) as seen:
        get()
    return median_time(get, times=9), len(seen)


def _diff(table: Table) -> None:
    lines = [f"Line {number}: what to do when it comes to {number * 7}." for number in range(4000)]
    changed = [line.replace("what", "that") if number % 9 == 0 else line for number, line in enumerate(lines)]
    old, new = "\n".join(lines), "\n".join(changed[:2000] + ["a new line"] * 40 + changed[2000:])
    seconds = median_time(lambda: diff_texts(old, new), times=5, warm_up=1)
    table.row(
        f"difference of {len(old) // 1000} KB",
        seconds,
        "splitting both into lines",
        median_time(lambda: (old.splitlines(), new.splitlines()), times=15),
    )
