"""Words and colours of a task's timeline and states, for pages."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from gateway.sentences import DELIVERY

STATE_TONES = {
    "analyzing": "info",
    "executing": "run",
    "waiting": "wait",
    "blocked": "bad",
    "handoff": "info",
    "done": "ok",
}
FINDING_TONES = {"lost": "bad", "stuck": "bad", "overdue": "warn", "checkpoint_due": "warn"}

# kind of event → (icon, what happened)
EVENTS: dict[str, tuple[str, str | Promise]] = {
    "state": ("arrow-right-left", _("State")),
    "report": ("pencil", _("Reported")),
    "reply": ("message-square", _("Replied in view of the person")),
    "step": ("check", _("Step done")),
    "bound": ("link", _("Start validated")),
    "unbound": ("unlink", _("Start not valid")),
    "tool_failed": ("triangle-alert", _("A tool failed")),
    "quiet": ("hourglass", _("A quiet tool call began")),
    "foreign_sign": ("user-x", _("A sign from another session, not counted")),
    "progress": ("message-square-check", _("Progress received")),
    "progress_lost": ("message-square-x", _("Progress not received")),
    "heartbeat_lost": ("heart-off", _("A due heartbeat was not delivered")),
    "resume_made": ("play", _("Resume generated")),
    "resumed": ("play", _("Resume received")),
    "finding": ("search", _("The watchdog found it")),
    "sign_seen": ("eye", _("A fresh sign; looking a second time")),
    "recovered": ("heart-pulse", _("Recovered")),
    "recovery_sent": ("send", _("Recovery message received")),
    "recovery_tried": ("send", _("Recovery message tried, not received")),
    "imported": ("import", _("Imported from an old state file")),
}
PURPOSES: dict[str, str | Promise] = {
    "progress": _("Short progress"),
    "resume": pgettext_lazy("task", "Resume"),
    "recovery": _("Recovery message"),
    "handoff": _("Handoff"),
    "notice": _("Notice of a person's change"),
}
# Why a heartbeat was not delivered, where no sender said anything.
UNSAID: dict[str, str | Promise] = {
    "unknown": _("tried; whether it arrived is not known"),
    "no transport": _("no way to send it was open"),
}
BLOCKED_BY: dict[str, str | Promise] = {
    "reported": _("reported"),
    "tool_failures": _("3 tool failures in a row"),
    "no_advance": _("no advance within the limit"),
    "undelivered": _("3 heartbeats in a row not delivered"),
    "need": _("something only a person can give"),
}


def undelivered_reason(error: str) -> str:
    """Why a progress was not delivered, in the reader's language as far as the words are ours."""
    return str(UNSAID[error]) if error in UNSAID else DELIVERY.tell(error) or error
