"""Making, changing and removing agents of the dashboard. What a roster leaves behind is in `agents.keeping`."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError
from django.utils.translation import gettext as _

from agents.entries import normal_id
from agents.errors import AgentsError
from agents.models import MadeAgent
from agents.roster import sync_workspaces
from gateway import audit, events
from gateway.callers import ADMIN, Caller

_SYSTEM_FOLDERS = ("/proc", "/sys", "/dev", "/etc", "/boot", "/bin", "/sbin", "/usr", "/lib")


def make_agent(
    caller: Caller, *, agent_id: str, name: str = "", workspace: str = "", description: str = ""
) -> MadeAgent:
    """Makes an agent of the dashboard; its folder is made too, where it does not exist.

    Without `workspace` it lives in `<state-dir>/workspace-<id>`. Raises AgentsError; needs the admin scope.
    """
    caller.require_scope(ADMIN)
    if normal_id(agent_id) != agent_id.strip():
        raise AgentsError(
            _("An id is 1–64 characters: a–z, 0–9, - and _, and begins with a letter or a digit."),
            code="bad_id",
        )
    agent_id = agent_id.strip()
    if MadeAgent.objects.filter(agent_id=agent_id).exists():
        raise AgentsError(_("There is already an agent “%(id)s”.") % {"id": agent_id}, code="id_taken")
    root = checked_workspace(workspace or str(Path(settings.OPENCLAW_STATE_DIR) / f"workspace-{agent_id}"))
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise AgentsError(
            _("The folder %(path)s cannot be made: %(why)s.") % {"path": root, "why": error.strerror},
            code="bad_workspace",
        ) from error
    try:
        made = MadeAgent.objects.create(
            agent_id=agent_id,
            name=checked_name(name or agent_id),
            workspace=str(root),
            description=description.strip()[:1000],
            made_by=caller.label[:200],
        )
    except IntegrityError:
        raise AgentsError(
            _("There is already an agent “%(id)s”.") % {"id": agent_id}, code="id_taken"
        ) from None
    audit.record(caller, "agent.make", subject=agent_id, agent_id=agent_id, detail={"workspace": str(root)})
    events.publish("agent.made", agent_id=agent_id, subject=made.name, caller=caller)
    sync_workspaces()
    return made


def change_agent(
    made: MadeAgent, caller: Caller, *, name: str, workspace: str, description: str = ""
) -> MadeAgent:
    """Changes what people call an agent of the dashboard, or where it lives. No file is moved."""
    caller.require_scope(ADMIN)
    before = made.workspace
    made.name = checked_name(name)
    made.workspace = str(checked_workspace(workspace))
    made.description = description.strip()[:1000]
    made.save(update_fields=["name", "workspace", "description"])
    moved = {"from": before, "to": made.workspace} if made.workspace != before else {}
    audit.record(caller, "agent.change", subject=made.agent_id, agent_id=made.agent_id, detail=moved)
    events.publish("agent.changed", agent_id=made.agent_id, subject=made.name, caller=caller)
    sync_workspaces()
    return made


def remove_agent(made: MadeAgent, caller: Caller) -> None:
    """Takes an agent of the dashboard off the roster. Its folder and files stay where they are."""
    caller.require_scope(ADMIN)
    agent_id, name = made.agent_id, made.name
    made.delete()
    audit.record(caller, "agent.remove", subject=agent_id, agent_id=agent_id)
    events.publish("agent.removed", agent_id=agent_id, subject=name, caller=caller)
    sync_workspaces()


def checked_name(name: str) -> str:
    """The name without space around it. Raises AgentsError `bad_name`."""
    bare = name.strip()
    if not bare or len(bare) > 200 or not bare.isprintable():
        raise AgentsError(_("A name has 1–200 visible characters."), code="bad_name")
    return bare


def checked_workspace(text: str) -> Path:
    """An absolute, normal path that may be a workspace. Raises AgentsError `bad_workspace`."""
    bare = text.strip()
    if bare.startswith("~"):
        bare = str(Path(bare).expanduser())
    if not bare.startswith("/") or not bare.isprintable() or len(bare) > 1000:
        raise AgentsError(
            _("A workspace is an absolute path, such as /home/me/agents/ops."), code="bad_workspace"
        )
    path = Path(os.path.normpath(bare))
    real = Path(os.path.realpath(path))
    ours = Path(os.path.realpath(settings.DATA_DIR))
    forbidden = [Path(folder) for folder in _SYSTEM_FOLDERS]
    if real == Path("/") or real == Path(os.path.realpath(settings.OPENCLAW_STATE_DIR)):
        raise AgentsError(
            _("%(path)s cannot be a workspace as a whole.") % {"path": path}, code="bad_workspace"
        )
    if any(real.is_relative_to(folder) for folder in (*forbidden, ours)) or ours.is_relative_to(real):
        raise AgentsError(
            _("%(path)s belongs to the system or to this dashboard.") % {"path": path}, code="bad_workspace"
        )
    if path.exists() and not path.is_dir():
        raise AgentsError(_("%(path)s is not a folder.") % {"path": path}, code="bad_workspace")
    return path
