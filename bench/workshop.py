"""Workshop: its methods against a real Gateway on the same skills, and against 20,000 decided proposals.

Both are servers of their own, called over one kept connection each: ours through the HTTP door (token, JSON both
ways), the real one, where it is installed, over WebSocket, else its recorded middle times. They take turns in blocks of
calls, as one person's work comes to one server. Flushes to the disk are included on both sides.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client

from agents.roster import forget_roster
from bench.measure import Table, median_time
from bench.our_server import OurServer, serving
from bench.real_gateway import is_installed, running
from gateway.callers import SCOPES, command_caller
from gateway.models import User
from gateway.tokens import make_token
from openclaw_web.diffs import diff_texts
from openclaw_web.paths import state_dir
from tests.workshop.crowd import decided_proposals
from workshop.ledger import begin_epoch
from workshop.models import Event, Proposal

SKILLS, DECIDED, BLOCK = 200, 20_000, 20
# Middle times of OpenClaw 2026.9.6 over a kept connection at 200 skills, in seconds.
RECORDED = {"list": 0.045, "read": 0.018, "curator": 0.027, "create": 0.0475, "apply": 0.050}
BODY = "# Steps\n\n" + "".join(
    f"{number}. Do the thing number {number} and note it.\n" for number in range(40)
)
AGENT = {"agentId": "main"}
Call = Callable[[str, dict[str, Any]], Any]


def run(table: Table) -> None:
    state = state_dir()
    (state / "openclaw.json").write_text(json.dumps({"agents": {"entries": {"main": {}}}}))
    forget_roster()
    fill_skills(state / "agents/main/agent/workshop-skills")
    _token, secret = make_token("bench", scopes=SCOPES, caller=command_caller())
    with serving(secret) as server:
        _beside_a_gateway(table, server)
        _history(table, server)
    _diff(table)


def _beside_a_gateway(table: Table, server: OurServer) -> None:
    if is_installed():
        with running() as (gateway, real_state):
            fill_skills(real_state / "agents/main/agent/workshop-skills")
            ours, real = measure(server.call, gateway.call)
        named = "a real Gateway, here and now"
    else:
        (ours,), real, named = measure(server.call), RECORDED, "a real Gateway, as recorded"
    for what, seconds in ours.items():
        if what in real:
            table.row(f"{what}, {SKILLS} skills", seconds, named, real[what])
            recorded = (
                f", {RECORDED[what] / seconds:.1f} times as fast as recorded" if what in RECORDED else ""
            )
            table.note(f"{'':52} {real[what] / seconds:10.1f} times as fast as it{recorded}")
    with bare_write() as bare:
        baseline = median_time(bare, times=40)
    for what in ("create", "revise", "apply"):
        table.row(f"{what}, two files", ours[what], "the same writes and flushes, bare", baseline)


def fill_skills(root: Path) -> None:
    for number in range(SKILLS):
        folder = root / f"skill-{number:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f'---\nname: "skill-{number:03d}"\ndescription: "Number {number}"\n---\n\n{BODY}'
        (folder / "SKILL.md").write_text(text)


def measure(*sides: Call) -> list[dict[str, float]]:
    """Middle seconds of each method on each side. The sides take turns, so that a busy machine slows both alike."""
    benches = [Bench(call) for call in sides]
    times: list[dict[str, float]] = [{} for _side in sides]
    for what, count in (
        ("list", 60),
        ("read", 60),
        ("curator", 60),
        ("create", 40),
        ("revise", 40),
        ("apply", 40),
    ):
        taken: list[list[float]] = [[] for _side in sides]
        for _block in range(count // BLOCK):
            for bench, seconds in zip(benches, taken, strict=True):
                for _turn in range(BLOCK):
                    began = time.perf_counter()
                    getattr(bench, what)()
                    seconds.append(time.perf_counter() - began)
        for result, seconds in zip(times, taken, strict=True):
            result[what] = statistics.median(seconds[2:])  # the first two warm up
    for bench in benches:
        bench.clear()
    return times


class Bench:
    """One side: what is called, and the proposals that wait there."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.waiting: list[Any] = []
        self.number = itertools.count()

    def list(self) -> None:
        self.call("skills.proposals.list", AGENT)

    def read(self) -> None:
        self.call("skills.workshop.read", {**AGENT, "name": "skill-150"})

    def curator(self) -> None:
        self.call("skills.curator.status", {})

    def create(self) -> None:
        files = [{"path": "references/notes.md", "content": "notes\n"}]
        words = {"name": f"bench {next(self.number)} {os.getpid()}", "description": "d", "content": BODY}
        self.waiting.append(self.call("skills.proposals.create", {**AGENT, **words, "supportFiles": files}))

    def revise(self) -> None:
        asked = {**AGENT, "proposalId": self.waiting[-1]["record"]["id"], "content": BODY}
        self.waiting[-1] = self.call("skills.proposals.revise", asked)

    def apply(self) -> None:
        self.call("skills.proposals.apply", self._decide(self.waiting.pop()))

    def clear(self) -> None:
        while self.waiting:
            self.call("skills.proposals.reject", self._decide(self.waiting.pop()))

    @staticmethod
    def _decide(made: Any) -> dict[str, Any]:
        return {**AGENT, "proposalId": made["record"]["id"], "expectedRevisionHash": made["revisionHash"]}


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


def _history(table: Table, server: OurServer) -> None:
    """The same with 20,000 decided proposals, and pages with their numbers of queries."""
    asked = {
        "list": ("skills.proposals.list", AGENT),
        "read": ("skills.workshop.read", {**AGENT, "name": "skill-150"}),
        "curator": ("skills.curator.status", {}),
    }
    pages = {
        "desk": "/workshop/",
        "decided": "/workshop/decided/",
        "skills": "/workshop/skills/",
        "curator": "/workshop/curator/",
    }
    client = Client(SERVER_NAME="localhost")
    user = User.objects.create_user("bench", password="not used by anyone")  # noqa: S106
    user.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    client.force_login(user)

    def methods() -> dict[str, float]:
        return {what: median_time(partial(server.send, *call), times=15) for what, call in asked.items()}

    before, small = methods(), {what: _page(client, page) for what, page in pages.items()}
    decided_proposals("main", DECIDED)
    begin_epoch()  # the crowd comes without events
    for what, seconds in methods().items():
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
    count = itertools.count()

    def counted(execute: Any, *args: Any) -> Any:
        next(count)
        return execute(*args)

    with connection.execute_wrapper(counted):
        get()
    return median_time(get, times=9), next(count)


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
