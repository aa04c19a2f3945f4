"""How a part is measured: the same work many times, the middle time, and its ratio to a baseline."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Table:
    """Lines of one part: what was measured, its time, the baseline it is held against, their ratio."""

    lines: list[str] = field(default_factory=list)

    def row(self, what: str, seconds: float, baseline: str, baseline_seconds: float) -> float:
        """Prints `what`, its time, and how many times `baseline` it takes; returns that ratio."""
        ratio = seconds / baseline_seconds
        self.lines.append(
            f"{what:<52} {_time(seconds):>10}   {ratio:8.2f} × {baseline} ({_time(baseline_seconds)})"
        )
        print(self.lines[-1], flush=True)
        return ratio

    def note(self, text: str) -> None:
        """A line without a measurement: sizes, what was skipped and why."""
        self.lines.append(text)
        print(text, flush=True)


def median_time(work: Callable[[], object], *, times: int = 15, warm_up: int = 2) -> float:
    """The middle wall-clock time of `work` in seconds, after some runs that do not count."""
    for _i in range(warm_up):
        work()
    taken = []
    for _i in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 10 else f"{seconds:.1f} s"
