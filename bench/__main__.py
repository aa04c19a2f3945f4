"""`python -m bench [part…]`: every part (a module here with `run(table)`) in a throw-away database."""

import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

import django
from django.core.management import call_command

import bench
from bench.measure import Table

NOT_PARTS = {"__main__", "crowd", "measure", "our_server", "real_gateway"}


def main(wanted: list[str]) -> None:
    parts = sorted(
        module.name for module in pkgutil.iter_modules(bench.__path__) if module.name not in NOT_PARTS
    )
    if unknown := set(wanted) - set(parts):
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    if len(wanted) != 1:
        # Each part has a process, a database and a state dir of its own: none measures what another left behind.
        for part in wanted or parts:
            subprocess.run([sys.executable, "-m", "bench", part], check=True)
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as folder:
        os.environ["OPENCLAW_WEB_DATA_DIR"] = f"{folder}/data"
        os.environ["OPENCLAW_STATE_DIR"] = f"{folder}/state"
        os.environ.setdefault("LOG_LEVEL", "WARNING")
        os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
        Path(folder, "state").mkdir()
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("createcachetable", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        for part in wanted or parts:
            print(f"\n== {part}")
            importlib.import_module(f"bench.{part}").run(Table())


if __name__ == "__main__":
    main(sys.argv[1:])
