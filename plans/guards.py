"""What the database itself refuses, whoever writes: triggers on SQLite and PostgreSQL.

Constraints reach one row; these rules reach across tables. There is no way from an unconfirmed or changed text to a
running turn, not even by writing rows directly. Source: issue 4, `spec/plans.md` §1 and §3.

The triggers are dropped before and made again after `migrate` (see `apps.py`): SQLite rebuilds tables by renaming
them, which fails while a trigger elsewhere names the old one.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from django.db.backends.base.base import BaseDatabaseWrapper

PREFIX = "plans_guard_"
INSTRUCTION = "'从路径 archives/' || p.archive_id || '/PLAN.md 中读取 Task_ID: ' || p.task_id || ' 的详细计划并按步骤执行'"
CONFIRMED_CURRENT = (
    "EXISTS (SELECT 1 FROM plans_confirmation c JOIN plans_plan p ON p.id = c.plan_id"
    " WHERE c.id = NEW.confirmation_id AND p.id = NEW.plan_id AND p.current_id = c.revision_id"
    " AND p.state IN ({states}))"
)


@dataclass(frozen=True, slots=True)
class Guard:
    """A row is refused with `message` when `refuse` (SQL over NEW and OLD, the same for both databases) is true."""

    name: str
    table: str
    event: str
    refuse: str
    message: str

    @property
    def trigger(self) -> str:
        """Its name carries a hash of its text, so a changed guard replaces the old one."""
        text = f"{self.table}{self.event}{self.refuse}{self.message}"
        return f"{PREFIX}{self.name}_{sha256(text.encode()).hexdigest()[:8]}"


BAD_CONFIRMATION = (
    "NOT EXISTS (SELECT 1 FROM plans_revision r JOIN gateway_user u ON u.id = NEW.person_id"
    " WHERE r.id = NEW.revision_id AND r.plan_id = NEW.plan_id AND r.file_digest = NEW.digest"
    " AND r.created_at < NEW.confirmed_at AND (r.request_id = '' OR r.request_id <> NEW.request_id) AND u.is_active)"
)
BAD_SCHEDULE = (
    "NOT EXISTS (SELECT 1 FROM plans_confirmation c JOIN plans_plan p ON p.id = c.plan_id"
    " WHERE c.id = NEW.confirmation_id AND p.id = NEW.plan_id AND substr(NEW.message, 1, length(@)) = @"
    " AND (length(NEW.message) = length(@) OR substr(NEW.message, length(@) + 1, 1) = {newline}))"
).replace("@", INSTRUCTION)
BAD_ACTIVE = (
    "NEW.state = 'active' AND NOT EXISTS (SELECT 1 FROM plans_schedule s JOIN plans_confirmation c"
    " ON c.id = s.confirmation_id WHERE s.plan_id = NEW.id AND c.plan_id = NEW.id AND c.revision_id = NEW.current_id)"
)
OPEN_RUN = "NEW.status IN ('queued', 'running')"
MAY_RUN = CONFIRMED_CURRENT.format(states="'active', 'paused', 'ended'")

GUARDS = (
    Guard("confirmation_new", "plans_confirmation", "INSERT", BAD_CONFIRMATION,
          "a confirmation names a person, its plan's revision and that revision's SHA-256, in a later request"),
    Guard("confirmation_kept", "plans_confirmation", "UPDATE", "1 = 1", "a confirmation never changes"),
    Guard("revision_kept", "plans_revision", "UPDATE", "1 = 1", "a revision never changes"),
    Guard("schedule_new", "plans_schedule", "INSERT", BAD_SCHEDULE,
          "a schedule needs its plan's confirmation and the forced first instruction"),
    Guard("schedule_changed", "plans_schedule", "UPDATE", BAD_SCHEDULE,
          "a schedule needs its plan's confirmation and the forced first instruction"),
    Guard("plan_new", "plans_plan", "INSERT", "NEW.state = 'active'", "a new plan is not active"),
    Guard("plan_active", "plans_plan", "UPDATE", BAD_ACTIVE, "an active plan needs its current text confirmed and scheduled"),
    Guard("plan_named", "plans_plan", "UPDATE",
          "NEW.agent_id <> OLD.agent_id OR NEW.archive_id <> OLD.archive_id OR NEW.task_id <> OLD.task_id",
          "a plan keeps its agent, archive and Task_ID"),
    Guard("run_new", "plans_run", "INSERT", f"{OPEN_RUN} AND NOT {MAY_RUN}", "a run needs its plan's current text confirmed"),
    Guard("run_moved", "plans_run", "UPDATE",
          f"{OPEN_RUN} AND (NEW.status <> OLD.status OR NEW.plan_id <> OLD.plan_id OR NEW.confirmation_id <> OLD.confirmation_id"
          f" OR OLD.confirmation_id IS NULL) AND NOT {MAY_RUN}",
          "a run needs its plan's current text confirmed"),
)  # fmt: skip


def install(connection: BaseDatabaseWrapper) -> None:
    """Make every guard that is missing and drop those of an older text. Does nothing when all are there."""
    present = installed(connection)
    wanted = {guard.trigger for guard in GUARDS}
    for name, table in present.items():
        if name not in wanted:
            _drop(connection, name, table)
    for guard in GUARDS:
        if guard.trigger not in present:
            _create(connection, guard)


def remove(connection: BaseDatabaseWrapper) -> None:
    """Drop every guard; `install` makes them again."""
    for name, table in installed(connection).items():
        _drop(connection, name, table)


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The names of guards that the database does not have."""
    present = installed(connection)
    return [guard.name for guard in GUARDS if guard.trigger not in present]


def installed(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """Trigger name → table, of ours only."""
    if connection.vendor == "sqlite":
        query = "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE %s"
    else:
        query = (
            "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " WHERE t.tgname LIKE %s AND c.relnamespace = current_schema()::regnamespace"
        )
    with connection.cursor() as cursor:
        cursor.execute(query, [f"{PREFIX}%"])
        return dict(cursor.fetchall())


def _create(connection: BaseDatabaseWrapper, guard: Guard) -> None:
    sqlite = connection.vendor == "sqlite"
    refuse = guard.refuse.replace("{newline}", "char(10)" if sqlite else "chr(10)")
    with connection.cursor() as cursor:
        if sqlite:
            cursor.execute(
                f"CREATE TRIGGER {guard.trigger} BEFORE {guard.event} ON {guard.table} WHEN {refuse}"
                f" BEGIN SELECT RAISE(ABORT, '{_quoted(guard)}'); END"
            )
            return
        cursor.execute(
            f"CREATE OR REPLACE FUNCTION {guard.trigger}() RETURNS trigger LANGUAGE plpgsql AS $guard$"
            f" BEGIN IF {refuse} THEN RAISE EXCEPTION '{_quoted(guard)}' USING ERRCODE = 'check_violation'; END IF;"
            " RETURN NEW; END $guard$"
        )
        cursor.execute(
            f"CREATE TRIGGER {guard.trigger} BEFORE {guard.event} ON {guard.table}"
            f" FOR EACH ROW EXECUTE FUNCTION {guard.trigger}()"
        )


def _quoted(guard: Guard) -> str:
    return guard.message.replace("'", "''").replace("%", "%%")


def _drop(connection: BaseDatabaseWrapper, name: str, table: str) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
        else:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
            cursor.execute(f"DROP FUNCTION IF EXISTS {name}()")
