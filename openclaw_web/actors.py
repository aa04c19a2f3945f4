"""Who stands behind a line of a ledger, in the reader's language. Imports no app, so every app may use it."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

_ACTORS: dict[str, str | Promise] = {
    "anonymous": _("nobody signed in"),
    "command line": _("command line"),
    "dashboard": pgettext_lazy("actor", "dashboard"),
    "deliveries": pgettext_lazy("actor", "delivery"),
    "heartbeat": pgettext_lazy("actor", "heartbeat"),
    "keepalive": pgettext_lazy("actor", "keep-alive"),
    "plans clock": pgettext_lazy("actor", "clock of plans"),
    "plans follower": pgettext_lazy("actor", "follower of plans"),
    "plans runner": pgettext_lazy("actor", "runner of plans"),
    "watchdog": pgettext_lazy("actor", "watchdog"),
    "workshop": pgettext_lazy("actor", "workshop"),
    "workshop doctor": pgettext_lazy("actor", "doctor of the workshop"),
    "workshop recovery": pgettext_lazy("actor", "recovery of the workshop"),
}


def actor_in_words(label: str) -> str:
    """Our own programs by their names in the reader's language; people, agents and tokens as they are called."""
    return str(_ACTORS.get(label, label))
