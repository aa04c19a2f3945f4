"""What is public is documented, and the documents are true."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from gateway.management.commands.methods import methods_document

ROOT = Path(__file__).resolve().parents[2]
APPS = ("openclaw_web", "workshop", "longrun", "plans", "agents", "archives", "gateway")


def test_the_method_table_is_the_one_in_the_code():
    assert (ROOT / "docs/methods.md").read_text() == methods_document(), (
        "run: manage.py methods > docs/methods.md"
    )


def test_every_setting_read_from_the_environment_stands_in_the_table_and_no_other():
    code = "\n".join(
        path.read_text()
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
    )
    read = set(re.findall(r"""env\.\w+\(\s*["']([A-Z][A-Z0-9_]+)["']""", code))
    read |= set(re.findall(r"""environ(?:\.get\(|\.setdefault\(|\[)\s*["']([A-Z][A-Z0-9_]+)["']""", code))
    read -= {"DJANGO_SETTINGS_MODULE"}
    documented = set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)`", (ROOT / "docs/settings.md").read_text(), re.M))
    assert documented == read


def test_every_command_of_ours_is_documented():
    ours = {name for name, app in get_commands().items() if app in APPS}
    text = (ROOT / "docs/commands.md").read_text()
    assert {name for name in ours if f"`manage.py {name}" not in text} == set()


def test_the_readme_names_the_two_commands_that_ci_runs():
    readme = (ROOT / "README.md").read_text()
    assert "script/server" in readme
    assert "script/test" in readme
    assert "script/test" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
)
def test_links_between_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_locked_requirements_have_hashes_and_name_no_host():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "--index-url" not in text
        assert "--find-links" not in text
        assert "://" not in text
        for block in re.split(r"\n(?=\S)", text.strip()):
            assert "--hash=sha256:" in block, block.splitlines()[0]
