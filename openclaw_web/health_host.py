"""The part of the health page that is about this machine: folders, programs, database, disk."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from django_q.conf import Conf

from agents.roster import load_roster
from openclaw_web.paths import data_dir, state_dir
from openclaw_web.templatetags.ui import byte_size

_LOW_BYTES, _FULL_BYTES = 2 * 1024**3, 200 * 1024**2


@dataclass(frozen=True)
class Check:
    """One line of the health page: `says` is what is so, `todo` the one thing to do where it is not well.

    `url` is where the thing itself can be looked at.
    """

    name: str
    tone: str
    word: str
    says: str
    todo: str = ""
    facts: list[tuple[str, Any]] = field(default_factory=list)
    url: str = ""

    @property
    def well(self) -> bool:
        return self.tone in ("ok", "idle")


def host_checks() -> list[Check]:
    """Every check of this machine, in the order of the page. None of them waits for another machine."""
    return [_state_dir(), _roster(), _program(), _database(), _migrations(), _disk()]


def _state_dir() -> Check:
    name, path = _("State dir"), state_dir()
    facts = [(_("folder"), str(path))]
    if not path.exists():
        return Check(
            name,
            "warn",
            _("not there yet"),
            _("The folder of OpenClaw does not exist, so there is nothing to show."),
            _("Set OPENCLAW_STATE_DIR to where OpenClaw keeps its files, or start OpenClaw once."),
            facts,
        )
    if not os.access(path, os.R_OK | os.X_OK):
        return Check(
            name,
            "bad",
            _("not readable"),
            _("This server may not read the folder."),
            _("Run the server as the user that OpenClaw runs as."),
            facts,
        )
    if not os.access(path, os.W_OK):
        return Check(
            name,
            "warn",
            _("read only"),
            _("Pages work; applying skills and writing plans will be refused."),
            _("Run the server as the user that OpenClaw runs as."),
            facts,
        )
    return Check(name, "ok", _("readable"), _("Read and written by this server."), facts=facts)


def _roster() -> Check:
    roster = load_roster()
    name, url = _("Agents"), reverse("agents:roster")
    count = len(roster.agents)
    says = ngettext("%(n)d agent is known.", "%(n)d agents are known.", count) % {"n": count}
    if roster.error is not None:
        return Check(
            name,
            "bad",
            _("openclaw.json is broken"),
            str(roster.error),
            _("Until it is mended, the agents of the last good reading are shown."),
            url=url,
        )
    if not count:
        return Check(name, "idle", _("none"), says, url=url)
    return Check(name, "ok", _("read"), says, url=url)


def _program() -> Check:
    name = _("OpenClaw program")
    found = shutil.which(settings.OPENCLAW_BIN)
    if found is None:
        return Check(
            name,
            "idle",
            _("not found"),
            _(
                "“%(program)s” is not on this server's PATH. Messages to sessions wait here: in the inbox of agents "
                "that hold a token, all others until there is a way to send them."
            )
            % {"program": settings.OPENCLAW_BIN},
            _("Install OpenClaw here, or set OPENCLAW_BIN to its path, to send them right away."),
        )
    return Check(
        name,
        "ok",
        pgettext("health", "found"),
        _("Messages to sessions go through it."),
        facts=[(_("program"), found)],
    )


def _database() -> Check:
    size, where = _database_size()
    facts = [(_("kind"), connection.display_name), (_("size"), byte_size(size)), (_("place"), where)]
    broker = (Conf.ORM and _("this database")) or "Redis"
    return Check(
        _("Database"),
        "ok",
        pgettext("health", "answers"),
        _("It also holds the queue.") if Conf.ORM else "",
        "",
        [*facts, (_("queue"), broker)],
    )


def _database_size() -> tuple[int | None, str]:
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        files = [Path(name + suffix) for suffix in ("", "-wal")]
        return sum(file.stat().st_size for file in files if file.exists()), name
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return cursor.fetchone()[0], f"{connection.settings_dict['HOST'] or 'localhost'}/{name}"


def _migrations() -> Check:
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not waiting:
        return Check(_("Migrations"), "ok", _("applied"), _("The tables are those of this version."))
    says = ngettext("%(n)d step is missing.", "%(n)d steps are missing.", len(waiting)) % {"n": len(waiting)}
    return Check(
        _("Migrations"),
        "bad",
        pgettext("health", "missing"),
        says,
        _("Stop the server and start it with “script/server”."),
    )


def _disk() -> Check:
    usage = shutil.disk_usage(data_dir())
    says = _("%(free)s of %(total)s are free.") % {
        "free": byte_size(usage.free),
        "total": byte_size(usage.total),
    }
    facts = [(_("folder"), str(data_dir()))]
    todo = _("Make room: delete old archives or move OPENCLAW_WEB_DATA_DIR to a larger disk.")
    if usage.free < _FULL_BYTES:
        return Check(_("Disk"), "bad", _("full"), says, todo, facts)
    if usage.free < _LOW_BYTES:
        return Check(_("Disk"), "warn", _("getting full"), says, todo, facts)
    return Check(_("Disk"), "ok", _("has room"), says, facts=facts)
