"""Plans over the wire: what a token may see and do, and our schedules in the peer's shapes."""

from dataclasses import replace

import pytest

from gateway import registry
from gateway.registry import RpcError
from plans.models import Plan, Run, Schedule
from plans.services import lifecycle
from plans.services.running import execute_run

pytestmark = pytest.mark.django_db


def refused(name, params, caller) -> RpcError:
    with pytest.raises(RpcError) as error:
        registry.call(name, params, caller)
    return error.value


class TestFromWishToPlan:
    def test_an_agent_drafts_writes_and_revises_and_a_person_has_the_last_word(self, workspace, agent_caller):
        agent = replace(agent_caller, request_id="agent-1")
        draft = registry.call("plans.draft", {"wish": "每天早上9点摘要新闻", "agentId": "main"}, agent)[
            "draft"
        ]
        assert draft["options"][0]["label"] == "频率" and draft["other"] == "其他：[由用户补充]"
        registry.call("plans.answer", {"id": draft["id"], "chosen": {"deliverable": "summary"}}, agent)
        registry.call("plans.agree", {"id": draft["id"]}, agent)
        plan = registry.call("plans.write", {"id": draft["id"]}, agent)["plan"]
        assert (plan["state"], plan["archiveId"], plan["schedule"]) == ("awaiting", "main", None)
        shown = registry.call("plans.get", {"id": plan["id"]}, agent)["plan"]
        assert shown["problems"] == [] and shown["confirmed"] is False
        text = shown["text"].replace("摘要新闻", "摘要科技新闻")
        params = {"id": plan["id"], "text": text, "seen": plan["digest"]}
        assert registry.call("plans.revise", params, agent)["revision"]["origin"] == "agent"
        error = refused("plans.confirm", {"id": plan["id"], "digest": plan["digest"]}, agent)
        assert error.details["code"] == "PEOPLE_ONLY"
        assert Schedule.objects.count() == 0

    def test_a_repeated_draft_with_its_key_is_one_draft(self, workspace, agent_caller):
        params = {"wish": "daily at 9", "agentId": "main", "idempotencyKey": "k"}
        first = registry.call("plans.draft", params, agent_caller)
        assert registry.call("plans.draft", params, agent_caller) == first


class TestRights:
    @pytest.mark.parametrize(
        ("name", "extra"),
        [
            ("plans.get", {}),
            ("plans.revise", {"text": "x", "seen": "x"}),
            ("plans.requestChanges", {"text": "x"}),
            ("plans.pause", {}),
            ("plans.runNow", {}),
            ("plans.retire", {}),
            ("cron.get", {}),
        ],
    )
    def test_a_token_of_another_agent_gets_nothing(self, confirmed, agent_caller, name, extra):
        stranger = replace(agent_caller, agent_ids=frozenset({"ops"}))
        error = refused(name, {"id": str(confirmed.uid), **extra}, stranger)
        assert error.details["code"] == "AGENT_NOT_ALLOWED"
        assert Plan.objects.get().state == "active"

    def test_lists_hold_only_what_the_caller_may_see(self, confirmed, agent_caller):
        stranger = replace(agent_caller, agent_ids=frozenset({"ops"}))
        assert registry.call("plans.list", {}, stranger)["plans"] == []
        assert registry.call("plans.runs", {}, stranger)["runs"] == []
        assert registry.call("cron.list", {}, stranger)["jobs"] == []
        assert len(registry.call("plans.list", {}, agent_caller)["plans"]) == 1

    def test_an_id_that_is_none_is_not_found(self, agent_caller):
        assert refused("plans.get", {"id": "nope"}, agent_caller).details["code"] == "PLAN_NOT_FOUND"


class TestDeciding:
    def test_pause_resume_settings_run_stop_retire(self, confirmed, shell):
        plan = {"id": str(confirmed.uid)}
        assert registry.call("plans.pause", plan, shell)["plan"]["state"] == "paused"
        assert registry.call("plans.resume", plan, shell)["plan"]["state"] == "active"
        changed = registry.call("plans.settings", {**plan, "missed": "skip", "timeLimitSeconds": 60}, shell)[
            "plan"
        ]
        assert (changed["missed"], changed["timeLimitSeconds"]) == ("skip", 60)
        run = registry.call("plans.runNow", plan, shell)["run"]
        assert run["status"] == "queued"
        assert "still going" in refused("plans.runNow", plan, shell).message
        assert registry.call("plans.stop", {"runId": run["id"]}, shell)["run"]["outcome"] == "stopped"
        assert registry.call("plans.retire", plan, shell)["plan"]["state"] == "retired"
        assert (
            refused("plans.runNow", plan, shell).message
            == "Only a plan whose present text is confirmed can run."
        )


