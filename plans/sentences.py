"""Sentences that are stored with a plan or a run, and told again in the language of whoever reads them.

A worker has no reader, and a person who pauses a plan in Chinese is read by others in English. So what is stored is
the English sentence, whole and readable in the admin and over the wire; `tell` recognises it by its pattern and says
it in the active language. What no pattern fits (a person's own words) is told as it stands.
"""

from __future__ import annotations

import re
from functools import lru_cache

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

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
TOLD_AGAIN = ("why", "lacking")
MARK = re.compile(r"%\((\w+)\)([sd])")


def kept(sentence: str, **values: object) -> str:
    """The English sentence to store. It must be one of SENTENCES, or readers get it in English only."""
    if sentence not in SENTENCES:
        raise ValueError(f"not among the sentences that can be told again: {sentence}")
    return sentence % values if values else sentence


def tell(stored: str) -> str:
    """A stored sentence in the active language; a sentence inside it (`why`) is told too."""
    for sentence, pattern in _patterns():
        match = pattern.fullmatch(stored)
        if match:
            values: dict[str, object] = {}
            for name, kind in MARK.findall(sentence):
                value = match[name]
                values[name] = int(value) if kind == "d" else tell(value) if name in TOLD_AGAIN else value
            return _(sentence) % values if values else _(sentence)
    prefix, colon, rest = stored.partition(": ")
    if colon and re.fullmatch(r"[a-z]{3,12}", prefix):
        return f"{prefix}: {tell(rest)}"  # “command: The program …”, the name of a runner before its sentence
    return _(stored) if stored and "\n" not in stored and len(stored) < 200 else stored


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    found = []
    for sentence in SENTENCES:
        parts = MARK.split(sentence)
        regex = re.escape(parts[0])
        for name, kind, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            regex += rf"(?P<{name}>{'-?[0-9]+' if kind == 'd' else '.*?'})" + re.escape(after)
        found.append((sentence, re.compile(regex, re.DOTALL)))
    return found
