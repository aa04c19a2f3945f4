"""Django-Q's entry points: idempotent, no arguments that matter, no rules."""

from gateway.callers import system_caller
from gateway.schedules import repeat
from longrun.services import heartbeat, keepalive, watchdog

repeat("longrun.beat", "longrun.tasks.beat", minutes=1)
repeat("longrun.keep_alive", "longrun.tasks.keep_alive", minutes=1)
repeat("longrun.watch", "longrun.tasks.watch", minutes=1)


def beat() -> dict[str, int]:
    """Sends the short progresses that are due."""
    return heartbeat.send_due(caller=system_caller("heartbeat"))


def keep_alive() -> int:
    """Looks for silent tasks; sends resumes only with LONG_RUN_MODE_AUTO_RESUME."""
    return keepalive.run_keepalive(caller=system_caller("keepalive"))["count"]


def watch() -> dict[str, int]:
    """One watchdog pass, then its recovery messages one by one."""
    caller = system_caller("watchdog")
    watchdog.run_watchdog(caller=caller)
    return watchdog.send_recoveries(caller=caller)
