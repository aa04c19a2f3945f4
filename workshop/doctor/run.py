"""All checks, in the order in which one needs the other."""

from __future__ import annotations

from workshop.doctor.automations import check_automations
from workshop.doctor.backups import check_backups
from workshop.doctor.base import Report, Ward
from workshop.doctor.leftovers import check_leftovers
from workshop.doctor.moves import check_moves
from workshop.doctor.peer import check_peer
from workshop.doctor.sidecars import check_sidecars
from workshop.ledger import begin_epoch

CHECKS = (check_peer, check_sidecars, check_moves, check_leftovers, check_backups, check_automations)


def examine(*, fix: bool = False) -> Report:
    """Look at everything; with `fix`, mend what can be mended. Repeatable and resumable."""
    ward = Ward(fix=fix)
    for check in CHECKS:
        check(ward)
    if fix and any(finding.done for finding in ward.report.findings):
        begin_epoch()
    return ward.report
