"""Which messages open long-run mode: the two passwords and nothing else.

Source: the trigger boundary of `seeds/long-run-mode.txt`, made exact in `spec/longrun.md` §1.
"""

import re
from dataclasses import dataclass

PASSWORDS = ("进入长任务模式", "长任务模式")

# Words that carry an already running task on, and never open the mode.
CONTINUE_WORDS = frozenset(
    {
        "继续",
        "接着来",
        "接着做",
        "往下做",
        "一直做",
        "一直做，不停",
        "持续推进",
        "不要停下来问",
        "keep going",
        "continue",
        "go on",
        "carry on",
    }
)

_BLANK = " \t\r\n\v\f\u00a0\u3000\u200b\u200c\u200d\u2060\ufeff"
_QUOTES = "\"'`“”‘’„«»「」『』《》〈〉【】[]()（）*"
# No question mark here: somebody who asks is talking about the mode, not opening it.
_CLOSING = "。．.!！~～…、；;，,：:"
_TASK = re.compile(r"[ \u3000]*[：:，,](?P<task>.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Trigger:
    """The password that was said, and the task named after it ("" where none was)."""

    password: str
    task: str


def find_trigger(message: str) -> Trigger | None:
    """Return the trigger in `message`, or None where it opens nothing.

    The whole message is looked at first, so that `进入长任务模式：` may be followed by a task of several
    lines; then its first line alone, whose following lines are the task.
    """
    text = _bare(message)
    first, _, rest = text.partition("\n")
    found = _read(text if not rest else first)
    if found is None:
        return None
    following = rest.strip(_BLANK)
    task = "\n".join(part for part in (found.task, following) if part)
    return Trigger(found.password, task)


def says_continue(message: str) -> bool:
    """Whether the message only asks to carry on; inside a running long task that is all it means."""
    return _bare(message).rstrip(_CLOSING + _BLANK).casefold() in CONTINUE_WORDS


def _bare(text: str) -> str:
    return text.strip(_BLANK + _QUOTES)


def _read(line: str) -> Trigger | None:
    line = _bare(line)
    if line.startswith("请"):
        line = line[1:].lstrip(_BLANK + _QUOTES)
    for password in PASSWORDS:
        if not line.startswith(password):
            continue
        rest = line[len(password) :].lstrip(_QUOTES)
        if not rest.strip(_BLANK + _QUOTES + _CLOSING):
            return Trigger(password, "")
        named = _TASK.match(rest)
        if named:
            return Trigger(password, named["task"].strip(_BLANK + _QUOTES))
        return None
    return None
