"""Refusals in words. Every code of this app that a person or program can meet is turned into its sentence here."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gateway.errors import UNAVAILABLE
from openclaw_web.credentials import masked
from workshop.config import MAX_DESCRIPTION_BYTES
from workshop.errors import FileProblem, WorkshopError
from workshop.models import Proposal
from workshop.supportpaths import MAX_FILES, MAX_TOTAL_BYTES, ROOTS, Refusal

REVISION_CHANGED = "SKILL_PROPOSAL_REVISION_CHANGED"


def refuse(code: str, message: str, **details: Any) -> WorkshopError:
    """A refusal that goes over the wire without details, as the contract's do."""
    return WorkshopError(message, code=code, details=details or None)


def support_refusal(refusal: Refusal) -> str:
    """One sentence about one support file (or the set of them), saying what to do."""
    facts = {
        "path": refusal.path,
        "size": refusal.size,
        "limit": refusal.limit,
        "other": refusal.other,
        "roots": ", ".join(ROOTS),
        "files": MAX_FILES,
        "total": MAX_TOTAL_BYTES,
    }
    text = {
        "path-blank": _("A file has no path. Give it one such as references/notes.md."),
        "path-backslash": _("“%(path)s” has a backslash. Use / between folders."),
        "path-absolute": _("“%(path)s” is an absolute path. Start with one of %(roots)s."),
        "path-segment": _(
            "“%(path)s” has an empty, hidden or dot part. Use plain names; a trailing / does not work either."
        ),
        "path-root": _("“%(path)s” must lie in one of %(roots)s."),
        "path-duplicate": _("“%(path)s” is there twice. Keep one of them."),
        "path-overlap": _("“%(other)s” is a file and also a folder of “%(path)s”. Rename one of them."),
        "path-nul": _("The path “%(path)s” holds a NUL character, which no file system takes."),
        "path-too-long": _("A name in “%(path)s” is longer than %(limit)s bytes. Shorten it."),
        "file-too-large": _("“%(path)s” has %(size)s bytes; %(limit)s are allowed. Split or shorten it."),
        "file-nul": _("“%(path)s” holds a NUL character. Only text files are kept."),
        "files-too-large": _(
            "All files together have %(size)s bytes or more; %(limit)s are allowed. Leave some of them out."
        ),
        "too-many-files": _("%(size)s files; %(limit)s are allowed. Leave some of them out."),
    }[refusal.code]
    return masked(text % facts)


def support_error(refusals: list[Refusal]) -> WorkshopError:
    """The first refusal decides the sentence; `details.files` has one message a file for the form."""
    messages = [{"path": r.path, "code": r.code, "message": support_refusal(r)} for r in refusals]
    error = refuse(refusals[0].code, messages[0]["message"])
    error.problems = messages
    return error


def file_problem(problem: FileProblem, *, what: str) -> WorkshopError:
    """A problem with a stored (`what="stored"`) or live (`what="live"`) file."""
    facts = {"path": problem.path, **problem.facts}
    facts.setdefault("resolved", "?")
    facts.setdefault("reason", "")
    stored = {
        "missing": _("The draft is gone from the disk (%(path)s). Only rejecting still works."),
        "changed": _(
            "“%(path)s” on the disk is not what was recorded. Reject the proposal or make a new one."
        ),
    }
    live = {
        "missing": _("“%(path)s” is gone."),
        "changed": _("“%(path)s” changed."),
    }
    text = {
        "symlink": _("“%(path)s” crosses a symbolic link, which is never followed here."),
        "hardlink": _("“%(path)s” has more than one hard link, so somebody else could change it."),
        "not-regular": _("“%(path)s” is not a regular file."),
        "outside": _("“%(path)s” resolves to %(resolved)s, outside the agent's Workshop folder."),
        "too-large": _("“%(path)s” is larger than it can be."),
        "name-too-long": _(
            "A name in “%(path)s” is longer than the file system allows. Choose a shorter one."
        ),
        "io": _("“%(path)s” cannot be read or written: %(reason)s."),
        **(stored if what == "stored" else live),
    }[problem.code]
    return refuse(f"{what}-{problem.code}", text % facts)


def description_too_long(size: int) -> WorkshopError:
    return refuse(
        "description-too-long",
        _(
            "The description has %(size)s bytes; %(limit)s are allowed. Shorten it (a Chinese character counts 3)."
        )
        % {"size": size, "limit": MAX_DESCRIPTION_BYTES},
    )


def content_too_long(size: int, limit: int) -> WorkshopError:
    return refuse(
        "content-too-long",
        _(
            "The text has %(size)s bytes; %(limit)s are allowed (maxSkillBytes). Move parts into support files."
        )
        % {"size": size, "limit": limit},
    )