class TestCron:
    """Our schedules in the peer's shapes (contract §4.1; recorded in cron-list, cron-get-after-run, cron-runs)."""

    @pytest.fixture
    def job(self, confirmed) -> dict:
        return {"id": str(confirmed.uid)}

    def test_a_job_has_the_peers_keys_and_the_forced_parameters(self, confirmed, job, shell):
        found = registry.call("cron.get", job, shell)
        assert found["schedule"] == {"kind": "cron", "expr": "0 9 * * MON-FRI", "tz": "Europe/London"}
        assert (found["sessionTarget"], found["payload"]["kind"], found["wakeMode"]) == (
            "isolated",
            "agentTurn",
            "now",
        )
        assert found["payload"]["message"].startswith(
            f"从路径 archives/{confirmed.archive_id}/PLAN.md 中读取"
        )
        assert found["nextRunAtMs"] == found["state"]["nextRunAtMs"]
        recorded = {
            "id", "agentId", "name", "enabled", "createdAtMs", "updatedAtMs", "schedule", "sessionTarget", "wakeMode",
            "payload", "delivery", "state", "configRevision", "nextRunAtMs",
        }  # fmt: skip
        assert recorded <= set(found)

    def test_the_list_pages_and_hides_what_is_disabled(self, confirmed, job, shell):
        listed = registry.call("cron.list", {}, shell)
        assert set(listed) == {
            "jobs", "snapshotRevision", "total", "offset", "limit", "hasMore", "nextOffset", "deliveryPreviews",
        }  # fmt: skip
        assert (listed["total"], listed["hasMore"], listed["nextOffset"]) == (1, False, None)
        registry.call("cron.update", {**job, "patch": {"enabled": False}}, shell)
        assert registry.call("cron.list", {}, shell)["total"] == 0
        (hidden,) = registry.call("cron.list", {"includeDisabled": True}, shell)["jobs"]
        assert hidden["enabled"] is False

    def test_runs_in_the_peers_shape(self, confirmed, job, shell, agent_program, later):
        execute_run(lifecycle.run_now(confirmed, caller=later()).pk)
        (entry,) = registry.call("cron.runs", job, shell)["entries"]
        assert (entry["action"], entry["status"], entry["completionStatus"]) == (
            "finished",
            "ok",
            "succeeded",
        )
        assert entry["summary"].startswith("Done.")
        assert entry["sessionKey"].startswith(f"agent:main:cron:{confirmed.uid}:run:")
        assert (entry["delivered"], entry["deliveryStatus"]) == (False, "not-requested")
        assert registry.call("cron.runs", {**job, "statuses": ["error"]}, shell)["entries"] == []

    @pytest.mark.parametrize(
        ("mode", "prepare", "reason"),
        [
            ("due", None, "not-due"),
            ("if-enabled", "paused", "disabled"),
            ("force", "running", "already-running"),
            ("force", None, None),
        ],
    )
    def test_running_one_answers_as_the_peer_does(self, confirmed, job, shell, later, mode, prepare, reason):
        if prepare == "paused":
            lifecycle.pause_plan(confirmed, caller=later())
        if prepare == "running":
            lifecycle.run_now(confirmed, caller=later())
        answer = registry.call("cron.run", {**job, "mode": mode}, shell)
        if reason:
            assert (answer["ok"], answer["ran"], answer["reason"]) == (True, False, reason)
        else:
            assert (answer["ok"], answer["enqueued"]) == (True, True)
            assert str(Run.objects.get().uid) == answer["runId"]

    def test_nothing_is_added_without_a_confirmed_plan(self, shell):
        params = {
            "schedule": {"kind": "every", "everyMs": 60000},
            "payload": {"kind": "agentTurn", "message": "hi"},
        }
        error = refused("cron.add", params, shell)
        assert (error.code, error.details["code"]) == ("INVALID_REQUEST", "CONFIRMATION_REQUIRED")
        assert Schedule.objects.count() == 0

    @pytest.mark.parametrize(
        "patch", [{"schedule": {"kind": "every", "everyMs": 1}}, {"payload": {"message": "x"}}]
    )
    def test_time_and_message_cannot_be_changed_past_the_file(self, job, shell, patch):
        assert refused("cron.update", {**job, "patch": patch}, shell).code == "INVALID_REQUEST"

    def test_removing_retires_and_a_second_time_there_is_no_job(self, job, shell):
        assert registry.call("cron.remove", job, shell) == {"ok": True, "removed": True}
        error = refused("cron.remove", job, shell)
        assert error.details == {"code": "CRON_JOB_NOT_FOUND", "jobId": job["id"]}

    @pytest.mark.parametrize("name", ["cron.get", "cron.run", "cron.remove", "cron.runs"])
    def test_an_unknown_job_is_told_by_its_id(self, shell, name):
        assert refused(name, {"id": "nope"}, shell).details == {"code": "CRON_JOB_NOT_FOUND", "jobId": "nope"}

    def test_both_ids_are_refused(self, shell):
        assert refused("cron.get", {"id": "a", "jobId": "a"}, shell).code == "INVALID_REQUEST"

    def test_status_counts_what_is_active(self, confirmed, shell):
        status = registry.call("cron.status", {}, shell)
        assert (status["enabled"], status["jobs"]) == (True, 1)
        assert (
            status["nextWakeAtMs"]
            == registry.call("cron.get", {"id": str(confirmed.uid)}, shell)["nextRunAtMs"]
        )

    def test_a_reading_token_may_look_and_not_touch(self, job, agent_caller):
        reader = replace(agent_caller, scopes=frozenset({"operator.read"}))
        assert registry.call("cron.get", job, reader)["id"] == job["id"]
        assert refused("cron.run", job, reader).details["code"] == "MISSING_SCOPE"
