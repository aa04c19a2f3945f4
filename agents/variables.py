"""`~` and `$VARS` in a configuration's paths, as OpenClaw reads them.

Only what is looked up is read: no secret of the environment is ever kept. Source: seeds/openclaw-docs.txt,
spec/agents.md §1; order of sources as in OpenClaw 2026.9: the process, `<state-dir>/.env`, `env.vars` of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\$(\$?)(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*?)[ \t]*\Z")
_MAX_ENV_FILE = 256 * 1024


@dataclass
class Variables:
    """Looks up what paths need; `used` tells afterwards which names were asked for, and what they gave."""

    state_dir: Path
    environment: Mapping[str, str]
    config: Mapping[str, Any] = field(default_factory=dict)
    used: dict[str, str | None] = field(default_factory=dict)
    _file: dict[str, str] | None = None

    def get(self, name: str) -> str | None:
        """The value of a variable; empty counts as not set, as OpenClaw has it."""
        if name == "OPENCLAW_STATE_DIR":
            return str(self.state_dir)
        value = self.environment.get(name) or None
        self.used[name] = value
        if value is None:
            value = self._from_file(name)
        if value is None:
            inline = self.config.get("vars")
            found = inline.get(name) if isinstance(inline, Mapping) else None
            value = found if isinstance(found, str) and found else None
        return value

    def home(self) -> Path:
        return Path(self.get("OPENCLAW_HOME") or self.get("HOME") or Path("~").expanduser())

    def expand(self, text: str) -> tuple[str, list[str]]:
        """The text with `$NAME` and `${NAME}` filled in, and the names that are not set (left as they stand).

        `$${NAME}` gives a literal `${NAME}`.
        """
        missing: list[str] = []

        def fill(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            name = match[2] or match[3]
            value = self.get(name)
            if value is None:
                missing.append(name)
                return match[0]
            return value

        return _REFERENCE.sub(fill, text), missing

    def path(self, text: str) -> tuple[Path, list[str]]:
        """An absolute, normal path, and the names that are not set.

        A relative path is taken from the state dir: the Gateway's own working directory is not ours to know.
        """
        expanded, missing = self.expand(text.strip().replace("\0", ""))
        if expanded == "~" or expanded.startswith("~/"):
            expanded = str(self.home()) + expanded[1:]
        return Path(os.path.normpath(self.state_dir / expanded)), missing

    def _from_file(self, name: str) -> str | None:
        if self._file is None:
            self._file = _read_env_file(self.state_dir / ".env")
        return self._file.get(name) or None


def _read_env_file(path: Path) -> dict[str, str]:
    """`NAME=value` lines of a regular file; none at all where it cannot be read."""
    found: dict[str, str] = {}
    if not path.is_file():
        return found
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_ENV_FILE).decode("utf-8", "replace")
    except OSError:
        return found
    for line in text.splitlines():
        match = _ASSIGNMENT.match(line)
        if match:
            value = match[2]
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            found[match[1]] = value
    return found
