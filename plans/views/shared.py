"""What the views of plans share: finding things, who may act, a text as a page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.store import IDENTITY_FILES, list_files
from gateway.callers import WRITE, caller_of
from openclaw_web.diffview import FileDiff, file_diff
from plans.errors import PlansError
from plans.models import Confirmation, Plan, Revision
from plans.planfile import Entry, PlanFile, read_plan_file
from plans.planfile_check import Problem, entry_timing, holds
from plans.queries import baseline_of
from plans.schedule import Timing
from plans.sentences import tell
from plans.services.revisions import default_zone, look_at_disk, problems_of, workspace_root
from plans.wishes import HTML_LANGUAGE, detect_language


@dataclass(frozen=True)
class Reading:
    """One text of a plan, read: its entry (None where there is not exactly one), timing and problems."""

    file: PlanFile
    entry: Entry | None
    timing: Timing | None
    problems: list[Problem]

    def context(self) -> dict[str, object]:
        """What the templates of a plan's text want."""
        entry = self.entry
        words = f"{entry.name} {entry.value('Objective')}" if entry else ""
        return {
            "entry": entry,
            "timing": self.timing,
            "entry_schedule": entry.value("Schedule") if entry else "",
            "problems": self.problems,
            "passes": [] if entry is None else passed_checks(self.problems),
            "language": HTML_LANGUAGE[detect_language(words)],
        }


def find_plan(uid: UUID) -> Plan:
    """The plan with its current text, or 404."""
    return get_object_or_404(Plan.objects.select_related("current"), uid=uid)


def find_revision(plan: Plan, number: int) -> Revision:
    """One text of that plan with its confirmation, or 404."""
    found = plan.revisions.select_related("confirmation__person").filter(number=number).first()
    if found is None:
        raise Http404(_("This plan has no revision %(number)d.") % {"number": number})
    found.plan = plan
    return found


def may_act(request: HttpRequest) -> bool:
    """Whether this reader is shown actions at all; the services decide again."""
    return caller_of(request).may(WRITE)


def read_text(plan: Plan, raw: bytes, *, now: datetime | None = None) -> Reading:
    """Everything a page says about the bytes of a PLAN.md for this plan."""
    now = now or timezone.now()
    file = read_plan_file(raw)
    found = file.find(plan.task_id)
    entry = found[0] if len(found) == 1 else None
    timing = None
    if entry is not None:
        try:
            timing = entry_timing(entry, now=now, zone=default_zone(plan.agent_id)).anchored(now)
        except PlansError:
            timing = None  # the problems below say why
    return Reading(file, entry, timing, problems_of(plan, file, now=now))


def passed_checks(problems: list[Problem]) -> list[str]:
    """The checks that pass, in words: what is not among the problems."""
    codes = {problem.code for problem in problems}
    checks = (
        (_("Every required field is filled in"), {"MISSING_FIELD", "PLACEHOLDER"}),
        (
            _("No field or Task_ID stands twice"),
            {"REPEATED_FIELD", "DUPLICATE_TASK_ID", "CONTRADICTING_TASK_ID"},
        ),
        (_("The first step is the instruction to read this file"), {"WRONG_FIRST_STEP", "MISSING_FIELD"}),
        (_("Archive_Path is this file"), {"WRONG_ARCHIVE", "MISSING_FIELD"}),
        (_("Status is Active"), {"NOT_ACTIVE", "MISSING_FIELD"}),
    )
    return [words for words, against in checks if not codes & against]


def revision_text(revision: Revision) -> str:
    """The whole file of a revision as text; what is no UTF-8 shows as U+FFFD."""
    return revision.raw.decode("utf-8", "replace")


def revision_diff(plan: Plan, old: Revision, new: Revision, *, split: bool = False) -> FileDiff:
    """The difference of two texts of a plan, ready for `plans/_diff.html`."""
    return file_diff(plan.path, revision_text(old), revision_text(new), split=split)


def disk_note(plan: Plan) -> str:
    """What the disk says against the text a page shows; empty where it is the same. Writes nothing."""
    if plan.current is None or plan.state == Plan.State.RETIRED:
        return ""
    seen = look_at_disk(plan)
    if seen.file is None:
        return tell(seen.error)
    if not holds(plan.current.seal, seen.file, plan.task_id):
        return _("PLAN.md on the disk is newer than the revision shown here.")
    return ""


def base_of(plan: Plan) -> tuple[Revision | None, Confirmation | None]:
    """What the current text is compared with, and who confirmed that one, if anybody."""
    base = baseline_of(plan)
    return base, getattr(base, "confirmation", None)


def stands_again(plan: Plan, base: Revision | None, confirmed: Confirmation | None) -> bool:
    """Held, and by now the file is byte for byte the text that was confirmed."""
    held = plan.state == Plan.State.HELD and plan.current is not None and confirmed is not None
    return bool(held and base and plan.current and base.file_digest == plan.current.file_digest)


def identity_warnings(plan: Plan) -> list[str]:
    """SOUL.md or IDENTITY.md that changed after the plan's text was written, or cannot be read: the plan claims both."""
    try:
        files = {file.name: file for file in list_files(workspace_root(plan.agent_id))}
    except PlansError as error:
        return [error.message]
    found = []
    for name in IDENTITY_FILES:
        file = files.get(name)
        if file is None or file.status == "missing":
            found.append(_("%(file)s is not there: the agent has nothing to align with") % {"file": name})
        elif file.status != "found":
            found.append(_("%(file)s cannot be read") % {"file": name})
        elif file.changed_at and plan.current and file.changed_at > plan.current.created_at:
            found.append(_("%(file)s changed after this text was written") % {"file": name})
    return found
