"""What stands against confirming a plan, each with its line; and the seal that a confirmation puts on the bytes.

Source: `spec/plans.md` §1 (confirmed, active) and §2 (last paragraph).
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.utils.translation import gettext as _

from plans.errors import PlansError
from plans.planfile import LARGEST_FILE, REQUIRED, Entry, PlanFile
from plans.planfile_write import first_instruction, plan_path
from plans.schedule import AT, Timing, TimingError
from plans.schedule_text import read_schedule, require_future

PLACEHOLDER = re.compile(
    r"\{\{\s*(TASK_UUID|Task_Name|Current_Persona|ARCHIVE_ID|O_content|R_content)\s*\}\}|\{ARCHIVE_ID\}"
)
TASK_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")
# With its Message said twice it still fits into one argument of a command line.
LONGEST_ENTRY = 56 * 1024
STATUSES = ("active",)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that blocks confirmation: `line` counts from 1 in the file, `code` is stable, `text` a sentence."""

    line: int
    code: str
    text: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Seal:
    """Digests of what a person saw. `file` is the whole file (what sha256sum prints), the rest say which part moved.

    `last` tells whether the entry ended the file: adding an entry behind it then only ends its blank lines elsewhere.
    """

    file: str
    entry: str
    body: str
    preamble: str
    last: bool


def seal_entry(file: PlanFile, entry: Entry) -> Seal:
    raw = file.bytes_of(entry)
    return Seal(
        file=file.digest,
        entry=sha256(raw).hexdigest(),
        body=sha256(raw.rstrip(b" \t\r\n")).hexdigest(),
        preamble=sha256(file.preamble).hexdigest(),
        last=entry.end == len(file.raw),
    )


def holds(confirmed: Seal, file: PlanFile, task_id: str) -> bool:
    """Whether the file still says, for this task, exactly what was confirmed.

    Another entry may have changed, come or gone; this entry and the preamble may not, by a single byte. Blank lines
    at the entry's end count too, unless it stopped or started being the last one of the file.
    """
    if file.digest == confirmed.file:
        return True
    found = file.find(task_id)
    if len(found) != 1 or len(file.entries) < 1:
        return False
    now = seal_entry(file, found[0])
    if now.preamble != confirmed.preamble:
        return False
    return now.entry == confirmed.entry or (now.body == confirmed.body and now.last != confirmed.last)


def find_problems(
    file: PlanFile, task_id: str, *, archive_id: str, now: datetime, zone: str = "UTC"
) -> list[Problem]:
    """Everything that blocks confirming the entry `task_id`, in the order of the file's lines."""
    problems = _file_problems(file)
    found = file.find(task_id)
    if not found:
        problems.append(
            Problem(1, "NO_TASK_ID", _("The file has no entry with Task_ID %(id)s.") % {"id": task_id or "?"})
        )
    if len(found) > 1:
        problems += [
            Problem(
                entry.line,
                "DUPLICATE_TASK_ID",
                _("Task_ID %(id)s stands in this file more than once.") % {"id": task_id},
            )
            for entry in found
        ]
    for entry in found[:1]:
        problems += _entry_problems(file, entry, archive_id)
        problems += _schedule_problems(entry, now=now, zone=zone)
    return sorted(problems, key=lambda problem: problem.line)


def _file_problems(file: PlanFile) -> list[Problem]:
    problems = []
    if file.bad_bytes:
        problems.append(Problem(file.bad_bytes, "NOT_UTF8", _("This line is not UTF-8 text.")))
    if b"\x00" in file.raw:
        line = file.raw.count(b"\n", 0, file.raw.index(b"\x00")) + 1
        problems.append(Problem(line, "NUL", _("This line holds a NUL character.")))
    if len(file.raw) > LARGEST_FILE:
        problems.append(Problem(1, "PLAN_TOO_LARGE", _("The file is larger than 256 KiB.")))
    return problems


