"""Plans that agents wrote by themselves: every PLAN.md in the archives' index becomes plans awaiting confirmation."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction

from archives.models import ArchiveFile, Workspace
from gateway.callers import Caller, system_caller
from plans.errors import PlansError
from plans.models import Plan, Revision
from plans.planfile import PlanFile, read_plan_file
from plans.planfile_check import TASK_ID, holds
from plans.services.revisions import OnDisk, State, add_revision, follow_file
from plans.store import read_plan_bytes


def discover_plans(*, agent_id: str = "", caller: Caller | None = None) -> int:
    """Bring all plans in step with the PLAN.md files on the disk; returns how many plans came or changed."""
    caller = caller or system_caller("plans follower")
    changed = 0
    for workspace in Workspace.objects.filter(agent_id=agent_id) if agent_id else Workspace.objects.all():
        for archive_id in _archives_with_plan(workspace):
            changed += follow_archive(workspace, archive_id, caller=caller)
    return changed


def _archives_with_plan(workspace: Workspace) -> Iterator[str]:
    """Archive ids whose PLAN.md is new or newer than what is known of it."""
    known: dict[str, float] = {}
    for archive_id, created in Revision.objects.filter(plan__agent_id=workspace.agent_id).values_list(
        "plan__archive_id", "created_at"
    ):
        known[archive_id] = max(known.get(archive_id, 0.0), created.timestamp())
    files = ArchiveFile.objects.filter(workspace=workspace, bucket=None).values_list(
        "archive__archive_id", "modified_at"
    )
    for archive_id, modified in files.iterator():
        if modified.timestamp() >= known.get(archive_id, 0.0) - 2:
            yield archive_id


def follow_archive(workspace: Workspace, archive_id: str, *, caller: Caller) -> int:
    """Read one PLAN.md; new Task_IDs become plans, changed ones revisions. Returns how many."""
    try:
        raw = read_plan_bytes(workspace.path, archive_id)
    except PlansError:
        return 0
    if raw is None:
        return 0
    file = read_plan_file(raw)
    known = {
        plan.task_id: plan
        for plan in Plan.objects.filter(agent_id=workspace.agent_id, archive_id=archive_id).select_related(
            "current"
        )
    }
    changed = 0
    for plan in known.values():
        if plan.current is None or not holds(plan.current.seal, file, plan.task_id):
            before = plan.current_id
            changed += follow_file(plan, caller=caller, seen=OnDisk(file)).current_id != before
    for entry in file.entries:
        if entry.task_id not in known and TASK_ID.match(entry.task_id):
            changed += _adopt(workspace, archive_id, entry.task_id, file, caller)
            known[entry.task_id] = Plan()
    return changed


def _adopt(workspace: Workspace, archive_id: str, task_id: str, file: PlanFile, caller: Caller) -> int:
    with transaction.atomic():
        plan, created = Plan.objects.get_or_create(
            agent_id=workspace.agent_id,
            archive_id=archive_id,
            task_id=task_id,
            defaults={"session_key": _session_of(workspace, archive_id), "state": State.AWAITING},
        )
        if created:
            add_revision(plan, file, origin=Revision.Origin.DISK, caller=caller)
    return int(created)


def _session_of(workspace: Workspace, archive_id: str) -> str:
    """The session that a found plan belongs to, where its archive id says which: `agent:<id>:main` only."""
    return f"agent:{workspace.agent_id}:main" if archive_id == "main" else ""
