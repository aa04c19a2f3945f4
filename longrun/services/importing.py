"""Taking over an old `.task-state.json`: what the seed's own scripts left in a workspace."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.errors import AppError
from longrun.errors import LongRunError
from longrun.models import LongTask
from longrun.services.common import held, note
from longrun.services.tasks import Report, set_task

_FIELDS = (
    "session",
    "origin_session_key",
    "goal",
    "done_when",
    "blocked_when",
    "boundary",
    "note",
    "waiting_for",
    "waiting_kind",
    "stuck_at",
    "missing",
    "suggestion",
)
_MOMENTS = ("last_visible_reply_at", "last_tool_result_at", "last_progress_at", "last_progress_sent_at",
            "last_resume_at", "updated_at")  # fmt: skip


def import_states(data: Any, *, caller: Caller, agent_id: str = "") -> dict[str, Any]:
    """Registers each task of an old state file through `set_task`; what its rules refuse is listed, not stored.

    Read are a list of tasks, a mapping by name, or either under `tasks`. The old moments are kept as a
    claim in the timeline, never as moments of ours: nobody here saw a message arrive.
    Raises LongRunError `IMPORT_SHAPE`.
    """
    imported, refused, already = [], [], []
    for name, entry in _entries(data):
        if LongTask.objects.filter(name=name).of_agent(agent_id).exists():
            already.append(name)
            continue
        report = Report(
            **{field: str(entry[field]) for field in _FIELDS if entry.get(field) not in (None, "")},
            progress_every=str(entry["progress_every"]) if entry.get("progress_every") else None,
            why=_("imported from an old state file"),
        )
        try:
            row = set_task(
                name, state=str(entry.get("state", "")), report=report, caller=caller, agent_id=agent_id
            )
        except AppError as error:
            refused.append({"task": name, "code": error.code, "reason": error.message})
            continue
        with held(row) as task:
            claims = {field: entry[field] for field in _MOMENTS if entry.get(field)}
            note(task, "imported", caller, was=task.state, data={"claimed": claims})
        imported.append(name)
    return {"imported": imported, "refused": refused, "already_there": already}


def _entries(data: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(data, dict) and isinstance(data.get("tasks"), dict | list):
        data = data["tasks"]
    if isinstance(data, dict):
        pairs = [(str(name), entry) for name, entry in data.items()]
    elif isinstance(data, list):
        pairs = [(str(entry.get("task", "")) if isinstance(entry, dict) else "", entry) for entry in data]
    else:
        pairs = []
    if not pairs or not all(isinstance(entry, dict) for _name, entry in pairs):
        raise LongRunError(
            _("This is not a state file: a list of tasks, or tasks by name, was expected."),
            code="IMPORT_SHAPE",
        )
    for name, entry in pairs:
        yield str(entry.get("task") or name), entry