def _entry_problems(file: PlanFile, entry: Entry, archive_id: str) -> list[Problem]:
    problems = []
    if not TASK_ID.match(entry.task_id):
        text = _("The Task_ID may have letters, digits, dot, dash and underscore, at most 80.")
        problems.append(Problem(entry.line, "BAD_TASK_ID", text))
    if entry.end - entry.start > LONGEST_ENTRY:
        problems.append(Problem(entry.line, "ENTRY_TOO_LONG", _("One entry may have 56 KiB at most.")))
    for name in REQUIRED:
        if name != "Task_ID" and not _filled(entry, name):
            problems.append(
                Problem(entry.line_of(name), "MISSING_FIELD", _("%(field)s is missing.") % {"field": name})
            )
    for field in entry.repeated:
        text = _("%(field)s is given a second time.") % {"field": field.name}
        problems.append(Problem(field.line, "REPEATED_FIELD", text))
    restated = entry.fields.get("Task_ID")
    if restated and restated.value.strip("`") != entry.task_id:
        text = _("This Task_ID differs from the one in the heading, %(id)s.") % {"id": entry.task_id}
        problems.append(Problem(restated.line, "CONTRADICTING_TASK_ID", text))
    problems += (
        _path_problems(entry, archive_id) + _status_problems(entry) + _step_problems(entry, archive_id)
    )
    for number, line in enumerate(file.text_of(entry).split("\n"), entry.line):
        if match := PLACEHOLDER.search(line):
            text = _("%(mark)s is still the template's, not filled in.") % {"mark": match[0]}
            problems.append(Problem(number, "PLACEHOLDER", text))
    return problems


def _filled(entry: Entry, name: str) -> bool:
    return bool(entry.steps) if name == "Action_Steps" else bool(entry.value(name).strip())


def _path_problems(entry: Entry, archive_id: str) -> list[Problem]:
    value = entry.value("Archive_Path").strip().strip("`").strip()
    if not value or value == plan_path(archive_id):
        return []
    text = _("Archive_Path names %(path)s; this file is %(right)s.") % {
        "path": value[:200],
        "right": plan_path(archive_id),
    }
    return [Problem(entry.line_of("Archive_Path"), "WRONG_ARCHIVE", text)]


def _status_problems(entry: Entry) -> list[Problem]:
    value = entry.value("Status").strip().lower()
    if not value or value in STATUSES:
        return []
    text = _("Status says “%(status)s”; only an Active plan is scheduled.") % {
        "status": entry.value("Status")[:60]
    }
    return [Problem(entry.line_of("Status"), "NOT_ACTIVE", text)]


def _step_problems(entry: Entry, archive_id: str) -> list[Problem]:
    if not entry.steps:
        return []
    first = entry.steps[0]
    if _instruction(first.text) == _squeezed(first_instruction(archive_id, entry.task_id)):
        return []
    text = _("The first step must be the instruction to read this file: %(instruction)s") % {
        "instruction": first_instruction(archive_id, entry.task_id)
    }
    return [Problem(first.line, "WRONG_FIRST_STEP", text)]


def _instruction(text: str) -> str:
    """A first step without its label, dress and full stop."""
    plain = re.sub(r"[`*]|__", "", text)
    plain = re.sub(r"^\s*[\[【]\s*读取本文件指令\s*[\]】]\s*[:：]?", "", plain)
    return _squeezed(plain).rstrip("。.")


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text).replace("：", ":")


def _schedule_problems(entry: Entry, *, now: datetime, zone: str) -> list[Problem]:
    line = entry.line_of("Schedule")
    if not entry.value("Schedule").strip():
        text = _("No Schedule yet: say when this runs, e.g. “cron 0 9 * * MON-FRI (Asia/Shanghai)”.")
        return [Problem(line, "NO_SCHEDULE", text)]
    try:
        require_future(entry_timing(entry, now=now, zone=zone), now=now)
    except PlansError as error:
        return [Problem(line, error.code, str(error))]
    return []


def entry_timing(entry: Entry, *, now: datetime, zone: str = "UTC") -> Timing:
    """The Timing that the entry's field Schedule spells; raises TimingError.

    “in 20m” means another instant each time it is read, so a file may not say it.
    """
    timing = read_schedule(entry.value("Schedule"), now=now, zone=zone)
    if (
        timing.kind == AT
        and read_schedule(entry.value("Schedule"), now=now + timedelta(days=1), zone=zone) != timing
    ):
        message = _("The schedule “%(text)s” moves with the clock: write the instant itself.")
        raise TimingError(message % {"text": entry.value("Schedule")[:60]}, code="RELATIVE_INSTANT")
    return timing
