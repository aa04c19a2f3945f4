"""Plans that agents wrote by themselves, and changes they made, found on the disk."""

from datetime import UTC, datetime, timedelta

import pytest

from archives.indexer import scan_workspace
from archives.models import Workspace
from gateway.callers import system_caller
from plans.models import Plan, Schedule
from plans.services import lifecycle
from plans.services.discovery import discover_plans, follow_archive
from plans.soul import read_soul
from tests.plans import samples

pytestmark = pytest.mark.django_db


def put(workspace, text: str, archive_id: str = "7f3c") -> None:
    folder = workspace / "archives" / archive_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "PLAN.md").write_text(text)


def look(workspace) -> int:
    scan_workspace(Workspace.objects.get(), every=True)
    return discover_plans()


def states() -> dict[str, tuple[str, int]]:
    return {
        plan.task_id: (plan.state, plan.current.number) for plan in Plan.objects.select_related("current")
    }


def test_every_entry_of_a_file_becomes_a_plan_awaiting_confirmation(workspace):
    put(workspace, samples.three_entries())
    assert look(workspace) == 3
    assert states() == {f"7f3c-0{n}": ("awaiting", 1) for n in (1, 2, 3)}
    assert look(workspace) == 0
    assert Schedule.objects.count() == 0


def test_a_changed_entry_is_a_revision_of_that_plan_only(workspace):
    put(workspace, samples.three_entries())
    look(workspace)
    put(workspace, samples.three_entries().replace("计划 2", "计划二"))
    assert look(workspace) == 1
    assert {task: number for task, (_state, number) in states().items()} == {
        "7f3c-01": 1,
        "7f3c-02": 2,
        "7f3c-03": 1,
    }


def test_a_confirmed_plan_that_the_agent_changed_is_held_before_it_is_due(confirmed, plan_file, workspace):
    plan_file.write_text(plan_file.read_text().replace("MON-FRI", "*"))
    look(workspace)
    plan = Plan.objects.get()
    assert (plan.state, plan.state_reason) == ("held", "PLAN.md changed after it was confirmed.")
    # The due time stays for the clock, which puts a held run on record.
    assert Schedule.objects.get().next_due_at > datetime.now(UTC) - timedelta(minutes=1)


def test_a_retired_plan_is_left_alone(confirmed, plan_file, workspace, later):
    lifecycle.retire_plan(confirmed, caller=later())
    plan_file.write_text(plan_file.read_text().replace("MON-FRI", "*"))
    look(workspace)
    assert states()[confirmed.task_id] == ("retired", 1)


def test_an_id_that_no_plan_may_have_is_passed_over(workspace):
    put(workspace, "[Task_ID: ../../x] y\n- Status: Active\n" + samples.CANONICAL)
    assert look(workspace) == 1


def test_a_link_in_place_of_the_file_is_not_read(workspace, tmp_path):
    (tmp_path / "elsewhere").write_text(samples.CANONICAL)
    folder = workspace / "archives" / "7f3c"
    folder.mkdir(parents=True)
    (folder / "PLAN.md").symlink_to(tmp_path / "elsewhere")
    assert follow_archive(Workspace.objects.get(), "7f3c", caller=system_caller("x")) == 0
    assert Plan.objects.count() == 0


class TestSoul:
    def test_the_first_sentence_and_the_name(self, tmp_path):
        (tmp_path / "SOUL.md").write_text("---\na: b\n---\n# Soul\n\n- **Say less.**\n")
        (tmp_path / "IDENTITY.md").write_text("- 名字：小舟\n")
        soul = read_soul(tmp_path)
        assert (soul.line, soul.persona) == ("Say less.", "小舟")

    def test_what_is_not_there_or_a_link_was_not_read(self, tmp_path):
        (tmp_path / "other").write_text("secret")
        (tmp_path / "SOUL.md").symlink_to(tmp_path / "other")
        soul = read_soul(tmp_path)
        assert (soul.line, soul.persona) == ("", "")
