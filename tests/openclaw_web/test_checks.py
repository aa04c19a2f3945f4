"""It refuses to start where it would be insecure."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from openclaw_web.checks import insecure_reasons, is_loopback

ROOT = Path(__file__).resolve().parents[2]
SAFE = {
    "LISTEN_HOST": "0.0.0.0",
    "DEBUG": False,
    "HTTPS": True,
    "ALLOWED_HOSTS": ["claw.example.org"],
    "SECRET_KEY": "b9Zq-7hLw0cT4nXr2VsKf8YdJm6GpQe1UaRi3OyNt5WzMx_CvEkP4",
}


def reasons(**changed) -> list[str]:
    return insecure_reasons(SimpleNamespace(**{**SAFE, **changed}))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9"])
def test_this_machine_alone_is_safe_with_the_defaults(host):
    assert is_loopback(host)
    assert reasons(LISTEN_HOST=host, DEBUG=True, HTTPS=False, ALLOWED_HOSTS=["*"], SECRET_KEY="x") == []


def test_beyond_this_machine_a_full_set_is_safe():
    assert reasons() == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"DEBUG": True}, "DEBUG"),
        ({"HTTPS": False}, "HTTPS"),
        ({"ALLOWED_HOSTS": ["*"]}, "ALLOWED_HOSTS"),
        ({"ALLOWED_HOSTS": ["localhost", "127.0.0.1"]}, "ALLOWED_HOSTS"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY"),
        ({"SECRET_KEY": "a" * 60}, "SECRET_KEY"),
    ],
)
def test_each_weakness_is_named(changed, named):
    (reason,) = reasons(**changed)
    assert named in reason


def test_the_server_itself_does_not_start_insecure(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import openclaw_web.asgi"],
        cwd=ROOT,
        env={"OPENCLAW_WEB_HOST": "0.0.0.0", "OPENCLAW_WEB_DATA_DIR": str(tmp_path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "would be insecure" in done.stderr
    assert "HTTPS" in done.stderr


def test_the_first_start_makes_a_secret_key_for_its_owner_only(tmp_path):
    from openclaw_web.paths import read_or_make_secret

    path = tmp_path / "data" / "secret_key"
    secret = read_or_make_secret(path)
    assert len(secret) > 60
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_or_make_secret(path) == secret
    assert [entry.name for entry in path.parent.iterdir()] == ["secret_key"]


def test_a_damaged_secret_key_is_named_not_replaced(tmp_path):
    from openclaw_web.paths import read_or_make_secret

    path = tmp_path / "secret_key"
    path.write_text("")
    with pytest.raises(OSError, match="no usable secret"):
        read_or_make_secret(path)
