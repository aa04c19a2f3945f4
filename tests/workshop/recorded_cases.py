"""Recorded exchanges with a real Gateway, unfolded. The files are data: `recorded/*.json`."""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("recorded")


def unfold(value: Any) -> Any:
    """Undo the shorthands of the recording (`$repeat`, `$join`)."""
    if isinstance(value, dict):
        if set(value) == {"$repeat", "times"}:
            return value["$repeat"] * value["times"]
        if set(value) == {"$join"}:
            return "".join(unfold(part) for part in value["$join"])
        return {key: unfold(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unfold(item) for item in value]
    return value


def load(name: str) -> dict[str, Any]:
    return unfold(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def names(*patterns: str) -> list[str]:
    return sorted(path.stem for pattern in patterns for path in FOLDER.glob(f"{pattern}.json"))


def date_of(draft: str) -> str:
    return re.search(r'^date: "([^"]*)"$', draft, re.MULTILINE)[1]
