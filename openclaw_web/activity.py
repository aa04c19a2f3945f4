"""The two ledgers as a person reads them: what was decided, and what happened."""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gateway.models import AuditEntry, LedgerEvent
from openclaw_web.actors import actor_in_words
from openclaw_web.ledger_words import in_words
from openclaw_web.links import Mention, Thing, name_things

PAGE = 50
TABS: tuple[tuple[str, str | Promise], ...] = (("decisions", _("Decisions")), ("events", _("Events")))
TONES = {"ok": "ok", "refused": "warn", "failed": "bad"}


@dataclass(frozen=True)
class Filters:
    """What the page was asked for; an unreadable value counts as not asked."""

    tab: str = "decisions"
    agent_id: str = ""
    kind: str = ""
    actor: str = ""
    outcome: str = ""
    day: date | None = None
    before: int | None = None
    since: int | None = None

    @property
    def any(self) -> bool:
        return bool(self.kind or self.actor or self.outcome or self.day)

    @property
    def since_query(self) -> str:
        return self.query(since=str(self.since))

    def query(self, **changed: Any) -> str:
        """The query string of this page with `changed` put in."""
        values = {
            "tab": self.tab,
            "kind": self.kind,
            "actor": self.actor,
            "outcome": self.outcome,
            "day": self.day.isoformat() if self.day else "",
            **changed,
        }
        return urlencode({key: value for key, value in values.items() if value})


@dataclass(frozen=True)
class Line:
    """One row of either ledger. `what` is its kind as it is stored, `says` the same in words, `same` asks for its like."""

    pk: int
    at: datetime
    what: str
    says: str
    actor: str
    subject: str
    url: str
    same: str
    tone: str = ""
    word: str = ""
    agent_id: str = ""
    facts: list[tuple[str | Promise, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """`older` is the key to go on with; `news` how many rows came after the reader's newest."""

    lines: list[Line]
    older: int | None
    since_query: str
    news: int = 0


def read_filters(request: HttpRequest) -> Filters:
    """From the query string; the agent is the one of the switch."""
    ask = request.GET
    tab = ask.get("tab", "decisions")
    outcome = ask.get("outcome", "")
    return Filters(
        tab=tab if tab in dict(TABS) else "decisions",
        agent_id=request.agent_id,  # type: ignore[attr-defined]
        kind=ask.get("kind", "").strip()[:80],
        actor=ask.get("actor", "").strip()[:200],
        outcome=outcome if outcome in TONES else "",
        day=_day(ask.get("day", "")),
        before=_number(ask.get("before", "")),
        since=_number(ask.get("since", "")),
    )


def load_activity(filters: Filters) -> Page:
    """One page, newest first; with `since` only how many rows came after it."""
    rows = _chosen(filters)
    if filters.since is not None:
        return Page([], None, "", rows.filter(pk__gt=filters.since).count())
    if filters.before is not None:
        rows = rows.filter(pk__lt=filters.before)
    found = list(rows.order_by("-pk")[: PAGE + 1])
    shown = found[:PAGE]
    events = filters.tab == "events"
    mentions = {
        row.pk: Mention(row.kind if events else row.action, row.subject, row.agent_id) for row in shown
    }
    things = name_things(mentions.values())
    make = _event if events else _decision
    return Page(
        [make(row, things[mentions[row.pk]], filters) for row in shown],
        shown[-1].pk if len(found) > PAGE else None,
        filters.query(since=str(shown[0].pk if shown else 0)),
    )


def _chosen(filters: Filters) -> QuerySet:
    events = filters.tab == "events"
    rows: QuerySet = LedgerEvent.objects.all() if events else AuditEntry.objects.all()
    if filters.agent_id:
        # What belongs to no agent (sign-ins, tokens) belongs to the site, and is shown with every agent.
        rows = rows.filter(agent_id__in=["", filters.agent_id])
    if filters.kind:
        rows = rows.filter(**{"kind__startswith" if events else "action__startswith": filters.kind})
    if filters.actor:
        rows = rows.filter(actor__icontains=filters.actor)
    if filters.outcome and not events:
        rows = rows.filter(outcome=filters.outcome)
    if filters.day:
        start = timezone.make_aware(datetime.combine(filters.day, time.min))
        end = timezone.make_aware(datetime.combine(filters.day + timedelta(days=1), time.min))
        rows = rows.filter(at__gte=start, at__lt=end)
    return rows


def _decision(row: AuditEntry, thing: Thing, filters: Filters) -> Line:
    facts: list[tuple[str | Promise, str]] = [
        (_("from"), row.address),
        (_("SHA-256"), row.digest),
        (_("reason"), row.reason),
        (_("request"), row.request_id),
        *((key, _plain(value)) for key, value in (row.detail or {}).items()),
    ]
    return Line(
        row.pk,
        row.at,
        row.action,
        in_words(row.action),
        actor_in_words(row.actor),
        thing.name,
        thing.url,
        filters.query(kind=row.action),
        TONES.get(row.outcome, "idle"),
        row.get_outcome_display(),
        row.agent_id,
        [(name, value) for name, value in facts if value],
    )


def _event(row: LedgerEvent, thing: Thing, filters: Filters) -> Line:
    facts = [(key, _plain(value)) for key, value in (row.data or {}).items()]
    return Line(
        row.pk,
        row.at,
        row.kind,
        in_words(row.kind),
        actor_in_words(row.actor),
        thing.name,
        thing.url,
        filters.query(kind=row.kind),
        agent_id=row.agent_id,
        facts=[(name, value) for name, value in facts if value],
    )


def _plain(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str("" if value is None else value)
    return text[:500]


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
        timezone.make_aware(datetime.combine(day + timedelta(days=1), time.min))
    except (ValueError, OverflowError):
        return None
    return day


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None
