"""The review desk: one proposal with everything a person needs to decide. Writes nothing at all.

Where the peer's list marks a proposal stale on sight, these say what *would* happen (`LiveState`), so that a page
can be looked at without changing anything; list and detail use the same function and therefore agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from agents.roster import Agent, load_roster
from gateway.callers import Caller
from openclaw_web.paths import state_dir
from workshop import bundle, live, records, review, sentences, store
from workshop.desks import Desk, load_proposal, open_desk
from workshop.errors import FileProblem, WorkshopError
from workshop.models import Comment, Event, Generation, Proposal, RevisionRequest, Rollback
from workshop.queries.files import FilePair, pairs
from workshop.services import bound, livefiles
from workshop.store import Bundle


@dataclass(frozen=True, slots=True)
class LiveState:
    """What stands against a pending proposal now. `code`: ok, appeared, missing, changed, support-changed,
    draft-missing, outside, recovery, legacy (the doctor has not moved its skill yet). `stale`: it can only be proposed anew. `apply`: whether
    applying can work; rejecting always does, except in `recovery`."""

    code: str = "ok"
    sentence: str = ""

    @property
    def stale(self) -> bool:
        return self.code in ("appeared", "changed", "support-changed")

    @property
    def can_apply(self) -> bool:
        return self.code == "ok"

    @property
    def can_revise(self) -> bool:
        return self.code == "ok"


def live_state(desk: Desk, proposal: Proposal, *, unfinished: bool | None = None) -> LiveState:
    """The state of one pending proposal (others are always `ok`). `unfinished`: whether a rollback record is
    open, where the caller knows already."""
    if not proposal.is_pending:
        return LiveState()
    if proposal.legacy_dir:
        return LiveState("legacy", sentences.needs_doctor(proposal.legacy_dir).message)
    if unfinished is None:
        unfinished = Rollback.objects.unfinished().filter(pk=proposal.pk).exists()
    if unfinished:
        return LiveState("recovery", sentences.recovery_needed(desk.skill_path(proposal)).message)
    if not store.has_draft(desk.state, proposal.pk, proposal.draft_file):
        return LiveState("draft-missing", _("The draft is gone from the disk. Only rejecting still works."))
    try:
        code = bound.target_state(desk, proposal)
    except FileProblem as problem:
        return LiveState("outside", sentences.file_problem(problem, what="live").message)
    if code is None:
        return LiveState()
    if code == bound.MISSING:
        return LiveState(code, sentences.target_missing(desk.skill_path(proposal)).message)
    return LiveState(code, bound.stale_reason(code))


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a list: the proposal, its agent's desk (None: the agent is gone), its live state."""

    proposal: Proposal
    desk: Desk | None
    state: LiveState


def visible_agents(caller: Caller, agent_id: str | None) -> list[Agent]:
    """The agents a page is about: one, or all that the caller may see."""
    agents = [agent for agent in load_roster().agents if caller.allows_agent(agent.id)]
    return [agent for agent in agents if not agent_id or agent.id == agent_id]


def find(
    agent_id: str | None, *, status: str = "", text: str = "", kind: str = ""
) -> QuerySet[Proposal, Proposal]:
    """Proposals for a list page, newest change first. `status` empty means every status."""
    rows = Proposal.objects.of_agent(agent_id)
    if status:
        rows = rows.filter(status=status)
    if kind:
        rows = rows.filter(kind=kind)
    if text:
        rows = rows.filter(
            Q(title__icontains=text)
            | Q(description__icontains=text)
            | Q(skill_key__icontains=text)
            | Q(pk=text)
        )
    return rows.newest_first()


def rows(proposals: Iterable[Proposal]) -> list[Row]:
    """List lines with their live states: two queries for any number of proposals."""
    items = list(proposals)
    desks = {agent.id: Desk(agent, state_dir()) for agent in load_roster().agents}
    pending = [item.pk for item in items if item.is_pending]
    open_ones = set(Rollback.objects.unfinished().filter(pk__in=pending).values_list("pk", flat=True))
    return [
        Row(item, desk, live_state(desk, item, unfinished=item.pk in open_ones) if desk else LiveState())
        for item in items
        for desk in [desks.get(item.agent_id)]
    ]


