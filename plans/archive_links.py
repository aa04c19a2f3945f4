"""What an archive belongs to, for the archives' pages: the plans in its PLAN.md, and the run whose session made it."""

import uuid

from django.utils.formats import date_format
from django.utils.timezone import localtime

from archives.links import ArchiveLink, provides_archive_links
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


def _run_of_session(agent_id: str, archive_id: str) -> Run | None:
    """An isolated run's session key ends with the run's own id, and so its archive is named by it."""
    try:
        uid = uuid.UUID(archive_id)
    except ValueError:
        return None
    return Run.objects.select_related("plan").filter(uid=uid, plan__agent_id=agent_id).first()
