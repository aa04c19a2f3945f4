"""`python -m openclaw_web.serve`: what `script/server` runs once the packages are there.

Prepares database and static files, prints where to go, then becomes supervisord, which keeps the web
server, the cluster, and a second cluster for agents' turns running until it is stopped.
"""

import argparse
import contextlib
import fcntl
import io
import os
import pwd
import shlex
import socket
import sys
import time
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connections

from gateway.demo import is_demo
from gateway.errors import AppError
from openclaw_web.paths import state_dir

ROOT = Path(__file__).resolve().parent.parent

SUPERVISOR = """\
[supervisord]
nodaemon=true
user={user}
silent=false
loglevel=warn
logfile=/dev/null
logfile_maxbytes=0
pidfile={data}/supervisord.pid
childlogdir={data}
"""

PROGRAM = """
[program:{name}]
command={python} -m gateway.tied {python} {command}
directory={root}
environment={environment}
startretries=1000000
startsecs=2
stopsignal=TERM
stopwaitsecs={patience}
stopasgroup=false
killasgroup=true
stdout_logfile=/dev/fd/1
stdout_logfile_maxbytes=0
redirect_stderr=true
"""

ANSWER_SECONDS = 60
WEB = (
    "-m uvicorn openclaw_web.asgi:application --host {host} --port {port} --workers {workers} --lifespan off "
    "--no-proxy-headers --no-access-log --log-level warning --timeout-graceful-shutdown 5"
)


def programs(host: str, port: int, workers: int) -> list[dict[str, str]]:
    """What runs: name, command, environment, and the seconds each has to stop by itself."""
    return [
        {
            "name": "web",
            "command": WEB.format(host=host, port=port, workers=workers),
            "environment": "",
            "patience": "15",
        },
        {"name": "cluster", "command": "manage.py cluster", "environment": "", "patience": "30"},
        {
            "name": "turns",
            "command": "manage.py cluster",
            "environment": 'Q_CLUSTER_NAME="turns"',
            "patience": "30",
        },
        {"name": "archives", "command": "manage.py archive watch", "environment": "", "patience": "10"},
    ]


def main() -> None:
    """Raises SystemExit 1 with a sentence where it cannot start."""
    options = _options()
    os.environ["OPENCLAW_WEB_HOST"] = options.host
    os.environ["OPENCLAW_WEB_PORT"] = str(options.port)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
    data = Path(os.environ.get("OPENCLAW_WEB_DATA_DIR", ROOT / "var")).expanduser().absolute()
    if options.demo:
        # A world apart: nothing of the person's own is read or written.
        data = data / "demo"
        os.environ["OPENCLAW_STATE_DIR"] = str(data / "openclaw")
        os.environ["OPENCLAW_CONFIG_PATH"] = ""
    os.environ["OPENCLAW_WEB_DATA_DIR"] = str(data)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    address = f"http://{options.host}:{options.port}/"
    _only_one(data, address)
    _port_is_free(options.host, options.port)
    code = _prepare(demo=options.demo)
    words = f"\nOpenClaw Web runs at {address}\n"
    if code:
        words += f"One-time setup code: {code}\n"
    _tell_when_it_answers(options.host, options.port, words + "Ctrl-C stops it.\n")
    _become_supervisor(data, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/server", description="Set-up, web server and cluster.")
    parser.add_argument("--port", type=int, default=int(os.environ.get("OPENCLAW_WEB_PORT", "8000")))
    parser.add_argument("--demo", action="store_true", help="look around in a made-up world of its own")
    parser.add_argument("--host", default=os.environ.get("OPENCLAW_WEB_HOST", "127.0.0.1"))
    return parser.parse_args()


def _only_one(data: Path, address: str) -> None:
    """Holds a lock on the data dir for as long as this process (and what it becomes) lives."""
    lock = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        running = os.read(lock, 300).decode(errors="replace").strip()
        sys.exit(f"OpenClaw Web already runs on this data dir ({data}): {running or 'it is just starting'}")
    os.set_inheritable(lock, True)
    os.ftruncate(lock, 0)
    os.write(lock, address.encode())


def _port_is_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            sys.exit(
                f"Port {port} on {host} cannot be used ({error.strerror}): try script/server --port {port + 1}"
            )


def _prepare(*, demo: bool) -> str:
    """Checks, database, cache table and static files; returns the one-time code, if nobody can sign in yet."""
    print("Preparing the database and static files…", flush=True)
    out = io.StringIO()
    try:
        django.setup()
        call_command("check", stdout=out)
        call_command("migrate", stdout=out, verbosity=0)
        call_command("createcachetable", stdout=out, verbosity=0)
        call_command("collectstatic", stdout=out, verbosity=0, interactive=False)
        if demo and not is_demo(state_dir()):
            call_command("demo", stdout=out)
        _mend()
        out.truncate(0)
        out.seek(0)
        call_command("setup_code", stdout=out)
    except (AppError, CommandError, DatabaseError, ImproperlyConfigured, OSError) as error:
        sys.exit(f"OpenClaw Web cannot start: {error}")
    # What becomes supervisord must not hold a connection that its children would share.
    connections.close_all()
    return out.getvalue().strip()


def _mend() -> None:
    """What `manage.py doctor --fix` does, at every start: old shapes, and what kills left behind."""
    try:
        call_command("doctor", fix=True, stdout=io.StringIO())
    except SystemExit:
        print("The doctor has findings for a person: manage.py doctor", flush=True)


def _tell_when_it_answers(host: str, port: int, words: str) -> None:
    """Prints `words` once the address answers: whoever follows them at once finds a page.

    From a process of its own, because this one becomes supervisord; a grandchild, so that nobody has to wait for it.
    """
    supervisor = os.getpid()
    if child := os.fork():
        os.waitpid(child, 0)
        return
    if os.fork():
        os._exit(0)
    end = time.monotonic() + ANSWER_SECONDS
    try:
        while time.monotonic() < end:
            os.kill(supervisor, 0)
            with contextlib.suppress(OSError):
                socket.create_connection((host, port), timeout=1).close()
                print(words, flush=True)
                os._exit(0)
            time.sleep(0.1)
        print(
            f"The web server does not answer after {ANSWER_SECONDS} s; the lines above may say why.\n{words}",
            flush=True,
        )
    finally:
        os._exit(0)


def _become_supervisor(data: Path, options: argparse.Namespace) -> None:
    config = data / "supervisord.conf"
    text = SUPERVISOR.format(user=pwd.getpwuid(os.getuid()).pw_name, data=_escaped(data))
    for program in programs(options.host, options.port, int(os.environ.get("WEB_WORKERS", "1"))):
        text += PROGRAM.format(python=_escaped(shlex.quote(sys.executable)), root=_escaped(ROOT), **program)
    config.write_text(text)
    os.execv(sys.executable, [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(config)])  # noqa: S606


def _escaped(value: object) -> str:
    # supervisord expands % in its configuration.
    return str(value).replace("%", "%%")


if __name__ == "__main__":
    main()
