from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction

from agents.errors import AgentsError
from agents.models import MadeAgent
from agents.services import change_agent, make_agent, remove_agent
from archives.models import Workspace
from gateway.errors import GatewayError
from gateway.models import AuditEntry, LedgerEvent

pytestmark = pytest.mark.django_db


def refused(action, *args, **kwargs):
    with pytest.raises(AgentsError) as caught:
        action(*args, **kwargs)
    return caught.value.code


def test_an_agent_is_made_with_its_folder_and_a_trail(shell, state_dir):
    made = make_agent(shell, agent_id="helper", name="Helper 助手")
    assert (made.agent_id, made.name, made.workspace) == (
        "helper",
        "Helper 助手",
        str(state_dir / "workspace-helper"),
    )
    assert (state_dir / "workspace-helper").is_dir()
    assert AuditEntry.objects.get().action == "agent.make"
    assert LedgerEvent.objects.get().kind == "agent.made"


def test_a_folder_that_exists_keeps_what_is_in_it(shell, tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "SOUL.md").write_text("calm")
    make_agent(shell, agent_id="helper", workspace=str(tmp_path / "ws"))
    assert (tmp_path / "ws" / "SOUL.md").read_text() == "calm"


@pytest.mark.parametrize("agent_id", ["", "运维", "My Agent", "-x", "a/b", "../x", "A", "x" * 65, "x\n"])
def test_an_id_must_be_normal(shell, agent_id):
    if agent_id == "x\n":
        assert make_agent(shell, agent_id=agent_id).agent_id == "x"
    else:
        assert refused(make_agent, shell, agent_id=agent_id) == "bad_id"


def test_an_id_is_taken_once(shell):
    make_agent(shell, agent_id="a")
    assert refused(make_agent, shell, agent_id="a") == "id_taken"


@pytest.mark.parametrize(
    "workspace", ["relative", "/", "/proc/self", "/etc/x", "/dev", "/a\n/b", "/usr/local/x", "$HOME/x"]
)
def test_a_place_that_is_no_workspace_is_refused(shell, workspace):
    assert refused(make_agent, shell, agent_id="a", workspace=workspace) == "bad_workspace"
    assert not MadeAgent.objects.exists()


def test_neither_our_own_data_nor_the_state_dir_is_a_workspace(shell, settings, tmp_path, state_dir):
    (tmp_path / "link").symlink_to(settings.DATA_DIR)
    for place in (settings.DATA_DIR / "x", settings.DATA_DIR.parent, tmp_path / "link", state_dir):
        assert refused(make_agent, shell, agent_id="a", workspace=str(place)) == "bad_workspace"


def test_a_file_is_no_workspace(shell, tmp_path):
    (tmp_path / "f").write_text("")
    assert refused(make_agent, shell, agent_id="a", workspace=str(tmp_path / "f")) == "bad_workspace"
    assert refused(make_agent, shell, agent_id="a", workspace=str(tmp_path / "f" / "x")) == "bad_workspace"


@pytest.mark.parametrize("name", ["  ", "x" * 201, "a\x00b", "a\u202eb"])
def test_a_name_is_visible(shell, name):
    made = make_agent(shell, agent_id="a")
    assert refused(change_agent, made, shell, name=name, workspace=made.workspace) == "bad_name"


def test_changing_and_removing_leave_the_files(shell, state_dir, tmp_path):
    made = make_agent(shell, agent_id="a")
    (state_dir / "workspace-a" / "SOUL.md").write_text("calm")
    change_agent(made, shell, name="New", workspace=str(tmp_path / "other"), description="d")
    made.refresh_from_db()
    assert (made.name, made.workspace, made.description) == ("New", str(tmp_path / "other"), "d")
    remove_agent(made, shell)
    assert not MadeAgent.objects.exists()
    assert (state_dir / "workspace-a" / "SOUL.md").read_text() == "calm"
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "agent.make",
        "agent.change",
        "agent.remove",
    ]


def test_a_reviewer_makes_no_agent(person):
    with pytest.raises(GatewayError) as caught:
        make_agent(person, agent_id="a")
    assert caught.value.code == "MISSING_SCOPE"


def test_the_database_keeps_ids_normal_and_places_absolute():
    for wrong in ({"agent_id": "A B", "workspace": "/x"}, {"agent_id": "a", "workspace": "x"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            MadeAgent.objects.create(name="n", made_by="ann", **wrong)


def test_a_label_too_long_for_the_trail_is_cut(shell):
    made = make_agent(replace(shell, label="x" * 500), agent_id="a")
    assert made.made_by == "x" * 200


def test_the_archives_know_a_new_agent_at_once_and_forget_one_that_left(shell, state_dir, tmp_path):
    made = make_agent(shell, agent_id="a")
    assert dict(Workspace.objects.values_list("agent_id", "root")) == {"a": str(state_dir / "workspace-a")}
    change_agent(made, shell, name="A", workspace=str(tmp_path / "moved"))
    assert dict(Workspace.objects.values_list("agent_id", "root")) == {"a": str(tmp_path / "moved")}
    remove_agent(made, shell)
    assert not Workspace.objects.exists()
