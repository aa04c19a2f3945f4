"""Scan a draft and its support files (contract §2.5). Pure; the clock is the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workshop.names import trim, utf16_length
from workshop.scanrules import CODE_RULES, CRITICAL, EVERY, TEXT_RULES, Rule, line_of, line_starts

MAX_MATCHES = 32
MAX_EVIDENCE = 120


def _evidence(line: str) -> str:
    line = trim(line)
    if utf16_length(line) <= MAX_EVIDENCE:
        return line
    # Cut as JavaScript's slice does, in UTF-16 units; a character cut in half would be a lone surrogate.
    return line.encode("utf-16-le", "surrogatepass")[: 2 * MAX_EVIDENCE].decode("utf-16-le", "ignore") + "…"


def _finding(rule_id: str, rule: Rule, file: str, line: int, evidence: str) -> dict[str, Any]:
    return {
        "ruleId": rule_id,
        "severity": rule.severity,
        "file": file,
        "line": line,
        "message": rule.why,
        "evidence": evidence,
    }


def _apply(rule: Rule, file: str, text: str, starts: list[int]) -> Iterator[dict[str, Any]]:
    offsets = rule.find(text)
    places = list(offsets) if rule.repeat == EVERY else [at for at in [next(offsets, None)] if at is not None]
    for offset in places[:MAX_MATCHES]:
        number = line_of(starts, offset)
        line = text[starts[number] :].partition("\n")[0]
        yield _finding(rule.id, rule, file, number + 1, _evidence(line))
    if len(places) > MAX_MATCHES:
        left = len(places) - MAX_MATCHES
        last = line_of(starts, places[-1]) + 1
        yield _finding(f"{rule.id}-truncated", rule, file, last, f"{left} more")


def scan_file(file: str, text: str) -> list[dict[str, Any]]:
    """The findings of one file: text rules, then code rules."""
    lowered = text.lower()
    rules = [rule for rule in (*TEXT_RULES, *CODE_RULES) if rule.may_hit(lowered)]
    starts = line_starts(text) if rules else []
    return [found for rule in rules for found in _apply(rule, file, text, starts)]


def scan(files: Iterable[tuple[str, str]], scanned_at: str) -> dict[str, Any]:
    """`files`: `(name, text)`, the draft first. Returns the record's ``scan`` object."""
    findings = [found for file, text in files for found in scan_file(file, text)]
    critical = sum(1 for found in findings if found["severity"] == CRITICAL)
    return {
        "state": "failed" if critical else "clean",
        "scannedAt": scanned_at,
        "critical": critical,
        "warn": len(findings) - critical,
        "info": 0,
        "findings": findings,
    }


def find_secret(places: Iterable[tuple[str, str]]) -> str | None:
    """The first place `(name, text)` that holds a literal credential."""
    rule = TEXT_RULES[0]
    return next(
        (
            place
            for place, text in places
            if rule.may_hit(text.lower()) and next(rule.find(text), None) is not None
        ),
        None,
    )
