import json

import pytest
from django.urls import reverse

from archives.indexer import scan_workspace
from archives.models import Archive, ArchiveFile, Workspace
from gateway.tokens import make_token
from tests.archives.conftest import TS

pytestmark = pytest.mark.django_db


@pytest.fixture
def indexed(workspace, put):
    put(f"archives/main/{TS}/a.md")
    put("archives/main/PLAN.md")
    scan_workspace(workspace)
    return workspace


@pytest.mark.parametrize("model", ["workspace", "archive", "bucket", "archivefile"])
def test_every_list_and_row_is_shown_read_only(administrator, indexed, model):
    assert administrator.get(reverse(f"admin:archives_{model}_changelist") + "?q=main").status_code == 200
    row = {"workspace": Workspace, "archive": Archive, "archivefile": ArchiveFile}.get(
        model, Archive
    ).objects.first()
    if model != "bucket":
        assert administrator.get(reverse(f"admin:archives_{model}_change", args=[row.pk])).status_code == 200
    assert administrator.get(reverse(f"admin:archives_{model}_add")).status_code == 403


@pytest.mark.parametrize("action", ["look_again", "rebuild"])
def test_the_index_is_mended_from_the_admin(administrator, indexed, put, action):
    put(f"archives/main/{TS}/b.md")
    response = administrator.post(
        reverse("admin:archives_workspace_changelist"),
        {"action": action, "_selected_action": [indexed.pk]},
        follow=True,
    )
    assert response.status_code == 200
    assert sorted(ArchiveFile.objects.values_list("name", flat=True)) == ["PLAN.md", "a.md", "b.md"]


def test_an_agent_writes_over_http_into_the_archive_of_its_tokens_session(client, workspace, shell):
    _token, secret = make_token(
        "ops",
        scopes=["operator.write"],
        agent_ids=["ops"],
        is_agent=True,
        session_key="agent:ops:cron:7f3c",
        caller=shell,
    )
    response = client.post(
        "/api/rpc/archives.write",
        json.dumps({"name": "报告.md", "content": "# x", "timestamp": TS}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert response.json()["payload"]["path"] == f"archives/7f3c/{TS}/报告.md"
    assert (workspace.path / f"archives/7f3c/{TS}/报告.md").read_text() == "# x"
