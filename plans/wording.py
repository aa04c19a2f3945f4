"""States, outcomes and reasons in the reader's words. Codes are stored, sentences are made when they are read."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from plans.models import Plan, Run
from plans.schedule_words import describe_length
from plans.sentences import tell

State, Outcome, Status = Plan.State, Run.Outcome, Run.Status

STATE_TONES: dict[str, str] = {
    State.AWAITING: "warn",
    State.CHANGES: "info",
    State.ACTIVE: "ok",
    State.PAUSED: "idle",
    State.HELD: "bad",
    State.ENDED: "idle",
    State.RETIRED: "idle",
}
OUTCOME_TONES: dict[str, str] = {
    Outcome.OK: "ok",
    Outcome.ERROR: "bad",
    Outcome.TIMEOUT: "warn",
    Outcome.HELD: "bad",
    Outcome.SKIPPED: "idle",
    Outcome.MISSED: "warn",
    Outcome.INTERRUPTED: "warn",
    Outcome.STOPPED: "idle",
}


def outcome_word(run: Run) -> tuple[str, str]:
    """(word, tone) of a run."""
    if run.status == Status.QUEUED:
        return (_("stopping") if run.stop_requested_at else run.get_status_display()), "wait"
    if run.status == Status.RUNNING:
        return (_("stopping") if run.stop_requested_at else run.get_status_display()), "run"
    if run.outcome == Outcome.OK and run.outputs_found is False:
        return _("ok, nothing archived"), "warn"
    return run.get_outcome_display(), OUTCOME_TONES.get(run.outcome, "idle")


def outcome_sentence(run: Run) -> str:
    """What happened, in one or two sentences; the stored reason where no code says it better."""
    if run.status == Status.QUEUED:
        return _queued_sentence(run)
    if run.status == Status.RUNNING:
        if run.stop_requested_at:
            return _("%(who)s asked it to stop; it ends within seconds.") % {"who": run.stop_requested_by}
        return _("The agent is at work.")
    if run.outcome == Outcome.OK:
        return _ok_sentence(run)
    says = {
        Outcome.TIMEOUT: _(
            "It was still going at the time limit of %(limit)s. It may still run; it is not tried again."
        )
        % {"limit": describe_length(run.plan.time_limit)},
        Outcome.HELD: _("PLAN.md was not what was confirmed: nothing was executed."),
        Outcome.SKIPPED: _("Skipped."),
        Outcome.MISSED: _("Missed: nothing ran at this time."),
        Outcome.INTERRUPTED: _("Interrupted: the worker was gone before it ended."),
        Outcome.STOPPED: _("Stopped by a person."),
        Outcome.ERROR: _("It failed."),
    }[Outcome(run.outcome)]
    told = tell(run.reason)
    if run.outcome in (Outcome.ERROR, Outcome.STOPPED) and told:
        return told
    if run.outcome == Outcome.TIMEOUT and told:
        # The limit that it had is in its own sentence; the plan's may be another by now.
        return _("%(first)s %(second)s") % {"first": told, "second": _("It is not tried again.")}
    if run.outcome == Outcome.HELD and run.code == "PLAN_CHANGED":
        return says
    return _("%(first)s %(second)s") % {"first": says, "second": told} if told and told != says else says


def _queued_sentence(run: Run) -> str:
    if run.attempts and run.reason:
        return _("Will be tried again: %(why)s") % {"why": tell(run.reason)}
    return _("Waits for a free worker.")


def _ok_sentence(run: Run) -> str:
    if run.outputs_found is False:
        return _("The agent said that it was done, but step 4 found no archived output.")
    count = len(run.outputs)
    if not count:
        return _("The agent said that it was done; archived outputs were not checked.")
    return ngettext(
        "Done; step 4 found %(n)d archived output.", "Done; step 4 found %(n)d archived outputs.", count
    ) % {"n": count}


def waiting_sentence(plan: Plan) -> str:
    """Why a plan stands in the queue, in one line. Its current revision is loaded."""
    if plan.state == State.HELD:
        return _("PLAN.md is not what was confirmed: nothing runs until you look.")
    if plan.state == State.PAUSED:
        return tell(plan.state_reason)
    if plan.current is None:
        return _("Waits for your yes or your changes.")
    return _("Revision %(number)d waits for your yes or your changes.") % {"number": plan.current.number}
