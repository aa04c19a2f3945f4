"""`manage.py plans`: everything but confirming."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from plans.models import Plan, Run
from tests.plans import samples


def told(*arguments: str) -> dict:
    out = StringIO()
    call_command("plans", "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


def test_list_show_pause_resume_run_stop_retire(confirmed):
    plan_id = str(confirmed.uid)
    (listed,) = told("list", "--state", "active")["plans"]
    assert listed["id"] == plan_id
    assert told("show", plan_id)["plan"]["confirmed"] is True
    assert told("pause", plan_id)["plan"]["state"] == "paused"
    assert told("resume", plan_id)["plan"]["state"] == "active"
    run = told("run", plan_id)["run"]
    assert told("runs", plan_id)["runs"][0]["id"] == run["id"]
    assert told("stop", run["id"])["run"]["outcome"] == "stopped"
    assert told("retire", plan_id)["plan"]["state"] == "retired"


def test_there_is_no_confirming(written):
    with pytest.raises(CommandError):
        call_command("plans", "confirm", str(written.uid))
    assert Plan.objects.get().state == "awaiting"


def test_check_lists_what_stands_against_confirming(tmp_path, db):
    folder = tmp_path / "archives" / "7f3c"
    folder.mkdir(parents=True)
    file = folder / "PLAN.md"
    file.write_text(samples.SEED.replace("• Status: Active\n", ""))
    found = told("check", str(file))
    assert found["entries"] == ["7f3c-01"]
    assert [(item["line"], item["code"]) for item in found["problems"]] == [(1, "MISSING_FIELD")]


def test_when_tells_a_schedule_in_words_with_its_next_times(db):
    answer = told("when", "cron 0 9 * * MON-FRI", "--zone", "Asia/Shanghai")
    assert answer["words"] == "on Monday to Friday at 09:00 (Asia/Shanghai)"
    assert len(answer["due"]) == 5 and all(item["local"].endswith("09:00") for item in answer["due"])
    with pytest.raises(CommandError, match="SCHEDULE_NEVER_DUE"):
        told("when", "cron 0 0 30 2 *")


def test_draft_answers_a_wish(workspace):
    draft = told("draft", "每周五下午整理", "--agent", "main", "--zone", "Asia/Shanghai")["draft"]
    assert draft["baseline"]["schedule"] == "cron 0 14 * * FRI (Asia/Shanghai)"


def test_tick_and_follow_tell_what_they_did(confirmed):
    assert told("tick")["queued"] == 0 and Run.objects.count() == 0
    assert told("follow") == {"changed": 0}


def test_without_json_it_is_lines_for_people(confirmed):
    out = StringIO()
    call_command("plans", "list", stdout=out)
    assert "    state: active" in out.getvalue()
