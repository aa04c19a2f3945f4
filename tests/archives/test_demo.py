import pytest
from django.core.management import call_command

from archives.lint import lint_workspace
from archives.models import Archive, ArchiveFile, Workspace
from archives.places import history_of
from archives.plan_file import list_revisions

pytestmark = pytest.mark.django_db


def test_the_demo_has_a_file_of_every_type_and_something_to_find(state_dir, capsys):
    call_command("demo")
    kinds = set(ArchiveFile.objects.values_list("kind", flat=True))
    assert kinds >= {"markdown", "json", "table", "text", "image", "pdf", "audio", "web", "other"}
    assert Archive.objects.filter(is_fallback=True).exists()
    assert len(list_revisions(history_of("main"), "8f3a2c")) >= 2
    report = lint_workspace(Workspace.objects.get(agent_id="ops").path)
    assert {one.code for one in report.findings} >= {
        "wrong-root",
        "outside-bucket",
        "bad-timestamp",
        "symlink-out",
    }


def test_the_demo_goes_away_without_a_trace(state_dir, capsys):
    call_command("demo")
    call_command("demo", "--remove")
    assert list(state_dir.iterdir()) == []
    assert not Workspace.objects.exists() and not ArchiveFile.objects.exists()
    assert list_revisions(history_of("main"), "8f3a2c") == []
