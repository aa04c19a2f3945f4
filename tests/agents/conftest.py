import pytest

from agents.roster import forget_roster


@pytest.fixture(autouse=True)
def _fresh_roster():
    """The roster is kept per process; each test begins without one."""
    forget_roster()
    yield
    forget_roster()


@pytest.fixture
def write_config(state_dir):
    """Writes openclaw.json; gives it a date of its own each time, as a later write would have."""
    import os

    count = iter(range(1, 1000))

    def write(text: str, name: str = "openclaw.json") -> None:
        path = state_dir / name
        path.write_text(text)
        os.utime(path, (1_800_000_000 + next(count),) * 2)

    return write
