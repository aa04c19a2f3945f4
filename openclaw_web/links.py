"""From a line of a ledger to the thing it is about: its name as people know it, and its page.

A page of lines costs one query a kind of thing, however many lines it has.
"""

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from gateway.models import Delivery
from longrun.models import LongTask
from plans.models import Intake, Plan, Run
from workshop.models import Proposal

_ARCHIVE_PATH = re.compile(r"archives/([^/]+)/(.+)", re.DOTALL)


@dataclass(frozen=True)
class Thing:
    """What a line is about. `url` is empty where there is no page (or none any more)."""

    name: str
    url: str = ""


@dataclass(frozen=True)
class Mention:
    """What a ledger knows: `kind` (`<noun>.<verb>`), `subject` as it was written down, the agent."""

    kind: str
    subject: str
    agent_id: str

    @property
    def noun(self) -> str:
        return self.kind.partition(".")[0]


def name_things(mentions: Iterable[Mention]) -> dict[Mention, Thing]:
    """The thing of every mention; what is not known any more keeps the subject as its name."""
    by_noun: dict[str, list[Mention]] = {}
    for mention in mentions:
        by_noun.setdefault(mention.noun, []).append(mention)
    things: dict[Mention, Thing] = {}
    for noun, group in by_noun.items():
        finder = _FINDERS.get(noun)
        found = finder(group) if finder else {}
        things |= {mention: found.get(mention) or Thing(mention.subject) for mention in group}
    return things


def _url(name: str, *args: object) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


def _plans(group: list[Mention]) -> dict[Mention, Thing]:
    uids = _uids(group)
    rows = Plan.objects.filter(uid__in=uids.values()).only("uid", "name", "task_id")
    named = {row.uid: Thing(str(row), _url("plans:plan", row.uid)) for row in rows}
    if left := set(uids.values()) - set(named):
        named |= _intakes_by_uid(left)
    return {mention: named[uid] for mention, uid in uids.items() if uid in named}


def _intakes(group: list[Mention]) -> dict[Mention, Thing]:
    uids = _uids(group)
    named = _intakes_by_uid(uids.values())
    return {mention: named[uid] for mention, uid in uids.items() if uid in named}


def _intakes_by_uid(uids: Iterable[uuid.UUID]) -> dict[uuid.UUID, Thing]:
    rows = Intake.objects.filter(uid__in=uids).only("uid", "wish")
    return {row.uid: Thing(str(row), _url("plans:intake", row.uid)) for row in rows}


def _runs(group: list[Mention]) -> dict[Mention, Thing]:
    uids = _uids(group)
    rows = (
        Run.objects.filter(uid__in=uids.values())
        .select_related("plan")
        .only("uid", "due_at", "plan__name", "plan__task_id")
    )
    named = {
        row.uid: Thing(f"{row.plan} · {row.due_at:%Y-%m-%d %H:%M} UTC", _url("plans:run", row.uid))
        for row in rows
    }
    return {mention: named[uid] for mention, uid in uids.items() if uid in named}


def _proposals(group: list[Mention]) -> dict[Mention, Thing]:
    rows = Proposal.objects.filter(pk__in={mention.subject for mention in group}).only("pk", "title")
    named = {row.pk: Thing(row.title or row.pk, _url("workshop:proposal", row.pk)) for row in rows}
    return {mention: named[mention.subject] for mention in group if mention.subject in named}


def _tasks(group: list[Mention]) -> dict[Mention, Thing]:
    """Events name a task by its row (`longtask:7`), decisions by agent and name."""
    pks = {pk for pk in map(_task_pk, group) if pk}
    rows = {row.pk: row for row in LongTask.objects.filter(pk__in=pks).only("pk", "name")}
    names = {mention.subject for mention in group if not _task_pk(mention)}
    by_name = {
        (row.agent_id, row.name): row
        for row in LongTask.objects.filter(name__in=names).only("pk", "name", "agent_id")
    }
    found = {}
    for mention in group:
        pk = _task_pk(mention)
        row = rows.get(pk) if pk else by_name.get((mention.agent_id, mention.subject))
        if row is not None:
            found[mention] = Thing(row.name, _url("longrun:task", row.pk))
    return found


def _task_pk(mention: Mention) -> int | None:
    prefix, _colon, number = mention.subject.partition(":")
    return int(number) if prefix == "longtask" and number.isdecimal() and len(number) < 19 else None


def _deliveries(group: list[Mention]) -> dict[Mention, Thing]:
    """A message is known by what it is for and where it goes; its page is that of the task it is about."""
    pks = {
        mention: int(number) for mention in group if (number := mention.subject.partition(":")[2]).isdecimal()
    }
    rows = {
        row.pk: row
        for row in Delivery.objects.filter(pk__in=pks.values()).only(
            "pk", "purpose", "session_key", "subject"
        )
    }
    found = {}
    for mention, pk in pks.items():
        if row := rows.get(pk):
            task = _task_pk(Mention("longtask", row.subject, ""))
            found[mention] = Thing(str(row), _url("longrun:task", task) if task else "")
    return found


def _archives(group: list[Mention]) -> dict[Mention, Thing]:
    found = {}
    for mention in group:
        path = _ARCHIVE_PATH.fullmatch(mention.subject)
        if path and mention.agent_id:
            found[mention] = Thing(mention.subject, _url("archives:file", mention.agent_id, path[1], path[2]))
    return found


def _agents(group: list[Mention]) -> dict[Mention, Thing]:
    return {
        mention: Thing(mention.subject, _url("agents:agent", mention.agent_id or mention.subject))
        for mention in group
    }


def _uids(group: list[Mention]) -> dict[Mention, uuid.UUID]:
    found = {}
    for mention in group:
        try:
            found[mention] = uuid.UUID(mention.subject)
        except ValueError:
            continue
    return found


_FINDERS: dict[str, Callable[[list[Mention]], dict[Mention, Thing]]] = {
    "plan": _plans,
    "intake": _intakes,
    "run": _runs,
    "proposal": _proposals,
    "longtask": _tasks,
    "delivery": _deliveries,
    "archive": _archives,
    "agent": _agents,
}
