"""A guard against work that never ends. It is no measurement: those are in bench/."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 30.0  # seconds of this process's own CPU: far above any honest run, far below a runaway one


@contextmanager
def not_hanging() -> Iterator[None]:
    """Fails where what stands inside took the time of a runaway: quadratic, exponential, endless."""
    began = time.process_time()
    yield
    taken = time.process_time() - began
    assert taken < LIMIT, f"took {taken:.0f} s of CPU"
