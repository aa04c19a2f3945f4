"""What the review desk shows of one proposal, from `queries.desk.View`: queue, head, tabs, files, remarks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gateway.callers import has_role
from openclaw_web.desk import Queue, QueueItem, Remark, RemarkForm, Tab, Talk
from workshop import targets
from workshop.bundle import DRAFT_NAME, SKILL_NAME
from workshop.errors import FileProblem
from workshop.models import Comment, Proposal
from workshop.names import from_iso
from workshop.queries import desk as reads
from workshop.queries.desk import View

TABS = ("diff", "text", "files", "checks", "history")
QUEUE_LENGTH = 100


def queue_of(request: HttpRequest, current: str = "") -> Queue:
    """The pending proposals of the chosen agent, the longest waiting first."""
    agent_id = request.agent_id or None  # type: ignore[attr-defined]
    found = reads.queue_of(agent_id)
    items = [_item(row, current, with_agent=agent_id is None) for row in reads.rows(found[:QUEUE_LENGTH])]
    total = len(items) if len(items) < QUEUE_LENGTH else found.count()
    return Queue(_("Proposals to review"), items, total, _("Nothing waits for a decision."))


def _item(row: reads.Row, current: str, *, with_agent: bool) -> QueueItem:
    proposal = row.proposal
    tone, word = _mark(row)
    return QueueItem(
        url=reverse("workshop:proposal", args=[proposal.pk]),
        title=proposal.skill_name,
        detail=proposal.description,
        at=proposal.created_at,
        tone=tone,
        word=word,
        current=proposal.pk == current,
        agent=proposal.agent_id if with_agent else "",
    )


def _mark(row: reads.Row) -> tuple[str, str]:
    """The one thing worth a pill in the queue, the gravest first."""
    proposal = row.proposal
    if row.desk is None:
        return "bad", _("agent is gone")
    if row.state.code == "recovery":
        return "bad", _("cut off")
    if row.state.code.startswith("draft"):
        return "bad", _("no draft")
    if row.state.stale:
        return "warn", _("stale")
    if proposal.critical:
        return "bad", ngettext("%d critical", "%d critical", proposal.critical) % proposal.critical
    if proposal.warnings:
        return "warn", ngettext("%d warning", "%d warnings", proposal.warnings) % proposal.warnings
    if proposal.kind == Proposal.Kind.CREATE:
        return "ok", _("new skill")
    return "info", _("update · v%(version)s") % {"version": proposal.version}


def status_pill(proposal: Proposal) -> tuple[str, str]:
    """Tone and word of a proposal's status."""
    tone = {"pending": "wait", "applied": "ok", "rejected": "idle", "quarantined": "bad", "stale": "warn"}
    return tone[proposal.status], str(proposal.get_status_display())


def default_tab(view: View) -> str:
    """The difference where there is something to compare with, else the text; a draft that cannot be read
    has only its checks."""
    if view.bundle is None:
        return "checks"
    return "diff" if any(pair.before is not None for pair in view.pairs) else "text"


def tabs_of(view: View, current: str) -> list[Tab]:
    proposal = view.proposal
    grave = proposal.critical + len([notice for notice in view.notices if notice.risk or notice.blocks])
    light = proposal.warnings + len(view.notices) + proposal.critical - grave
    counts = {
        "files": (len(view.pairs), ""),
        "checks": (grave + light, "bad" if grave else "warn"),
        "history": (len(view.generations), ""),
    }
    names = {
        "diff": (_("Diff"), "d"),
        "text": (_("Text"), "t"),
        "files": (_("Files"), "f"),
        "checks": (_("Checks"), "c"),
        "history": (_("History"), "h"),
    }
    found = []
    for name in TABS:
        label, key = names[name]
        count, tone = counts.get(name, (None, ""))
        url = reverse("workshop:tab", args=[proposal.pk, name])
        found.append(Tab(name, label, url, key, count, tone, current=name == current))
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """`?at=<file>:<line>`: where a remark is being written. `file` is an index, or `p` for the draft; a negative line
    is one of the old text."""

    file: str
    line: int

    @classmethod
    def of(cls, request: HttpRequest) -> Place | None:
        name, _colon, text = request.GET.get("at", "").partition(":")
        line = text.removeprefix("-")
        if not (name == "p" or (name.isascii() and name.isdigit() and len(name) < 4)):
            return None
        number = int(line) if line.isascii() and line.isdigit() and len(line) < 8 else 0
        return cls(name, -number if line != text else number)


