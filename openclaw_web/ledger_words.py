"""The names of the ledgers' lines in the reader's language."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from longrun.words import EVENTS
from workshop.models import Event

_ARCHIVED, _COPIED = _("File archived"), _("File copied to its right place")
_AGENT_MADE, _AGENT_CHANGED, _AGENT_REMOVED = _("Agent made"), _("Agent changed"), _("Agent removed")
_CONFIRMED, _PAUSED, _RESUMED = _("Plan confirmed"), _("Plan paused"), _("Plan resumed")
_WRITTEN, _RETIRED = _("Plan written"), _("Plan retired")
_JOB_PAUSED = _("Repeating job paused")

WORDS: dict[str, str | Promise] = {
    "agent.make": _AGENT_MADE,
    "agent.made": _AGENT_MADE,
    "agent.change": _AGENT_CHANGED,
    "agent.changed": _AGENT_CHANGED,
    "agent.remove": _AGENT_REMOVED,
    "agent.removed": _AGENT_REMOVED,
    "archive.write": _ARCHIVED,
    "archive.written": _ARCHIVED,
    "archive.copy": _COPIED,
    "archive.copied": _COPIED,
    "archive.seen": _("New files seen on the disk"),
    "cluster.restarted": _("Cluster restarted"),
    "delivery.generated": _("Message generated"),
    "delivery.attempted": _("Message tried, outcome unknown"),
    "delivery.received": _("Message received"),
    "delivery.failed": _("Message not received"),
    "intake.started": _("Wish written down"),
    "longtask.set": _("Task reported"),
    "longtask.clear": _("Task cleared"),
    "longtask.cleanup": _("Old tasks cleaned up"),
    "longtask.state": _("Task changed its state"),
    "method.refused": _("Method refused"),
    "page.refused": _("Page refused"),
    "person.let_in": _("Person let in again"),
    "person.locked_out": _("Person locked out"),
    "person.password_changed": _("Password changed"),
    "person.role": _("Role given"),
    "person.signed_in": _("Signed in"),
    "person.sign_in_refused": _("Sign-in refused"),
    "plan.agree_ora": _("Objective, results and actions agreed"),
    "plan.confirm": _CONFIRMED,
    "plan.confirmed": _CONFIRMED,
    "plan.edit": _("Plan edited"),
    "plan.held": _("Plan held"),
    "plan.pause": _PAUSED,
    "plan.paused": _PAUSED,
    "plan.request_changes": _("Changes to a plan asked for"),
    "plan.resume": _RESUMED,
    "plan.resumed": _RESUMED,
    "plan.retire": _RETIRED,
    "plan.retired": _RETIRED,
    "plan.revised": _("New text of a plan"),
    "plan.run_now": _("Run asked for"),
    "plan.schedule_failed": _("Schedule failed"),
    "plan.settings": _("Settings of a plan changed"),
    "plan.write": _WRITTEN,
    "proposal.request_revision": _("Revision asked for"),
    "run.announced": _("Run announced"),
    "run.backed_off": _("Run put off after failures"),
    "run.ended": _("Run ended"),
    "run.held": _("Run held back"),
    "run.rerun": _("Run asked for once more"),
    "run.started": _("Run started"),
    "run.stop": _("Run stopped"),
    "run.stop_asked": _("Stop of a run asked for"),
    "schedule.pause": _JOB_PAUSED,
    "schedule.paused": _JOB_PAUSED,
    "schedule.pulled_in": _("Repeating job moved to an earlier time"),
    "schedule.resume": _("Repeating job resumed"),
    "schedule.run_now": _("Repeating job run at once"),
    "setup.done": _("First account made"),
    "setup.refused": _("Setup code refused"),
    "skill.used": _("Skill used"),
    "skills.install": _("Skill bundle installed"),
    "task.queue_again": _("Background task queued again"),
    "token.make": _("Token made"),
    "token.revoke": _("Token revoked"),
    "workshop.learn": _("Learning asked for"),
    "workshop.rules": _("Rules of a desk changed"),
}


def in_words(kind: str) -> str:
    """What a line's kind means; the kind itself where it is not known here."""
    noun, _dot, verb = kind.partition(".")
    if kind in WORDS:
        return str(WORDS[kind])
    if noun == "longtask" and verb in EVENTS:
        return str(EVENTS[verb][1])
    if noun == "proposal" and verb in Event.Type.values:
        return str(_("Proposal %(happened)s")) % {"happened": Event.Type(verb).label}
    return kind