def autonomous_too_long(size: int, limit: int) -> WorkshopError:
    return refuse(
        "autonomous-too-long",
        _("An agent's own text has %(limit)s characters at most; this one has %(size)s. Shorten it.")
        % {"size": size, "limit": limit},
    )


def literal_secret(place: str) -> WorkshopError:
    """`place`: a file's path, or a name of `drafts.check_secrets` and `check_words`; `facts` hold it."""
    named = {
        "support-file-path": _("the path of a file"),
        "skill-name": _("the name"),
        "description": _("the description"),
        "skill-description": _("the description in the block of keys"),
        "goal": _("the goal"),
        "evidence": _("the evidence"),
        "reason": _("the reason"),
        "instructions": _("the request"),
        "remark": _("the remark"),
        "correlation_id": "correlationId",
        "session_key": "sessionKey",
    }
    error = refuse(
        "literal-secret",
        _("A credential is written out in %(place)s. Take it out and name a variable instead.")
        % {"place": named.get(place, place)},
    )
    error.facts = {"place": place}
    return error


def over_max_pending(pending: int, quarantined: int, limit: int, agent_id: str) -> WorkshopError:
    waiting = ngettext("%(count)s pending", "%(count)s pending", pending) % {"count": pending}
    locked = ngettext("%(count)s in quarantine", "%(count)s in quarantine", quarantined) % {
        "count": quarantined
    }
    error = refuse(
        "max-pending",
        _(
            "Agent %(agent)s has %(waiting)s and %(locked)s; %(limit)s are allowed together. Decide some of them."
        )
        % {"agent": agent_id, "waiting": waiting, "locked": locked, "limit": limit},
    )
    error.facts = {"pending": pending, "quarantined": quarantined, "limit": limit}
    return error


def not_pending(proposal: Proposal, action: str) -> WorkshopError:
    return refuse(
        "not-pending",
        _("%(action)s needs a pending proposal; this one is %(status)s.")
        % {"action": action, "status": proposal.get_status_display()},
    )


def revision_changed(expected: str, current: str) -> WorkshopError:
    return WorkshopError(
        _("The proposal was changed since you read it. Look at the new revision and decide again."),
        code=REVISION_CHANGED,
        details={"code": REVISION_CHANGED, "expectedRevisionHash": expected, "currentRevisionHash": current},
    )


def overtaken(proposal: Proposal) -> WorkshopError:
    return WorkshopError(
        _("Somebody else was first: the proposal is %(status)s now. Look at it again.")
        % {"status": proposal.get_status_display()},
        code="conflict",
        retryable=True,
    )


def target_exists(path: str) -> WorkshopError:
    return refuse(
        "target-exists",
        _("A skill exists already at %(path)s. Propose an update of it instead.") % {"path": path},
    )


def became_stale(path: str) -> WorkshopError:
    return refuse(
        "stale",
        _("%(path)s is not what it was when this was proposed; the proposal is stale now. Propose it anew.")
        % {"path": path},
    )


def target_missing(path: str) -> WorkshopError:
    return refuse("target-missing", _("%(path)s is gone, so there is nothing to update.") % {"path": path})


def recovery_needed(path: str) -> WorkshopError:
    return refuse(
        "recovery-unfinished",
        _(
            "An earlier apply was cut off and the files at %(path)s are now neither the old nor the new ones. "
            "Decide first whether to keep what stands there or to restore the earlier skill."
        )
        % {"path": path},
    )


def needs_doctor(path: str) -> WorkshopError:
    return refuse(
        "needs-doctor",
        _("This skill still lies at %(path)s, from an older version. Run manage.py doctor --fix first.")
        % {"path": path},
    )


def busy() -> WorkshopError:
    return WorkshopError(
        _("Somebody else is changing this skill right now. Try again in a moment."),
        code="busy",
        rpc_code=UNAVAILABLE,
        retryable=True,
    )


def not_found() -> WorkshopError:
    return refuse("not-found", _("This agent has no such proposal."))


def no_skill(name: str) -> WorkshopError:
    return refuse(
        "no-skill",
        _("No live Workshop skill of this agent is called “%(name)s”, or more than one is.") % {"name": name},
    )


def draft_problem(code: str) -> WorkshopError:
    why = {
        "no-frontmatter": _("it has no block of keys at its start"),
        "invalid-yaml": _("its block of keys is not valid YAML"),
        "no-name": _("it has no name"),
        "no-description": _("it has no description"),
        "no-status": _("it is not marked “status: proposal”"),
    }[code]
    return refuse(f"draft-{code}", _("The draft cannot be applied: %(why)s. Revise it first.") % {"why": why})
