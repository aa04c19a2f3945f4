"""What an archive belongs to, for the archives' pages: the plans in its PLAN.md, and the run whose session made it."""

import uuid
from collections.abc import Collection

from django.utils.formats import date_format
from django.utils.timezone import localtime

from archives.links import ArchiveLink, Place, provides_archive_links, provides_archive_names
from plans.models import Plan, Run

MOST = 5


@provides_archive_links
def plans_and_runs(agent_id: str, archive_id: str) -> list[ArchiveLink]:
    """Plans whose file lies in this archive with the last run of each, or the run whose isolated session it is."""
    plans = list(Plan.objects.filter(agent_id=agent_id, archive_id=archive_id)[:MOST])
    links = [ArchiveLink("plan", str(plan), plan.get_absolute_url(), "clipboard-list") for plan in plans]
    keys = [plan.session_key for plan in plans]
    runs = Run.objects.select_related("plan").filter(plan__in=plans).exclude(started_at=None)[:1]
    own = _run_of_session(agent_id, archive_id)
    for run in [own] if own else runs:
        when = date_format(localtime(run.due_at), "Y-m-d H:i")
        links.append(ArchiveLink("run", f"{run.plan} · {when}", run.get_absolute_url(), "play"))
        keys.append(run.session_key)
    made_by = next((key for key in keys if key.rpartition(":")[2] == archive_id), "")
    if made_by:
        links.append(ArchiveLink("session", made_by, icon="message-square"))
    return links


@provides_archive_names
def plan_names(places: Collection[Place]) -> dict[Place, str]:
    """The plan in each of these archives, and the plan whose isolated run each of them is."""
    ids = {archive_id for _agent, archive_id in places}
    plans = Plan.objects.filter(archive_id__in=ids).order_by("pk")
    runs = Run.objects.select_related("plan").filter(uid__in=[uid for uid in map(_uuid, ids) if uid])
    return {(run.plan.agent_id, str(run.uid)): str(run.plan) for run in runs} | {
        (plan.agent_id, plan.archive_id): str(plan) for plan in plans
    }


def _run_of_session(agent_id: str, archive_id: str) -> Run | None:
    """An isolated run's session key ends with the run's own id, and so its archive is named by it."""
    uid = _uuid(archive_id)
    runs = Run.objects.select_related("plan").filter(plan__agent_id=agent_id)
    return runs.filter(uid=uid).first() if uid else None


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