@dataclass(frozen=True, slots=True)
class Writing:
    """A remark that was refused: what was typed, and why. A negative line is one of the old text."""

    path: str
    line: int
    body: str
    error: str


def talks_of(
    view: View,
    path: str,
    here: str,
    *,
    form_at: int | None = None,
    most: int = 0,
    most_old: int = 0,
    writing: Writing | None = None,
    may: bool = False,
) -> Mapping[int, Talk]:
    """What stands below the lines of one file of the active generation; 0: above its first line; a removed line
    of the old text is negative.

    `most`, `most_old`: how many lines of each text the page shows. `form_at`: the line whose form is open, where the
    reader `may` write. Remarks on a line that is not there stand on top.
    """

    def place(line: int) -> int:
        return line if 0 < line <= most or 0 < -line <= most_old else 0

    talks: dict[int, Talk] = {}
    for comment in view.comments:
        if comment.path == path and not view.is_outdated(comment):
            asked = -(comment.line or 0) if comment.side == Comment.Side.OLD else comment.line or 0
            line = place(asked)
            talks.setdefault(line, Talk()).remarks.append(remark_of(view, comment, where=line != asked))
    refused = writing if writing and writing.path == path else None
    at = refused.line if refused else form_at
    if at is not None and view.proposal.is_pending and may:
        line = place(at)
        talks.setdefault(line, Talk()).form = RemarkForm(
            url=reverse("workshop:remark", args=[view.proposal.pk]),
            cancel_url=here,
            path=path,
            line=abs(line),
            old=line < 0,
            most_old=most_old,
            body=refused.body if refused else "",
            error=refused.error if refused else "",
            most=most,
            fixed=(("revision", view.proposal.revision_hash), ("back", here)),
        )
    return talks


def remark_of(view: View, comment: Comment, *, where: bool = False) -> Remark:
    sent = comment.request_id is not None
    state = "outdated" if view.is_outdated(comment) else "sent" if sent else "tray"
    place = comment.path or _("the whole")
    if comment.line:
        says = _("%(path)s, line %(line)s")
        if comment.side == Comment.Side.OLD:
            says = _("%(path)s, removed line %(line)s")
        place = says % {"path": place, "line": comment.line}
    return Remark(
        id=comment.pk,
        author=comment.author,
        at=comment.created_at,
        body=comment.body,
        state=state,
        where=place if where or state == "outdated" else "",
        quote=comment.quote if state == "outdated" or where else "",
        version=comment.version,
        url=reverse("workshop:generation", args=[view.proposal.pk, comment.version])
        if state == "outdated"
        else "",
        drop_url="" if sent else reverse("workshop:drop_remark", args=[view.proposal.pk, comment.pk]),
    )


def may_remark(request: HttpRequest, view: View) -> bool:
    return view.proposal.is_pending and has_role(request.user, "reviewer")


def is_known_path(view: View, path: str) -> bool:
    return path in ("", DRAFT_NAME, SKILL_NAME) or any(pair.path == path for pair in view.pairs)


def findings_of(view: View) -> list[dict[str, Any]]:
    """The scan's findings; an imported record may hold none at all."""
    return view.record["scan"].get("findings") or []


def instant(text: str | None) -> datetime | None:
    """A record's time, None where it holds none that can be read."""
    try:
        return from_iso(text) if text else None
    except ValueError:
        return None


def underneath(view: View) -> list[tuple[str, str]]:
    """`(path, what happened)` of live files that are not what they were when a proposal was made."""
    if view.proposal.status != Proposal.Status.STALE and not view.state.stale:
        return []
    before: dict[str, str] = json.loads(view.proposal.target_tree_json or "{}")
    try:
        now = targets.tree_hashes(view.desk.root, view.proposal.target_dir)
    except FileProblem:
        return []
    found = []
    for path in sorted({*before, *now}):
        if path not in now:
            found.append((path, _("is gone")))
        elif path not in before:
            found.append((path, _("appeared")))
        elif now[path] != before[path]:
            found.append((path, _("changed")))
    return found
