"""Sentences that are stored with a plan or a run, and told again in the language of whoever reads them.

How that goes is in `gateway.sentences`; what no pattern fits (a person's own words) is told as it stands.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from gateway.sentences import Stored

SENTENCES = (
    gettext_noop("The plan's text is not the confirmed one any more."),
    gettext_noop("PLAN.md is not the text that was confirmed; nothing was executed."),
    gettext_noop("PLAN.md changed after it was confirmed."),
    gettext_noop("%(path)s is gone."),
    gettext_noop("The plan is held until a person has looked at it."),
    gettext_noop("Stopped by %(who)s before it started."),
    gettext_noop("Stopped by %(who)s."),
    gettext_noop("%(why)s Next try in %(seconds)d s."),
    gettext_noop("Its worker was taken for lost and ended later, with: %(outcome)s."),
    gettext_noop(
        "The worker was cut off while this run was going; what the agent had done until then stays done."
    ),
    gettext_noop("The worker was cut off; the plan allows another try."),
    gettext_noop("The next due time cannot be computed: %(why)s"),
    gettext_noop("The clock was off at this time and at over %(count)d others before it."),
    gettext_noop("The clock was off at this time."),
    gettext_noop("The run before it was still going."),
    gettext_noop("The plan was retired before this run started."),
    gettext_noop("Paused itself after %(count)d failed runs in a row."),
    # of the runner (gateway.runners) and of archives' safe opening, whose catalogues translate them
    gettext_noop("The time limit of %(seconds)d s was reached. What the agent had begun may still go on."),
    gettext_noop("No runner is configured, so no agent was started. %(lacking)s"),
    gettext_noop("The program “%(program)s” was not found: set OPENCLAW_BIN or RUNNER_COMMAND."),
    gettext_noop("The program “%(program)s” could not be started: %(why)s."),
    gettext_noop("The agent did not start: %(why)s"),
    gettext_noop("The program ended with %(what)s. %(why)s"),
    gettext_noop("The program ended with %(what)s."),
    gettext_noop("“%(path)s” is %(kind)s; only regular files are read."),
    gettext_noop("“%(path)s” is a symlink or no folder; archives are never reached through links."),
    gettext_noop("No workspace is known for agent “%(agent)s”."),
)
_STORED = Stored(SENTENCES, again=("why", "lacking"))
kept = _STORED.kept


def tell(stored: str) -> str:
    """A stored sentence in the active language; a sentence inside it (`why`) is told too."""
    told = _STORED.tell(stored)
    if told is not None:
        return told
    prefix, colon, rest = stored.partition(": ")
    if colon and re.fullmatch(r"[a-z]{3,12}", prefix):
        return f"{prefix}: {tell(rest)}"  # “command: The program …”, the name of a runner before its sentence
    return _(stored) if stored and "\n" not in stored and len(stored) < 200 else stored