@dataclass
class View:
    """Everything about one proposal. Parts that need the disk or a query are read when first used."""

    desk: Desk
    proposal: Proposal
    record: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.record = records.shown(self.proposal, self.desk.root)

    @cached_property
    def state(self) -> LiveState:
        return live_state(self.desk, self.proposal)

    @cached_property
    def _stored(self) -> Bundle | WorkshopError:
        try:
            return bound.load_bundle(self.desk, self.proposal)
        except WorkshopError as error:
            return error

    @property
    def bundle(self) -> Bundle | None:
        """The verified bundle of the active generation; None: see `problem`."""
        return self._stored if isinstance(self._stored, Bundle) else None

    @property
    def problem(self) -> WorkshopError | None:
        return self._stored if isinstance(self._stored, WorkshopError) else None

    @cached_property
    def skill_text(self) -> str:
        """The SKILL.md that applying writes."""
        return bundle.render_skill(self.bundle.text) if self.bundle else ""

    @cached_property
    def notices(self) -> list[review.Notice]:
        return review.warnings(self.desk, self.proposal, self.bundle) if self.bundle else []

    @cached_property
    def pairs(self) -> list[FilePair]:
        """What applying will change, SKILL.md first; for a decided update, against what stood before."""
        return pairs(self.desk, self.proposal, self.bundle) if self.bundle else []

    @cached_property
    def drift(self) -> list[str]:
        """Live files outside the proposal that changed since it was made."""
        return bound.drift(self.desk, self.proposal) if self.proposal.is_pending else []

    @cached_property
    def generations(self) -> list[Generation]:
        return list(self.proposal.generations.order_by("-version"))

    @cached_property
    def events(self) -> list[Event]:
        return list(self.proposal.events.order_by("-sequence"))

    @cached_property
    def comments(self) -> list[Comment]:
        return list(self.proposal.comments.filter(dropped_at=None))

    @property
    def tray(self) -> list[Comment]:
        """Remarks not sent yet."""
        return [comment for comment in self.comments if comment.request_id is None]

    def is_outdated(self, comment: Comment) -> bool:
        return comment.generation != self.proposal.generation

    @cached_property
    def requests(self) -> list[RevisionRequest]:
        return list(self.proposal.revision_requests.all())

    @cached_property
    def rollback(self) -> Rollback | None:
        return Rollback.objects.filter(pk=self.proposal.pk).first()

    @cached_property
    def can_roll_back(self) -> bool:
        """Whether *Roll back* is offered: applied, and the live files are still what apply wrote."""
        if self.rollback is None or self.rollback.state != Rollback.State.APPLIED:
            return False
        files = list(self.rollback.files.all())
        return livefiles.compare(self.desk, self.proposal, files) == livefiles.WRITTEN

    @cached_property
    def rivals(self) -> list[Proposal]:
        """Other pending proposals for the same target: applying one makes updates among them stale."""
        same = Proposal.objects.pending().filter(target_hash=self.proposal.target_hash)
        return list(same.exclude(pk=self.proposal.pk).order_by("created_at", "id"))


def view(agent_id: str | None, proposal_id: str, caller: Caller) -> View:
    """One proposal for the review page. `agent_id` None takes the proposal's own agent, so that a link works
    whatever agent is selected. Raises WorkshopError `not-found`, `unknown-agent`."""
    if not agent_id:
        owner = Proposal.objects.filter(pk=proposal_id).values_list("agent_id", flat=True).first()
        if owner is None:
            raise sentences.not_found()
        agent_id = owner
    desk = open_desk(agent_id, caller)
    return View(desk, load_proposal(desk, proposal_id))


def neighbours(proposal: Proposal, agent_id: str | None) -> tuple[str | None, str | None]:
    """Ids of the pending proposals before and after this one in the queue (oldest first)."""
    queue = list(queue_of(agent_id).values_list("pk", flat=True))
    if proposal.pk not in queue:
        return (None, queue[0] if queue else None)
    place = queue.index(proposal.pk)
    return (queue[place - 1] if place else None, queue[place + 1] if place + 1 < len(queue) else None)


def queue_of(agent_id: str | None) -> QuerySet[Proposal, Proposal]:
    """What waits for a decision, the longest waiting first."""
    return Proposal.objects.of_agent(agent_id).pending().order_by("created_at", "id")


def folder_looked_in(caller: Caller, agent_id: str | None) -> list[str]:
    """Where an empty page has looked: the Workshop folders of the agents it is about."""
    return [str(live.skills_root(agent.agent_dir)) for agent in visible_agents(caller, agent_id)]
