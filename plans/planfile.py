"""Reading `PLAN.md`: tolerant of how people and models write it, exact about where everything stands.

Source: `seeds/schedule-plan.txt`, `spec/plans.md` §2. Accepted: headings of any level or none, `•`/`-`/`*` bullets
or none, bold or not, `:` or `：`, CRLF, a BOM, backticks or not, fields in any order, continued lines, unknown extra
fields. Nothing here writes (see `planfile_write`) and nothing here judges (see `planfile_check`).

Bytes are the measure: every byte of the file belongs to the preamble or to exactly one entry, and an entry's
`start` and `end` are byte offsets, so that one entry can be replaced while every other byte stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

REQUIRED = ("Task_ID", "Role_Context", "Archive_Path", "Status", "Objective", "Result", "Action_Steps")
KNOWN = (*REQUIRED, "Schedule", "Message")
CANONICAL = {name.lower().replace("_", ""): name for name in KNOWN}
LARGEST_FILE = 256 * 1024

BULLET = r"(?:[-*+•·●▪◦‣]|[–—](?=\s))"
HEADING_ID = re.compile(
    r"^\s{0,3}(?:#{1,6}\s*)?(?:"
    + BULLET
    + r"\s+)?(?:\*\*|__)?\s*[\[【]\s*(?:\*\*|__)?`?Task[_ ]?ID`?(?:\*\*|__)?\s*[:：]\s*"
    r"`?(?P<id>[^\]】`]*?)`?\s*[\]】]\s*(?:\*\*|__)?\s*(?P<name>.*?)\s*(?:\*\*|__)?\s*#*\s*$",
    re.IGNORECASE,
)
FIELD = re.compile(
    r"^(?P<indent>\s*)(?P<bullet>"
    + BULLET
    + r"\s*)?(?P<bold>\*\*|__)?\s*(?P<name>[A-Za-z][A-Za-z0-9_ -]{0,39}?|[\u4e00-\u9fff]{2,12})"
    r"\s*(?:\*\*|__)?\s*[:：]\s*(?:\*\*|__)?\s*(?P<value>.*?)\s*$"
)
HEADING = re.compile(r"^\s{0,3}#{1,6}(?:\s|$)")
ORA_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s*)?(?:\*\*|__)?\s*ORA\b.{0,20}$", re.IGNORECASE)
STEP = re.compile(r"^(?P<indent>\s*)(?P<number>[0-9０-９]{1,3})\s*(?:[.．)）、:：])\s*(?P<text>\S.*?)\s*$")
BULLET_LINE = re.compile(r"^(?P<indent>\s*)" + BULLET + r"\s*(?P<text>\S.*?)\s*$")
FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; `start` and `end` are byte offsets, `end` behind the line feed. Numbers begin at 1."""

    number: int
    start: int
    end: int
    text: str
    fenced: bool


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One plan of the file. `fields` are the known ones by canonical name, first mention wins."""

    task_id: str
    name: str
    line: int
    start: int
    end: int
    fields: dict[str, Field] = field(default_factory=dict)
    repeated: tuple[Field, ...] = ()
    extras: tuple[Field, ...] = ()
    steps: tuple[Step, ...] = ()

    def value(self, name: str) -> str:
        found = self.fields.get(name)
        return found.value if found else ""

    def line_of(self, name: str) -> int:
        found = self.fields.get(name)
        return found.line if found else self.line


@dataclass(frozen=True, slots=True)
class PlanFile:
    """`raw` as read; `bad_bytes` is the line of the first byte that is not UTF-8, 0 when there is none."""

    raw: bytes
    entries: tuple[Entry, ...]
    lines: int
    bad_bytes: int = 0

    @property
    def digest(self) -> str:
        return sha256(self.raw).hexdigest()

    @property
    def preamble(self) -> bytes:
        return self.raw[: self.entries[0].start] if self.entries else self.raw

    def bytes_of(self, entry: Entry) -> bytes:
        return self.raw[entry.start : entry.end]

    def text_of(self, entry: Entry) -> str:
        return self.bytes_of(entry).decode("utf-8", "replace")

    def find(self, task_id: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.task_id == task_id]


def read_plan_file(raw: bytes) -> PlanFile:
    """Parse the bytes of a `PLAN.md`. Never raises: what is wrong with them is for `planfile_check` to say."""
    lines = list(_split(raw))
    marks = _entry_marks(lines)
    entries = []
    for index, (first, task_id, name) in enumerate(marks):
        last = marks[index + 1][0] if index + 1 < len(marks) else len(lines)
        start = lines[first].start
        end = lines[last].start if last < len(lines) else len(raw)
        entries.append(_read_entry(lines[first:last], task_id, name, start, end))
    return PlanFile(raw, tuple(entries), len(lines), _first_bad_line(raw))


def _split(raw: bytes) -> Iterator[Line]:
    """Lines end at LF only: U+2028 and its kin are text. A BOM belongs to the first line's bytes, not to its text."""
    position, fence = 0, ""
    for number, chunk in enumerate(raw.split(b"\n"), 1):
        end = min(position + len(chunk) + 1, len(raw))
        text = chunk.decode("utf-8", "replace").rstrip("\r")
        if number == 1:
            text = text.removeprefix("\ufeff")
        mark = FENCE.match(text)
        fenced = bool(fence)
        if mark and not fence:
            fence = mark[1]
            fenced = True
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            fence = ""
        if position < len(raw) or number == 1:
            yield Line(number, position, end, text, fenced)
        position += len(chunk) + 1


def _first_bad_line(raw: bytes) -> int:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return raw.count(b"\n", 0, error.start) + 1
    return 0


