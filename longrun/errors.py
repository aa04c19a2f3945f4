"""What this app refuses, in sentences for people."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gateway.errors import AppError
from longrun.durations import DurationError
from longrun.machine import RuleError

_SENTENCES = {
    "transition": gettext_lazy("A task that is {was} cannot become {wanted}."),
    "session_key_missing": gettext_lazy(
        "Not bound yet: a running or waiting task needs the real session key (--origin-session-key). "
        "There is no default one, and nothing was stored."
    ),
    "session_key_form": gettext_lazy(
        "This is not a session key. A real one looks like agent:main:main; a label or a placeholder is none."
    ),
    "waiting_any": gettext_lazy(
        "Waiting needs a time to look again (--next-check), or the name of what is awaited outside "
        "(--waiting-for)."
    ),
    "waiting_checkpoint": gettext_lazy("Work in the background needs its checkpoint (--next-check)."),
    "waiting_external": gettext_lazy("Say what is awaited outside (--waiting-for)."),
    "blocked_answers": gettext_lazy(
        "Blocked needs three answers: where it is stuck (--stuck-at), what is missing (--missing) and the "
        "suggested next step (--suggestion)."
    ),
    "handoff_boundary": gettext_lazy("Name the boundary that the task is handed off to (--boundary)."),
    "handoff_target": gettext_lazy(
        "This boundary has no session. Boundaries and their sessions are set up in the admin."
    ),
    "done_why": gettext_lazy("This task is {was}: say how it came to be done (--why)."),
}
_SPANS = {
    "unreadable": gettext_lazy(
        "“{text}” cannot be read as a time. Examples: 10m, 2h30m, 明天9点, 2026-12-01T09:00."
    ),
    "too_short": gettext_lazy("“{text}” is too short."),
    "too_long": gettext_lazy("“{text}” is too long."),
    "past": gettext_lazy("“{text}” lies in the past."),
}


class LongRunError(AppError):
    """An expected refusal of this app; `details.code` is its code, `details.field` the argument to mend."""

    def __init__(self, message: str, *, code: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message, code=code, details={"code": code, **(details or {})})


def rule_refused(refused: RuleError, *, was: str, wanted: str) -> LongRunError:
    """The sentence for a rule of `machine` that a change breaks."""
    text = str(_SENTENCES[refused.code]).format(was=was or _("not registered"), wanted=wanted)
    return LongRunError(text, code=refused.code.upper(), details={"field": refused.field})


def span_refused(refused: DurationError, field: str) -> LongRunError:
    """The sentence for a span or moment that cannot be used."""
    text = str(_SPANS[refused.code]).format(text=refused.text)
    return LongRunError(text, code="BAD_TIME", details={"field": field})


def unknown_task(name: str) -> LongRunError:
    return LongRunError(
        _("There is no long task “%(name)s”.") % {"name": name},
        code="TASK_UNKNOWN",
        details={"task": name},
    )
