"""Writing `PLAN.md`: canonical text for one entry, put into the file without touching any other byte.

Source: the template of `seeds/schedule-plan.txt` and `spec/plans.md` §2, §3. The literals are the protocol's own and
are not translated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from plans.errors import PlansError
from plans.planfile import CANONICAL, LARGEST_FILE, Entry, PlanFile, read_plan_file

INSTRUCTION = "从路径 archives/{archive_id}/PLAN.md 中读取 Task_ID: {task_id} 的详细计划并按步骤执行"
READ_LABEL = "**[读取本文件指令]**："
CHECK_STEP = "**[上下文校验]**：确认当前上下文已对齐 `SOUL.md` 与 `IDENTITY.md`。"
ACT_LABEL = "**[执行动作]**："
ARCHIVE_STEP = "**[归档校验]**：验证输出物已存入 `archives/{archive_id}/{{TIMESTAMP}}/` 目录。"


@dataclass(frozen=True, slots=True)
class Draft:
    """What a canonical entry is made of; `actions` are the steps between the context check and the archive check."""

    task_id: str
    name: str
    archive_id: str
    persona: str
    objective: str
    result: str
    actions: tuple[str, ...]
    schedule: str = ""
    message: str = ""
    status: str = "Active"
    extras: tuple[tuple[str, str], ...] = ()


def first_instruction(archive_id: str, task_id: str) -> str:
    """The forced first instruction of a task message, character by character."""
    return INSTRUCTION.format(archive_id=archive_id, task_id=task_id)


def task_message(archive_id: str, task_id: str, more: str = "") -> str:
    """The message of a scheduled turn: the forced instruction, then further lines where there are any."""
    first = first_instruction(archive_id, task_id)
    more = more.strip("\r\n")
    return f"{first}\n{more}" if more.strip() else first


def plan_path(archive_id: str) -> str:
    return f"archives/{archive_id}/PLAN.md"


def render_entry(draft: Draft) -> str:
    """The canonical text of one entry, ending in a line feed."""
    lines = [
        f"### [Task_ID: {draft.task_id}] {_one_line(draft.name)}".rstrip(),
        "",
        f"- **Role_Context**: {_one_line(draft.persona)} (Aligned with SOUL.md & IDENTITY.md)",
        f"- **Archive_Path**: {plan_path(draft.archive_id)}",
        f"- **Status**: {_one_line(draft.status)}",
    ]
    if draft.schedule:
        lines.append(f"- **Schedule**: {_one_line(draft.schedule)}")
    if draft.message:
        lines.append(f"- **Message**: {_continued(draft.message)}")
    lines += [f"- **{name}**: {_continued(value)}" for name, value in draft.extras]
    lines += [
        "",
        "#### ORA Detail",
        "",
        f"- **Objective**: {_continued(draft.objective)}",
        f"- **Result**: {_continued(draft.result)}",
        "- **Action_Steps**:",
    ]
    lines += [f"  {number}. {step}" for number, step in enumerate(_steps(draft), 1)]
    return "\n".join(lines) + "\n"


def _steps(draft: Draft) -> list[str]:
    path = plan_path(draft.archive_id)
    return [
        f"{READ_LABEL}从路径 `{path}` 中读取 `Task_ID: {draft.task_id}` 的详细计划并按步骤执行。",
        CHECK_STEP,
        *(f"{ACT_LABEL}{_continued(action, indent='     ')}" for action in draft.actions),
        ARCHIVE_STEP.format(archive_id=draft.archive_id),
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _continued(text: str, *, indent: str = "  ") -> str:
    """Free text inside a field: its further lines are indented, and none can be read as a field, step or heading."""
    lines = [line.strip() for line in text.replace("\r", "").split("\n") if line.strip()]
    return f"\n{indent}".join([lines[0], *(_inert(line) for line in lines[1:])]) if lines else ""


def _inert(line: str) -> str:
    """A continuation line behind a mark that the reader takes for neither field, step, heading nor fence."""
    looks_structural = re.match(r"^([#`~\[【*_•●▪◦‣·+\-–—]|\d+\s*[.．)）、:：]|[^:：]{1,40}[:：])", line)
    return f"> {line}" if looks_structural else line


def put_entry(raw: bytes, task_id: str, text: str) -> bytes:
    """The file with the entry of that id replaced by `text`, or appended when it has none.

    Every byte of the other entries and of the preamble stays. Raises PlansError when the id stands there twice, when
    `text` is not exactly one entry of that id, or when the file would grow past 256 KiB.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    require_one_entry(text, task_id)
    file = read_plan_file(raw)
    found = file.find(task_id)
    if len(found) > 1:
        message = _("The file holds Task_ID %(id)s %(count)d times; only a hand can say which is meant.")
        raise PlansError(message % {"id": task_id, "count": len(found)}, code="DUPLICATE_TASK_ID")
    result = _replaced(file, found[0], text) if found else _appended(file, text)
    if len(result) > LARGEST_FILE:
        raise PlansError(_("The plan file would be larger than 256 KiB."), code="PLAN_TOO_LARGE")
    return result