def _entry_marks(lines: list[Line]) -> list[tuple[int, str, str]]:
    """(index of the first line, task id, name) of each entry."""
    marks = []
    for index, line in enumerate(lines):
        match = None if line.fenced else HEADING_ID.match(line.text)
        if match:
            marks.append((index, match["id"].strip(), clean(match["name"])))
    return marks or _marks_by_field(lines)


def _marks_by_field(lines: list[Line]) -> list[tuple[int, str, str]]:
    """Entries of a file that gives `Task_ID` as a field: each begins at the nearest heading above that field."""
    marks: list[tuple[int, str, str]] = []
    floor = 0
    for index, line in enumerate(lines):
        found = None if line.fenced else _known_field(line.text)
        if not found or found[0] != "Task_ID":
            continue
        first, name = (index if marks else 0), ""
        for above in range(index - 1, floor - 1, -1):
            text = lines[above].text
            if HEADING.match(text) and not ORA_HEADING.match(text):
                first, name = above, clean(text.strip().strip("#"))
                break
        marks.append((first, found[1], name))
        floor = index + 1
    if not marks and any(_known_field(line.text) for line in lines if not line.fenced):
        marks.append((0, "", ""))
    return marks


def _known_field(text: str) -> tuple[str, str] | None:
    match = FIELD.match(text)
    name = CANONICAL.get(re.sub(r"[\s_-]", "", match["name"]).lower()) if match else None
    return (name, clean(match["value"])) if match and name else None


def _read_entry(lines: list[Line], task_id: str, name: str, start: int, end: int) -> Entry:
    reader = _EntryReader()
    headed = HEADING_ID.match(lines[0].text) is not None
    for line in lines[1:] if headed else lines:
        reader.take(line)
    reader.close()
    return Entry(
        task_id=task_id,
        name=name,
        line=lines[0].number,
        start=start,
        end=end,
        fields=reader.fields,
        repeated=tuple(reader.repeated),
        extras=tuple(reader.extras),
        steps=tuple(reader.steps),
    )


class _EntryReader:
    """Collects fields line by line: what is neither a field, a step nor a heading continues what came before."""

    def __init__(self) -> None:
        self.fields: dict[str, Field] = {}
        self.repeated: list[Field] = []
        self.extras: list[Field] = []
        self.steps: list[Step] = []
        self.name = ""
        self.known = False
        self.line = 0
        self.parts: list[str] = []
        self.indent = 0
        self.step: tuple[int, int] | None = None
        self.step_indent = 0
        self.numbered = False

    def take(self, line: Line) -> None:
        text = line.text
        if line.fenced:
            self.parts.append(text.strip())
            return
        if HEADING.match(text) or ORA_HEADING.match(text):
            self.close()
            return
        if self._take_field(line) or self._take_step(line):
            return
        if text.strip() and (self.name or self.step):
            self.parts.append(clean(text))

    def _take_field(self, line: Line) -> bool:
        match = FIELD.match(line.text)
        if not match:
            return False
        indent = _width(match["indent"])
        name = CANONICAL.get(re.sub(r"[\s_-]", "", match["name"]).lower())
        inside_steps = (
            self.name == "Action_Steps" and (self.step is not None or self.steps) and indent > self.indent
        )
        if inside_steps and (name is None or indent >= self.step_indent):
            return False
        if name is None and not (
            (match["bullet"] or match["bold"]) and (not self.name or indent <= self.indent)
        ):
            return False
        if name is None and self.name == "Action_Steps" and not (self.numbered or match["bold"]):
            # Among unnumbered steps “- Collect: …” is a step like its neighbours.
            return False
        self.close()
        self.name, self.known, self.line, self.indent = (
            name or match["name"].strip(),
            bool(name),
            line.number,
            indent,
        )
        self.parts = [clean(match["value"])]
        return True

    def _take_step(self, line: Line) -> bool:
        if self.name != "Action_Steps":
            return False
        match = STEP.match(line.text)
        bullet = None if match or self.numbered else BULLET_LINE.match(line.text)
        found = match or bullet
        if not found:
            return False
        indent = _width(found["indent"])
        if self.step is not None and indent > self.step_indent:
            return False
        self._close_step()
        if match:
            self.numbered = True
        number = int(match["number"]) if match else len(self.steps) + 1
        self.step, self.step_indent = (number, line.number), indent
        self.parts = [clean(found["text"])]
        return True

    def _close_step(self) -> None:
        if self.step is not None:
            self.steps.append(Step(self.step[0], _joined(self.parts), self.step[1]))
            self.step, self.parts = None, []
        elif self.name:
            self._keep(_joined(self.parts))
            self.parts = []

    def _keep(self, value: str) -> None:
        found = Field(self.name, value, self.line)
        if not self.known:
            self.extras.append(found)
        elif self.name not in self.fields:
            self.fields[self.name] = found
        elif found.line != self.fields[self.name].line:
            self.repeated.append(found)

    def close(self) -> None:
        """End the open field or step; a heading, a new field and the end of the entry do."""
        self._close_step()
        self.name, self.step, self.parts, self.numbered = "", None, [], False


def clean(text: str) -> str:
    """A value without the Markdown that only dresses it: surrounding bold, a lone pair of backticks, blanks."""
    text = text.strip()
    for mark in ("**", "__", "`"):
        inner = text[len(mark) : -len(mark)]
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark) and mark not in inner:
            text = inner.strip()
    return text


def _joined(parts: list[str]) -> str:
    return "\n".join(part for part in parts if part)


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))
