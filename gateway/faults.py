"""Fault points: places where a test kills the process to see what the next one finds.

Enabled only by the environment variable `OPENCLAW_WEB_FAULT`, read once when the process starts:
`name` dies at the first passage, `name:3` at the third. Without it every point costs one comparison.
"""

import os
import signal

_WANTED, _, _COUNT = os.environ.get("OPENCLAW_WEB_FAULT", "").partition(":")
_left = int(_COUNT or 1)


def reached(point: str) -> None:
    """Dies here (SIGKILL, no clean-up of any kind) where `point` is the one asked for."""
    global _left
    if point != _WANTED:
        return
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
