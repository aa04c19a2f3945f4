"""Saved automations that name the old place of a moved skill: listed, never rewritten.

Our plans' texts, and the commands, working folders, scripts and messages of cron jobs in the peer's database.
Only the history of applies can say where a skill lay; a place is never guessed from a name.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from plans.models import Plan, Revision
from workshop.doctor.base import Ward
from workshop.doctor.moves import old_folder_of
from workshop.doctor.peer import database, opened, rows_of
from workshop.models import Event, Proposal

_BEFORE, _AFTER = re.compile(r"[\s\"'`=(\[{,:;]"), re.compile(r"[\s\"'`),\]};/]")


@dataclass(frozen=True, slots=True)
class Field:
    """A text of an automation. `whole`: the text is one argument or folder, not prose or a script."""

    automation: str
    name: str
    text: str
    whole: bool = False


def check_automations(ward: Ward) -> None:
    moved = _moved(ward)
    if not moved:
        return
    for field in (*_plan_fields(), *_cron_fields(ward)):
        for source, destinations in sorted(moved.items()):
            if names(field.text, source) and not os.path.lexists(field.text if field.whole else source):
                _note(ward, field, Path(source), destinations)


def _moved(ward: Ward) -> dict[str, set[Path]]:
    """Old folder → where its skill lies now, from the applied events of creates."""
    moved: dict[str, set[Path]] = {}
    events = Event.objects.filter(
        type=Event.Type.APPLIED, proposal__kind=Proposal.Kind.CREATE, proposal__status="applied"
    ).select_related("proposal")
    for event in events:
        desk = ward.desk(event.proposal.agent_id)
        file = (event.payload or {}).get("targetSkillFile")
        if desk is None or event.proposal.legacy_dir or not isinstance(file, str):
            continue
        old = old_folder_of(desk.root, file)
        if old is not None:
            moved.setdefault(str(old), set()).add(desk.root / event.proposal.target_dir)
    return moved


def names(text: str, folder: str) -> bool:
    """Whether `text` names `folder` literally, as a whole path or the beginning of one."""
    start = text.find(folder)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(folder) : start + len(folder) + 1]
        if (not before or _BEFORE.match(before)) and (not after or _AFTER.match(after)):
            return True
        start = text.find(folder, start + 1)
    return False


def _plan_fields() -> Iterator[Field]:
    newest: dict[int, Revision] = {}
    for revision in Revision.objects.select_related("plan").order_by("pk").iterator():
        newest[revision.plan_id] = revision
    for revision in newest.values():
        plan: Plan = revision.plan
        yield Field(f"plan {plan.agent_id}/{plan.archive_id}/{plan.task_id}", "text", revision.text)


def _cron_fields(ward: Ward) -> Iterator[Field]:
    path = database(ward)
    if not path.is_file():
        return
    try:
        with opened(path) as connection:
            rows = rows_of(connection, "cron_jobs", "job_id")
    except (sqlite3.DatabaseError, OSError):
        return  # check_peer has said so already
    for row in rows:
        try:
            job = json.loads(row["job_json"])
        except ValueError:
            continue
        yield from _job_fields(row["job_id"], job)


def _job_fields(job_id: str, job: dict[str, Any]) -> Iterator[Field]:
    payload = job.get("payload") or {}
    name = f"cron {job_id}"
    for number, value in enumerate(payload.get("argv") or []):
        yield Field(name, f"payload.argv[{number}]", str(value), whole=True)
    if payload.get("cwd"):
        yield Field(name, "payload.cwd", str(payload["cwd"]), whole=True)
    if payload.get("message"):
        yield Field(name, "payload.message", str(payload["message"]))
    if (job.get("trigger") or {}).get("script"):
        yield Field(name, "trigger.script", str(job["trigger"]["script"]))


def _note(ward: Ward, field: Field, source: Path, destinations: set[Path]) -> None:
    facts = {"automation": field.automation, "field": field.name, "source": source}
    sentence = _("%(automation)s names the old place of a moved skill in %(field)s: %(source)s.") % facts
    if len(destinations) != 1:
        hint = _("Where it lies now is not certain: look at it by hand.")
    else:
        hint = _hint(field, source, next(iter(destinations)))
    ward.note("automation-path", f"{sentence} {hint}", source)


def _hint(field: Field, source: Path, destination: Path) -> str:
    if field.whole and Path(field.text).is_relative_to(source):
        replacement = destination / Path(field.text).relative_to(source)
        real = replacement.resolve()
        if replacement.exists() and real.is_relative_to(destination.resolve()):
            return _("Replace it with %(path)s.") % {"path": replacement}
        return _("Its new target %(path)s does not exist: look at it by hand.") % {"path": replacement}
    return _("The folder moved to %(path)s; the text is left for you to change.") % {"path": destination}
