"""Cleanup and the import of old state files."""

import json
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from gateway.deliveries import queue_message
from gateway.models import Delivery
from longrun.errors import LongRunError
from longrun.models import LongTask
from longrun.services.cleanup import clean_up
from longrun.services.importing import import_states
from longrun.services.tasks import Report, set_task

from .conftest import KEY, NOON


@pytest.fixture
def mess(clock, begin, agent_caller, shell):
    begin("alive")
    begin("old and done")
    set_task("old and done", state="done", report=Report(), caller=agent_caller)
    begin("test-run")
    set_task("test-run", state="done", report=Report(), caller=agent_caller)
    report = Report(stuck_at="a", missing="b", suggestion="c")
    set_task("unbound", state="blocked", report=report, caller=agent_caller)
    begin("young")
    set_task("young", state="done", report=Report(), caller=agent_caller)
    LongTask.objects.filter(name__in=("old and done", "alive")).update(updated_at=NOON - timedelta(days=31))


def test_cleanup_shows_first_and_changes_nothing(mess, shell):
    answer = clean_up(caller=shell)
    assert {entry["task"]: entry["reason"] for entry in answer["found"]} == {
        "old and done": "old",
        "test-run": "test_leftover",
        "unbound": "no_session_key",
    }
    assert (answer["removed"], answer["export"], LongTask.objects.count()) == (0, None, 5)


def test_cleanup_removes_when_told_and_keeps_an_export(mess, shell):
    answer = clean_up(caller=shell, apply=True)
    assert answer["removed"] == 3
    assert sorted(LongTask.objects.values_list("name", flat=True)) == ["alive", "young"]
    export = Path(answer["export"])
    assert stat.S_IMODE(export.stat().st_mode) == 0o600
    kept = json.loads(export.read_text(encoding="utf-8"))
    assert sorted(entry["name"] for entry in kept) == ["old and done", "test-run", "unbound"]
    assert [
        event["to_state"] for entry in kept if entry["name"] == "test-run" for event in entry["events"]
    ] == [
        "done",
        "executing",
    ]
    assert clean_up(caller=shell, apply=True)["removed"] == 0


def test_cleanup_frees_a_lock_that_lies_in_an_impossible_future(db, clock, shell):
    kept = {}
    for key, seconds in (("held", 100), ("stale", 10_800)):
        delivery = queue_message(
            agent_id="main", session_key=KEY, text="x", purpose="p", dedupe_key=key, caller=shell
        )
        Delivery.objects.filter(pk=delivery.pk).update(hold_until=timezone.now() + timedelta(seconds=seconds))
        kept[key] = delivery
    assert clean_up(caller=shell)["stale_locks"] == 1
    clean_up(caller=shell, apply=True)
    for delivery in kept.values():
        delivery.refresh_from_db()
    assert kept["stale"].hold_until is None
    assert kept["held"].hold_until is not None


def test_an_agent_cleans_only_its_own(mess, agent_caller, begin, shell):
    set_task(
        "other",
        state="blocked",
        report=Report(stuck_at="a", missing="b", suggestion="c"),
        caller=shell,
        agent_id="ops",
    )
    assert "other" not in {entry["task"] for entry in clean_up(caller=agent_caller)["found"]}


OLD_ENTRY = {
    "session": "主会话",
    "origin_session_key": KEY,
    "state": "executing",
    "goal": "整理合同",
    "note": "核对第 3 份",
    "progress_every": "3m",
    "last_progress_at": "2026-11-30T11:00:00+00:00",
    "last_progress_sent_at": "2026-11-30T11:00:00+00:00",
}


@pytest.mark.parametrize(
    "shape",
    [
        {"合同": OLD_ENTRY},
        {"tasks": {"合同": OLD_ENTRY}},
        {"tasks": [{"task": "合同", **OLD_ENTRY}]},
        [{"task": "合同", **OLD_ENTRY}],
    ],
)
def test_an_old_state_file_is_imported_and_its_moments_are_only_a_claim(db, clock, shell, shape):
    assert import_states(shape, caller=shell) == {"imported": ["合同"], "refused": [], "already_there": []}
    task = LongTask.objects.get()
    assert (task.state, task.note, task.progress_every) == ("executing", "核对第 3 份", timedelta(minutes=3))
    assert (task.last_progress_at, task.last_progress_sent_at) == (None, None)
    claimed = task.events.first().data["claimed"]
    assert claimed["last_progress_at"] == "2026-11-30T11:00:00+00:00"


def test_an_entry_without_a_session_key_is_listed_and_not_stored(db, shell):
    entry = {**OLD_ENTRY, "origin_session_key": ""}
    answer = import_states({"dirty": entry, "clean": OLD_ENTRY}, caller=shell, agent_id="main")
    assert answer["imported"] == ["clean"]
    assert [(entry["task"], entry["code"]) for entry in answer["refused"]] == [
        ("dirty", "SESSION_KEY_MISSING")
    ]
    assert LongTask.objects.get().name == "clean"


def test_importing_twice_changes_nothing(db, shell):
    import_states({"a": OLD_ENTRY}, caller=shell)
    assert import_states({"a": OLD_ENTRY}, caller=shell)["already_there"] == ["a"]


@pytest.mark.parametrize("data", [{}, [], {"tasks": 3}, [1], {"a": "b"}, "text"])
def test_what_is_no_state_file_is_refused(db, shell, data):
    with pytest.raises(LongRunError) as refused:
        import_states(data, caller=shell)
    assert refused.value.code == "IMPORT_SHAPE"
