"""Receipts: the text an archiving task ends with, and the `archive_grid` blocks behind it.

Source: `seeds/bkn-archive.txt` 【状态回执与 WebUI 卡片渲染】; `spec/archives.md` §4.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from archives.errors import PathRefused
from archives.protocol import ROOT, ArchivePath, check_id

OK = "OK"
BLOCKED = "BLOCKED"

_KEY = re.compile(r"(?:^|(?<=[\s|/`*]))ARCHIVE_(STATUS|ROOT|REASON)[`*]*[ \t]*[:：][`* \t]*")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Receipt:
    """One receipt as read. `problems` are the codes of what is wrong with it; none means well-formed.

    Codes: `status-unknown`, `root-missing`, `root-wrong`, `reason-missing`.
    """

    status: str
    root: str = ""
    reason: str = ""
    problems: tuple[str, ...] = ()

    @property
    def is_ok(self) -> bool:
        return self.status == OK and not self.problems

    @property
    def archive_id(self) -> str:
        return self.root.removeprefix(f"{ROOT}/").rstrip("/") if self.is_ok else ""


def write_ok(archive_id: str, files: Sequence[ArchivePath] = (), *, openclaw: bool = True) -> str:
    """A successful receipt; on OpenClaw it is followed by one fenced `archive_grid` block per file."""
    text = f"ARCHIVE_STATUS: {OK}\nARCHIVE_ROOT: {ROOT}/{check_id(archive_id)}/\n"
    if openclaw:
        text += "".join("\n" + write_block(path) for path in files)
    return text


def write_blocked(reason: str) -> str:
    """A blocked receipt. The reason is put on one line."""
    return f"ARCHIVE_STATUS: {BLOCKED}\nARCHIVE_REASON: {' '.join(reason.split()) or 'unknown'}\n"


def write_block(path: ArchivePath) -> str:
    """The fenced `archive_grid` block of one archived file."""
    block = {
        "type": "archive_grid",
        "data": {"type": "file", "archive_root": path.root, "subpath": path.subpath, "name": path.name},
    }
    return f"```json\n{json.dumps(block, ensure_ascii=False, indent=2)}\n```\n"


def read_receipts(text: str) -> list[Receipt]:
    """Every receipt in a text, in order. Items may stand one a line, or on one line between `|` or `/`.

    Text inside fenced blocks is passed over: an example in a fence is no receipt.
    """
    receipts: list[dict[str, str]] = []
    for line in _outside_fences(text):
        found = list(_KEY.finditer(line))
        for index, match in enumerate(found):
            end = found[index + 1].start() if index + 1 < len(found) else len(line)
            value = _value(line[match.end() : end], followed=index + 1 < len(found))
            if match[1] == "STATUS" or not receipts:
                if match[1] != "STATUS":
                    continue
                receipts.append({})
            receipts[-1].setdefault(match[1], value)
    return [_receipt(items) for items in receipts]


def _value(raw: str, *, followed: bool) -> str:
    value = raw.strip().strip("`*").strip()
    if followed:
        # One separator before the next item; a root's own closing slash stays.
        value = re.sub(r"[`* \t]*[|/][`* \t]*$", "", value)
    return value.strip("`* \t")


def _receipt(items: dict[str, str]) -> Receipt:
    status = items.get("STATUS", "").upper()
    root, reason = items.get("ROOT", ""), items.get("REASON", "")
    problems = []
    if status not in (OK, BLOCKED):
        problems.append("status-unknown")
    if status == OK:
        if not root:
            problems.append("root-missing")
        elif not _is_root(root):
            problems.append("root-wrong")
    if status == BLOCKED and not reason:
        problems.append("reason-missing")
    return Receipt(status, root, reason, tuple(problems))


def _is_root(root: str) -> bool:
    parts = root.removesuffix("/").split("/")
    if len(parts) != 2 or parts[0] != ROOT:
        return False
    try:
        check_id(parts[1])
    except PathRefused:
        return False
    return True


def _outside_fences(text: str) -> list[str]:
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if (
                mark
                and mark[1][0] == fence[0]
                and len(mark[1]) >= len(fence)
                and not line.strip().strip(fence[0])
            ):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            lines.append(line.rstrip("\r"))
    return lines
