"""What must stay true of the whole tree."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", check=True, dry_run=True, stdout=StringIO())


def test_imports_go_one_way():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_templates_hold_no_inline_script_style_or_handler():
    import re

    bad = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle\s*=|\son[a-z]+\s*=|javascript:", re.I)
    for path in (ROOT / "templates").rglob("*.html"):
        found = bad.search(path.read_text())
        assert found is None, f"{path}: {found[0] if found else ''}"


def test_no_module_hides_an_import_in_a_function():
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select", "PLC0415", "-q", "--exclude", "tests", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_our_one_script_stays_under_8_kb():
    scripts = sorted(path.name for path in (ROOT / "static").rglob("*.js"))
    assert scripts == ["app.js"]
    assert (ROOT / "static/js/app.js").stat().st_size < 8192
