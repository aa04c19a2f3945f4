#!/usr/bin/env python3
"""Registers, changes, shows and clears the state of a long-run task, and notes its moments."""

import sys

sys.dont_write_bytecode = True

import ocw_client  # noqa: E402


def main() -> None:
    parser = ocw_client.parser(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, add in VERBS.items():
        verb = verbs.add_parser(name, help=add.__doc__)
        # After the verb too, without a default that would undo what stood before it.
        verb.add_argument("--agent", default=ocw_client.argparse.SUPPRESS)
        verb.add_argument("--json", action="store_true", default=ocw_client.argparse.SUPPRESS)
        add(verb)
    arguments = parser.parse_args()
    ocw_client.run(arguments, METHODS[arguments.verb])


def add_set(verb) -> None:
    """register a task, or change its state and texts"""
    verb.add_argument("--task", required=True)
    verb.add_argument(
        "--state", required=True, help="analyzing, executing, waiting, blocked, handoff or done"
    )
    for name in (
        "session", "origin-session-key", "goal", "done-when", "blocked-when", "boundary", "next-check", "note",
        "focus", "confirmed", "progress-every", "quiet-limit", "waiting-kind", "waiting-for", "stuck-at",
        "missing", "suggestion", "why", "zone",
    ):  # fmt: skip
        verb.add_argument(f"--{name}")


def add_task(verb) -> None:
    """only the task"""
    verb.add_argument("--task", required=True)


def add_list(verb) -> None:
    """the tasks, those reported last first"""
    verb.add_argument("--state")
    verb.add_argument("--limit", type=int)


def add_progress(verb) -> None:
    """the progress was received in the session"""
    add_task(verb)
    verb.add_argument("--delivery", type=int, help="which message, as the event named it")
    verb.add_argument("--message", help="the words you sent yourself, where no progress had been built")


def add_attempt(verb) -> None:
    """a try to send the progress failed, or its outcome is unknown"""
    add_task(verb)
    verb.add_argument("--error", required=True)
    verb.add_argument("--delivery", type=int)
    verb.add_argument("--unknown", action="store_true", help="no answer came in time")


def add_resume(verb) -> None:
    """the resume was received in the session"""
    add_task(verb)
    verb.add_argument("--delivery", type=int)


def add_tool(verb) -> None:
    """a tool came back, failed, or begins a quiet call"""
    add_task(verb)
    verb.add_argument("--failed", action="store_true")
    verb.add_argument("--error")
    verb.add_argument("--need", choices=("permission", "token", "login", "browser", "confirmation"))
    verb.add_argument(
        "--running", metavar="SPAN", help="a quiet call begins and may take so long, for example 14m"
    )


VERBS = {
    "set": add_set,
    "get": add_task,
    "list": add_list,
    "touch-progress": add_progress,
    "mark-progress-attempt": add_attempt,
    "mark-resume": add_resume,
    "touch-reply": add_task,
    "touch-tool": add_tool,
    "clear": add_task,
}
METHODS = {
    "set": "longrun.set",
    "get": "longrun.get",
    "list": "longrun.list",
    "touch-progress": "longrun.touchProgress",
    "mark-progress-attempt": "longrun.markProgressAttempt",
    "mark-resume": "longrun.markResume",
    "touch-reply": "longrun.touchReply",
    "touch-tool": "longrun.touchTool",
    "clear": "longrun.clear",
}

if __name__ == "__main__":
    main()
