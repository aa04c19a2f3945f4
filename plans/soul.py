"""What was really read of an agent's identity: a line of SOUL.md and the name in IDENTITY.md, or nothing.

Identity is only these two files (`seeds/bkn-archive.txt` 【身份文件】); what was not read is not claimed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from agents.store import read_file

NAME = re.compile(
    r"^\s*[-*•]?\s*(?:\*\*)?(?:Name|名字|姓名)(?:\*\*)?\s*[:：]\s*(?:\*\*)?\s*(?P<name>.+?)\s*$",
    re.IGNORECASE | re.M,
)


@dataclass(frozen=True, slots=True)
class Soul:
    """`line` is one sentence of SOUL.md, `persona` the name in IDENTITY.md; empty where the file was not read."""

    line: str = ""
    persona: str = ""


def read_soul(workspace: Path) -> Soul:
    """Read both files now; never raises for what they are or are not."""
    soul, identity = read_file(workspace, "SOUL.md"), read_file(workspace, "IDENTITY.md")
    name = NAME.search(identity.text) if identity.was_read else None
    return Soul(
        line=_first_sentence(soul.text) if soul.was_read else "",
        persona=name["name"].strip("*_ `")[:80] if name else "",
    )


def _first_sentence(text: str) -> str:
    """The first line that is neither heading, rule, comment nor front matter, without its mark, at most 80 characters."""
    body = re.sub(r"\A\ufeff?---\n.*?\n---\n", "", text, flags=re.S)
    for line in body.split("\n"):
        plain = re.sub(r"^\s*(?:[-*+•>]|\d+[.)])\s+", "", line).strip().strip("*_`")
        if plain and not re.match(r"^(?:#|<!--|={3,}|-{3,}|```)", plain):
            return plain if len(plain) <= 80 else f"{plain[:79]}…"
    return ""
