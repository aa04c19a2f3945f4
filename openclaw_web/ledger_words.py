"""The names of the ledgers' lines in the reader's language."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from longrun.words import EVENTS

# A decision is named by what was asked for, for it may have been refused; an event by what happened.
WORDS: dict[str, str | Promise] = {
    "agent.change": _("Change an agent"),
    "agent.changed": _("Agent changed"),
    "agent.made": _("Agent made"),
    "agent.make": _("Make an agent"),
    "agent.remove": _("Remove an agent"),
    "agent.removed": _("Agent removed"),
    "archive.copied": _("File copied to its right place"),
    "archive.copy": _("Copy a file to its right place"),
    "archive.seen": _("New files seen on the disk"),
    "archive.write": _("Archive a file"),
    "archive.written": _("File archived"),
    "boundary.change": _("Change a boundary"),
    "boundary.make": _("Make a boundary"),
    "boundary.remove": _("Remove a boundary"),
    "cluster.restarted": _("Cluster restarted"),
    "delivery.attempted": _("Message tried, outcome unknown"),
    "delivery.failed": _("Message not received"),
    "delivery.generated": _("Message generated"),
    "delivery.received": _("Message received"),
    "intake.started": _("Wish written down"),
    "longtask.cleanup": _("Clean up old tasks"),
    "longtask.clear": _("Clear a task"),
    "longtask.set": _("Report on a task"),
    "longtask.state": _("Task changed its state"),
    "method.refused": _("Method refused"),
    "page.refused": _("Page refused"),
    "person.change": _("Change a person's account"),
    "person.let_in": _("Person let in again"),
    "person.locked_out": _("Person locked out"),
    "person.make": _("Make a person's account"),
    "person.password_changed": _("Password changed"),
    "person.role": _("Give a role"),
    "person.sign_in_refused": _("Sign-in refused"),
    "person.signed_in": _("Signed in"),
    "plan.agree_ora": _("Agree on objective, results and actions"),
    "plan.confirm": _("Confirm a plan"),
    "plan.confirmed": _("Plan confirmed"),
    "plan.edit": _("Edit a plan"),
    "plan.held": _("Plan held"),
    "plan.pause": _("Pause a plan"),
    "plan.paused": _("Plan paused"),
    "plan.request_changes": _("Ask for changes to a plan"),
    "plan.resume": _("Resume a plan"),
    "plan.resumed": _("Plan resumed"),
    "plan.retire": _("Retire a plan"),
    "plan.retired": _("Plan retired"),
    "plan.revised": _("New text of a plan"),
    "plan.run_now": _("Ask for a run"),
    "plan.schedule_failed": _("Schedule failed"),
    "plan.settings": _("Change the settings of a plan"),
    "plan.write": _("Write a plan"),
    "proposal.applied": _("Apply a proposal"),
    "proposal.created": _("Make a proposal"),
    "proposal.evaluation_completed": _("Evaluate a proposal"),
    "proposal.quarantined": _("Quarantine a proposal"),
    "proposal.rejected": _("Reject a proposal"),
    "proposal.request_revision": _("Ask for a revision"),
    "proposal.revised": _("Revise a proposal"),
    "proposal.rolled_back": _("Roll back a proposal"),
    "proposal.stale": _("Proposal became stale"),
    "run.announced": _("Run announced"),
    "run.backed_off": _("Run put off after failures"),
    "run.ended": _("Run ended"),
    "run.held": _("Run held back"),
    "run.rerun": _("Ask for a run once more"),
    "run.started": _("Run started"),
    "run.stop": _("Stop a run"),
    "run.stop_asked": _("Stop of a run asked for"),
    "runs.due": _("Runs came due"),
    "schedule.pause": _("Pause a repeating job"),
    "schedule.paused": _("Repeating job paused"),
    "schedule.pulled_in": _("Repeating job moved to an earlier time"),
    "schedule.resume": _("Resume a repeating job"),
    "schedule.run_now": _("Run a repeating job at once"),
    "setup.done": _("First account made"),
    "setup.refused": _("Setup code refused"),
    "skill.used": _("Skill used"),
    "skills.install": _("Install a skill bundle"),
    "task.queue_again": _("Queue a background task again"),
    "token.make": _("Make a token"),
    "token.revoke": _("Revoke a token"),
    "worker.died": _("Worker process ended unexpectedly"),
    "workshop.learn": _("Ask for learning"),
    "workshop.rules": _("Change the rules of a desk"),
}


def in_words(kind: str) -> str:
    """What a line's kind means; the kind itself where it is not known here."""
    noun, _dot, verb = kind.partition(".")
    if kind in WORDS:
        return str(WORDS[kind])
    if noun == "longtask" and verb in EVENTS:
        return str(EVENTS[verb][1])
    return kind
