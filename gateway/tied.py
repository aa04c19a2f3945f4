"""Processes that end with their parent, however that ended (Linux; elsewhere nothing happens).

`python -m gateway.tied COMMAND…` runs a command tied to whoever started it: a supervisor that is killed
leaves no web server and no cluster behind. Imports nothing of ours, so that it starts at once.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def tie_to_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Asks the kernel to send `number` to this process when its parent is gone; kept across exec."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def main(command: list[str]) -> None:
    """Becomes `command`, told to stop (SIGTERM) when the parent is gone."""
    parent = os.getppid()
    tie_to_parent(signal.SIGTERM)
    if os.getppid() != parent:  # it was gone before the kernel knew
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
