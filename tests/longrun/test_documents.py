"""docs/longrun.md names every script and method, and each with what it really calls."""

import re

from gateway.registry import methods
from gateway.schedules import repeats
from longrun import bundle
from longrun.management.commands.longrun import verb_of

DOC = (bundle.SHIPPED.parent / "docs" / "longrun.md").read_text(encoding="utf-8")
SCRIPTS = bundle.SHIPPED / "long-run-mode" / "scripts"


def test_every_script_stands_in_the_table_with_the_method_it_calls():
    rows = [line for line in DOC.splitlines() if line.startswith("| `")]
    for path in SCRIPTS.glob("*.py"):
        called = set(re.findall(r'"((?:longrun|deliveries)\.[\w.]+)"', path.read_text()))
        if path.name == "ocw_client.py":
            continue
        assert called, path.name
        told = " ".join(row for row in rows if path.name in row)
        for method in called:
            assert f"`{method}`" in told or f"`.{method.rsplit('.', 1)[1]}`" in told, (path.name, method)


def test_every_method_that_a_script_calls_exists():
    known = {one.name for one in methods()}
    for path in SCRIPTS.glob("*.py"):
        assert set(re.findall(r'"((?:longrun|deliveries)\.[\w.]+)"', path.read_text())) <= known, path.name


def test_every_method_of_ours_has_a_verb_of_its_own():
    names = [one.name for one in methods() if one.name.startswith("longrun.")]
    verbs = {verb_of(name) for name in names}
    assert len(verbs) == len(names) >= 30
    assert {"set", "touch-progress", "watchdog-check", "recovery-payloads"} <= verbs


def test_the_passes_hang_off_schedules_once_a_minute():
    minutes = {one.name: one.minutes for one in repeats()}
    for name in ("longrun.beat", "longrun.keep_alive", "longrun.watch", "gateway.deliver"):
        assert minutes[name] == 1
        assert f"`{name}`" in DOC