def require_one_entry(text: str, task_id: str) -> Entry:
    """The single entry in `text`; an edit may change everything about it but its id."""
    entries = read_plan_file(text.encode("utf-8", "surrogatepass")).entries
    if len(entries) != 1 or entries[0].task_id != task_id or entries[0].start != 0:
        message = _("The text must be one entry, beginning with [Task_ID: %(id)s].") % {"id": task_id}
        raise PlansError(message, code="NOT_ONE_ENTRY")
    return entries[0]


def _replaced(file: PlanFile, entry: Entry, text: str) -> bytes:
    old = file.bytes_of(entry)
    body = old.rstrip(b" \t\r\n")
    tail = old[len(body) :]
    last = entry.end == len(file.raw)
    bom = b"\xef\xbb\xbf" if old.startswith(b"\xef\xbb\xbf") else b""
    new = bom + _encode(text.rstrip(), crlf=_uses_crlf(old))
    # The blank lines that separate this entry from the next stay as they are; at the end of the file the text ends
    # in one line feed.
    ending = tail if tail.strip(b" \t") and not last else _newline(old)
    return file.raw[: entry.start] + new + ending + file.raw[entry.end :]


def _appended(file: PlanFile, text: str) -> bytes:
    raw = file.raw
    newline = _newline(raw)
    body = _encode(text.rstrip(), crlf=newline == b"\r\n") + newline
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        return raw + body
    gap = newline if raw.endswith(b"\n") else newline * 2
    if raw.endswith((b"\n\n", b"\n\r\n")):
        gap = b""
    return raw + gap + body


def _encode(text: str, *, crlf: bool) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PlansError(
            _("The text holds half of a character (a lone surrogate)."), code="BAD_TEXT"
        ) from error
    if b"\x00" in data:
        raise PlansError(_("The text holds a NUL character."), code="BAD_TEXT")
    return data.replace(b"\n", b"\r\n") if crlf else data


def _newline(raw: bytes) -> bytes:
    return b"\r\n" if _uses_crlf(raw) else b"\n"


def _uses_crlf(raw: bytes) -> bool:
    return raw.count(b"\r\n") * 2 > raw.count(b"\n")


def set_field(text: str, name: str, value: str) -> str:
    """One entry's text with one single-line known field set: replaced where it stands, else put behind `Status`.

    Used for the field Schedule, so that a person choosing a rhythm changes that line and nothing else.
    """
    if name not in CANONICAL.values():
        raise ValueError(name)
    raw = text.encode()
    entry = read_plan_file(raw).entries[0]
    lines = text.split("\n")
    canonical = f"- **{name}**: {_one_line(value)}"
    if name in entry.fields:
        index = entry.fields[name].line - 1
        lines[index] = re.sub(
            r"^(\s*\S?\s*(?:\*\*|__)?[\w ]+?(?:\*\*|__)?\s*[:：]\s*(?:\*\*)?\s*).*?(\r?)$",
            lambda match: match[1] + _one_line(value) + match[2],
            lines[index],
        )
        return "\n".join(lines)
    after = max(
        (entry.line_of(known) for known in ("Role_Context", "Archive_Path", "Status")), default=entry.line
    )
    ending = "\r" if lines[after - 1].endswith("\r") else ""
    lines.insert(after, canonical + ending)
    return "\n".join(lines)
