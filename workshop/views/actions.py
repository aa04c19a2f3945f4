"""Which buttons the review desk offers for a proposal, and what each says it will do."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.desk import Action, Remark
from workshop.models import Proposal
from workshop.queries.desk import View
from workshop.services.requests import full_session_key


@dataclass(frozen=True, slots=True)
class Asked:
    """An action that was refused: its panel stays open with what was typed."""

    name: str
    value: str = ""
    error: str = ""
    confirmed: bool = False


def session_of(view: View) -> str:
    """Where a request for changes goes: the session that made the proposal, else the agent's main one."""
    return view.proposal.origin_session_key or full_session_key("main", view.desk)


def actions_of(view: View, tray: Sequence[Remark], asked: Asked | None = None) -> list[Action]:
    """The main action last. Empty where nothing can be done."""
    proposal = view.proposal
    if proposal.is_pending:
        if view.state.code == "recovery":
            return _settle_actions(view, asked)
        return _pending_actions(view, tray, asked)
    if proposal.status == Proposal.Status.APPLIED:
        return [_roll_back(view, asked)] if view.can_roll_back else []
    if proposal.status == Proposal.Status.QUARANTINED:
        return [_reject(view, asked), _again(view)]
    return [_again(view)]


def _again(view: View) -> Action:
    return Action(
        "again",
        _("Propose anew"),
        "e",
        _("Opens a new proposal with this text, against the skill as it stands now."),
        href=f"{reverse('workshop:new')}?from={view.proposal.pk}",
        tone="go",
    )


def _made(
    view: View, name: str, label: str, key: str, says: str, asked: Asked | None, **more: object
) -> Action:
    mine = asked if asked and asked.name == name else None
    fixed = (("revision", view.proposal.revision_hash), *more.pop("fixed", ()))  # type: ignore[misc]
    return Action(
        name,
        label,
        key,
        says,
        url=reverse("workshop:decide", args=[view.proposal.pk, name]),
        value=mine.value if mine else "",
        error=mine.error if mine else "",
        confirmed=bool(mine and mine.confirmed),
        open=mine is not None,
        fixed=fixed,
        **more,  # type: ignore[arg-type]
    )


def _pending_actions(view: View, tray: Sequence[Remark], asked: Asked | None) -> list[Action]:
    found = [_quarantine(view, asked), _reject(view, asked)]
    if view.bundle is None:
        return [_reject(view, asked, main=True)]
    if view.state.stale:
        # A revision would be refused; what is left is to begin from its text.
        return [*found, _again(view)]
    if view.state.can_revise:
        found.append(
            Action(
                "edit",
                _("Edit"),
                "e",
                _("Opens the text and files; saving makes the next version, this one stays in the history."),
                href=reverse("workshop:edit", args=[view.proposal.pk]),
                tone="quiet",
            )
        )
    found.append(_request(view, tray, asked))
    if view.state.can_apply and not view.proposal.critical and not _blocked(view):
        found.append(_apply(view, asked))
    return found


def _blocked(view: View) -> str:
    """Why applying would be refused whatever is said to it."""
    return next((notice.sentence for notice in view.notices if notice.blocks), "")


def _apply(view: View, asked: Asked | None) -> Action:
    risks = [notice.sentence for notice in view.notices if notice.risk]
    return _made(
        view,
        "apply",
        _("Apply"),
        "a",
        apply_sentence(view),
        asked,
        tone="go",
        confirms=risks,
        confirm_label=_("Yes, that is meant: write it to “%(skill)s”.") % {"skill": view.proposal.skill_name},
    )


def apply_sentence(view: View) -> str:
    """What applying does, or why it cannot be done."""
    if not view.state.can_apply:
        return view.state.sentence
    if view.bundle is None:
        return view.problem.message if view.problem else ""
    if view.proposal.critical:
        return _("A critical finding blocks applying: have it revised, reject it or lock it away.")
    if _blocked(view):
        return _blocked(view)
    count = len([pair for pair in view.pairs if pair.change != "same"])
    written = ngettext("Applying writes %(n)d file", "Applying writes %(n)d files", count) % {"n": count}
    if view.proposal.kind == Proposal.Kind.CREATE:
        return _("%(written)s to a new skill; rolling back removes it again.") % {"written": written}
    return _("%(written)s; what stood there is kept for a roll back.") % {"written": written}


def _reject(view: View, asked: Asked | None, *, main: bool = False) -> Action:
    return _made(
        view,
        "reject",
        _("Reject"),
        "x",
        _("Ends this proposal of “%(skill)s”; nothing live changes, the text stays in the history.")
        % {"skill": view.proposal.skill_name},
        asked,
        tone="bad" if main else "quiet",
        field=_("Reason"),
        field_help=_("Kept with the proposal; the agent can read it."),
        button=_("Reject the proposal"),
    )


def _quarantine(view: View, asked: Asked | None) -> Action:
    return _made(
        view,
        "quarantine",
        _("Quarantine"),
        "q",
        _(
            "Locks this proposal of “%(skill)s” away as dangerous: nobody can apply it, and it goes on counting against the limit."
        )
        % {"skill": view.proposal.skill_name},
        asked,
        tone="quiet",
        field=_("Reason"),
        button=_("Lock it away"),
    )


def _request(view: View, tray: Sequence[Remark], asked: Asked | None) -> Action:
    says = _(
        "Sends your words and the remarks in the tray to %(session)s; the proposal itself stays as it is."
    )
    return _made(
        view,
        "request",
        _("Request changes"),
        "r",
        says % {"session": session_of(view)},
        asked,
        field=_("What should be different"),
        field_name="words",
        long=True,
        required=not tray,
        count=len(tray),
        remarks=tray,
        button=_("Send the request"),
        # One form sends one request, however often its button is pressed.
        fixed=(("once", str(uuid.uuid4())),),
    )


def _roll_back(view: View, asked: Asked | None) -> Action:
    new = view.proposal.kind == Proposal.Kind.CREATE
    says = (
        _(
            "Removes the skill “%(skill)s” and the files this proposal made; the proposal stays in the history."
        )
        if new
        else _("Puts “%(skill)s” back, byte for byte, as it was before this proposal was applied.")
    )
    return _made(
        view,
        "rollback",
        _("Roll back"),
        "b",
        says % {"skill": view.proposal.skill_name},
        asked,
        tone="bad",
        field=_("Reason"),
        button=_("Roll back"),
    )


def _settle_actions(view: View, asked: Asked | None) -> list[Action]:
    """Both ways out of a cut-off apply that nothing can decide by itself."""
    named = {"skill": view.proposal.skill_name}
    return [
        _made(
            view,
            "earlier",
            _("Restore the earlier skill"),
            "b",
            _("Puts the files of “%(skill)s” back as they were before the apply; the proposal stays pending.")
            % named,
            asked,
            confirms=[_("What stands there now is neither the old text nor the new one, and would be gone.")],
            confirm_label=_("Yes, put the earlier “%(skill)s” back.") % named,
        ),
        _made(
            view,
            "live",
            _("Keep what stands there"),
            "k",
            _("Leaves the live files of “%(skill)s” alone; the proposal becomes stale.") % named,
            asked,
        ),
    ]
