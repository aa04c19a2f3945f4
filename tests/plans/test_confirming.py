"""Only a person's yes to the very text on the disk makes a schedule."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import time_machine

from gateway import registry
from gateway.callers import command_caller, system_caller
from gateway.models import AuditEntry
from plans.errors import PlansError
from plans.models import Confirmation, Plan, Run, Schedule
from plans.services import decisions, intakes, lifecycle
from plans.services.revisions import follow_file


def nothing_scheduled() -> bool:
    return (Schedule.objects.count(), Confirmation.objects.count(), Run.objects.count()) == (0, 0, 0)


def refusal(call) -> str:
    with pytest.raises(PlansError) as error:
        call()
    return error.value.code


def test_writing_a_plan_makes_no_schedule(written, plan_file):
    assert written.state == Plan.State.AWAITING
    assert plan_file.read_bytes() == written.current.raw
    assert nothing_scheduled()


def test_confirming_makes_the_schedule_that_the_text_spells(written, later):
    confirmation = decisions.confirm_plan(written, digest=written.current.file_digest, caller=later())
    written.refresh_from_db()
    schedule = Schedule.objects.get()
    assert written.state == Plan.State.ACTIVE
    assert confirmation.digest == written.current.file_digest
    assert (schedule.kind, schedule.expr, schedule.zone) == ("cron", "0 9 * * MON-FRI", "Europe/London")
    assert (schedule.session_target, schedule.payload_kind) == ("isolated", "agentTurn")
    assert schedule.message == (
        f"从路径 archives/{written.archive_id}/PLAN.md 中读取 Task_ID: {written.task_id} 的详细计划并按步骤执行"
    )
    entry = AuditEntry.objects.get(action="plan.confirm")
    assert (entry.outcome, entry.actor, entry.digest) == ("ok", "reviewer", confirmation.digest)


class TestWhoMay:
    @pytest.mark.parametrize("kind", ["agent's token", "command", "system", "token with all scopes"])
    def test_nobody_but_a_person_confirms(self, written, agent_caller, kind):
        caller = {
            "agent's token": agent_caller,
            "command": command_caller(),
            "system": system_caller("x"),
            "token with all scopes": replace(agent_caller, is_agent=False, agent_ids=None),
        }[kind]
        call = lambda: decisions.confirm_plan(written, digest=written.current.file_digest, caller=caller)  # noqa: E731
        assert refusal(call) == "PEOPLE_ONLY"
        assert nothing_scheduled()
        assert AuditEntry.objects.get(action="plan.confirm").outcome == "refused"

    def test_the_method_is_refused_to_every_token_before_it_is_looked_at(self, written, agent_caller):
        with pytest.raises(registry.RpcError) as error:
            registry.call("plans.confirm", {"id": str(written.uid), "digest": "x"}, agent_caller)
        assert (error.value.code, error.value.details["code"]) == ("FORBIDDEN", "PEOPLE_ONLY")
        assert nothing_scheduled()

    def test_a_viewer_may_not(self, written, later, people):
        viewer = replace(later(), user=people["viewer"], scopes=frozenset({"operator.read"}))
        call = lambda: decisions.confirm_plan(written, digest=written.current.file_digest, caller=viewer)  # noqa: E731
        assert refusal(call) == "MISSING_SCOPE" and nothing_scheduled()

    def test_a_person_whose_account_is_closed_may_not(self, written, later, people):
        people["reviewer"].is_active = False
        caller = replace(later(), user=people["reviewer"])
        call = lambda: decisions.confirm_plan(written, digest=written.current.file_digest, caller=caller)  # noqa: E731
        assert refusal(call) == "PEOPLE_ONLY" and nothing_scheduled()


class TestWhat:
    def test_the_request_that_wrote_the_text_cannot_confirm_it(self, written, later):
        same = replace(later(), request_id=written.current.request_id)
        call = lambda: decisions.confirm_plan(written, digest=written.current.file_digest, caller=same)  # noqa: E731
        assert refusal(call) == "SAME_REQUEST" and nothing_scheduled()

    def test_a_file_that_changed_since_the_page_was_opened_is_refused_and_becomes_the_next_revision(
        self, written, later, plan_file
    ):
        digest = written.current.file_digest
        plan_file.write_bytes(plan_file.read_bytes() + b"  7. more\n")
        call = lambda: decisions.confirm_plan(written, digest=digest, caller=later())  # noqa: E731
        assert refusal(call) == "PLAN_CHANGED" and nothing_scheduled()
        written.refresh_from_db()
        assert (written.current.number, written.current.origin) == (2, "disk")
        # The new text can be confirmed, by its own digest only.
        assert refusal(call) == "PLAN_CHANGED"
        decisions.confirm_plan(written, digest=written.current.file_digest, caller=later())
        assert Schedule.objects.count() == 1

    @pytest.mark.parametrize("digest", ["", "0" * 64])
    def test_another_digest_is_refused(self, written, later, digest):
        call = lambda: decisions.confirm_plan(written, digest=digest, caller=later())  # noqa: E731
        assert refusal(call) == "PLAN_CHANGED" and nothing_scheduled()

    @pytest.mark.parametrize("what", ["gone", "link"])
    def test_a_file_that_is_gone_or_a_link_is_refused(self, written, later, plan_file, tmp_path, what):
        plan_file.rename(tmp_path / "away")
        if what == "link":
            plan_file.symlink_to(tmp_path / "away")
        call = lambda: decisions.confirm_plan(written, digest=written.current.file_digest, caller=later())  # noqa: E731
        assert refusal(call) == {"gone": "PLAN_GONE", "link": "PLAN_UNREADABLE"}[what]
        assert nothing_scheduled()

    def test_a_text_with_problems_is_refused_with_their_lines(self, written, later, plan_file):
        plan_file.write_text(plan_file.read_text().replace("- **Status**: Active\n", ""))
        plan = follow_file(written, caller=system_caller("x"))
        with pytest.raises(PlansError) as error:
            decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=later())
        assert error.value.code == "HAS_PROBLEMS"
        assert [(found["line"], found["code"]) for found in error.value.details["problems"]] == [
            (1, "MISSING_FIELD")
        ]
        assert nothing_scheduled()

    def test_a_text_is_confirmed_once(self, confirmed, later):
        call = lambda: decisions.confirm_plan(confirmed, digest=confirmed.current.file_digest, caller=later())  # noqa: E731
        assert refusal(call) == "ALREADY_CONFIRMED"

    def test_a_retired_plan_stays_retired(self, written, later):
        lifecycle.retire_plan(written, caller=later())
        call = lambda: decisions.confirm_plan(written, digest=written.current.file_digest, caller=later())  # noqa: E731
        assert refusal(call) == "NOT_AWAITING" and nothing_scheduled()


class TestChanging:
    def test_an_edit_goes_to_the_file_first_and_pauses_the_schedule_until_it_is_confirmed(
        self, confirmed, later, plan_file
    ):
        text = confirmed.current.text.replace("check the build", "check the build and the tests")
        decisions.edit_plan(confirmed, text=text, seen=confirmed.current.file_digest, caller=later())
        plan = Plan.objects.get()
        assert "and the tests" in plan_file.read_text()
        assert (plan.state, plan.current.number, plan.current.origin) == ("awaiting", 2, "edit")
        schedule = Schedule.objects.get()
        assert schedule.next_due_at is None
        decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=later())
        schedule.refresh_from_db()
        assert schedule.next_due_at is not None and schedule.confirmation.revision == plan.current
        assert Schedule.objects.count() == 1

    def test_an_edit_of_an_older_text_is_refused_and_writes_nothing(self, confirmed, later, plan_file):
        before = plan_file.read_bytes() + b"\n"
        plan_file.write_bytes(before)
        call = lambda: decisions.edit_plan(  # noqa: E731
            confirmed, text=confirmed.current.text + "x", seen=confirmed.current.file_digest, caller=later()
        )
        assert refusal(call) == "PLAN_CHANGED"
        assert plan_file.read_bytes() == before
        assert Schedule.objects.get().next_due_at is not None

    def test_another_schedule_changes_its_line_in_the_file_and_shows_its_next_time_at_once(
        self, confirmed, later, plan_file
    ):
        with time_machine.travel(datetime(2026, 12, 7, 22, 37, tzinfo=UTC), tick=True):
            before = plan_file.read_text().split("\n")
            decisions.set_schedule(
                confirmed,
                kind="cron",
                value="45 22 * * *",
                zone="UTC",
                seen=confirmed.current.file_digest,
                caller=later(),
            )
            after = plan_file.read_text().split("\n")
            assert [line for line in after if line not in before] == [
                "- **Schedule**: cron 45 22 * * * (UTC)"
            ]
            plan = Plan.objects.get()
            assert plan.state == "awaiting" and Schedule.objects.get().expr == "0 9 * * MON-FRI"
            decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=later())
            assert Schedule.objects.get().next_due_at == datetime(2026, 12, 7, 22, 45, tzinfo=UTC)

    def test_a_one_shot_moved_runs_at_the_new_time_only(self, confirmed, later):
        with time_machine.travel(datetime(2026, 12, 7, 8, 0, tzinfo=UTC), tick=True):
            for value in ("2026-12-07 09:00", "2026-12-07 10:00"):
                plan = Plan.objects.get()
                decisions.set_schedule(
                    plan, kind="at", value=value, zone="UTC", seen=plan.current.file_digest, caller=later()
                )
                plan.refresh_from_db()
                decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=later())
        schedule = Schedule.objects.get()
        assert schedule.at == schedule.next_due_at == datetime(2026, 12, 7, 10, 0, tzinfo=UTC)

    @pytest.mark.parametrize("value", ["0 0 30 2 *", "R 4 * * *", "0 9 * * FRI-MON"])
    def test_a_schedule_that_cannot_be_kept_is_refused_and_the_file_is_untouched(
        self, confirmed, later, plan_file, value
    ):
        before = plan_file.read_bytes()
        call = lambda: decisions.set_schedule(  # noqa: E731
            confirmed,
            kind="cron",
            value=value,
            zone="UTC",
            seen=confirmed.current.file_digest,
            caller=later(),
        )
        assert refusal(call) in ("SCHEDULE_NEVER_DUE", "BAD_CRON")
        assert plan_file.read_bytes() == before and Plan.objects.get().state == "active"

    def test_an_agent_may_write_a_new_text_and_it_awaits_a_person(self, confirmed, agent_caller):
        text = confirmed.current.text.replace("check the build", "check the tests")
        agent = replace(agent_caller, request_id="of the agent")
        decisions.edit_plan(confirmed, text=text, seen=confirmed.current.file_digest, caller=agent)
        plan = Plan.objects.get()
        assert (plan.state, plan.current.origin, plan.current.made_by) == (
            "awaiting",
            "agent",
            "token of main",
        )

    def test_an_agent_of_another_workspace_may_not(self, confirmed, agent_caller):
        from gateway.errors import GatewayError

        stranger = replace(agent_caller, agent_ids=frozenset({"ops"}))
        with pytest.raises(GatewayError):
            decisions.edit_plan(confirmed, text="x", seen="", caller=stranger)


class TestRequests:
    def test_words_go_to_the_plans_session_through_the_delivery_ledger(self, written, later):
        request = decisions.request_changes(
            written, text="太频繁了", comments=[{"line": 6, "text": "每周一次"}], caller=later()
        )
        written.refresh_from_db()
        assert written.state == "changes"
        delivery = request.delivery
        assert (delivery.session_key, delivery.purpose) == (written.session_key, "revision_request")
        assert delivery.generated_at and delivery.received_at is None
        assert "太频繁了" in delivery.text and "Line 6: 每周一次" in delivery.text
        assert "do not create any scheduled task" in delivery.text

    def test_a_new_text_answers_them_and_awaits_confirmation_again(self, written, later, plan_file):
        request = decisions.request_changes(written, text="more often", caller=later())
        plan_file.write_text(plan_file.read_text().replace("MON-FRI", "*"))
        plan = follow_file(written, caller=system_caller("x"))
        request.refresh_from_db()
        assert (plan.state, request.answered_by) == ("awaiting", plan.current)

    def test_without_a_session_they_are_kept_and_say_why_they_were_not_sent(self, written, later):
        Plan.objects.update(session_key="")
        request = decisions.request_changes(written, text="more often", caller=later())
        assert request.delivery is None
        assert request.delivery_error == "There is no session to send this to; there is no default one."

    def test_empty_words_are_refused(self, written, later):
        assert (
            refusal(lambda: decisions.request_changes(written, text=" ", caller=later())) == "EMPTY_REQUEST"
        )


class TestIntake:
    def test_nothing_is_written_before_the_ora_is_agreed(self, workspace, later):
        intake = intakes.start_intake("每天早上9点摘要新闻", agent_id="main", caller=later())
        assert refusal(lambda: intakes.write_plan(intake, caller=later())) == "ORA_NOT_AGREED"
        assert not (workspace / "archives").exists()

    def test_an_answer_after_agreeing_opens_it_again(self, workspace, later):
        intake = intakes.start_intake("daily at 9 summarise", agent_id="main", caller=later())
        intakes.agree_ora(intake, caller=later())
        intakes.answer_intake(intake, caller=later(), other="only technology")
        assert refusal(lambda: intakes.write_plan(intake, caller=later())) == "ORA_NOT_AGREED"

    def test_the_archive_is_the_last_part_of_the_session(self, written):
        assert written.session_key.startswith("agent:main:dashboard:")
        assert written.archive_id == written.session_key.rsplit(":", 1)[1]

    def test_the_draft_speaks_of_a_soul_that_was_read_and_names_the_persona(self, written):
        assert "it follows “Say less, do more.”" in written.current.text
        assert "- **Role_Context**: Mira (Aligned with SOUL.md & IDENTITY.md)" in written.current.text

    def test_an_agents_draft_says_that_it_was_the_agents(self, workspace, agent_caller):
        intake = intakes.start_intake("daily at 9 summarise", agent_id="main", caller=agent_caller)
        intakes.answer_intake(
            intake, caller=agent_caller, overrides={"objective": "Read the news so nobody must."}
        )
        answer = intakes.answer_of(intake)
        assert (answer.drafted_by, answer.baseline.objective) == (
            "token of main",
            "Read the news so nobody must.",
        )
        assert intake.session_key == "agent:main:main"

    def test_writing_twice_writes_once(self, written, later):
        intake = written.intakes.get()
        assert intakes.write_plan(intake, caller=later()) == written
        assert written.revisions.count() == 1

    def test_in_twenty_minutes_is_counted_from_when_it_was_said(self, workspace, later):
        with time_machine.travel(datetime(2026, 12, 7, 8, 0, tzinfo=UTC), tick=False) as clock:
            intake = intakes.start_intake(
                "in 20 minutes call me", agent_id="main", caller=later(), zone="UTC"
            )
            clock.shift(600)
            assert intakes.answer_of(intake).baseline.schedule == "at 2026-12-07T08:20:00+00:00 (UTC)"
            clock.shift(1200)
            assert refusal(lambda: intakes.agree_ora(intake, caller=later())) == "SCHEDULE_IN_THE_PAST"


class TestTheWayBack:
    """A held plan is never stuck: the confirmed text may come back, by hand or from here."""

    @pytest.fixture
    def gone(self, confirmed, plan_file) -> Plan:
        plan_file.rename(plan_file.with_suffix(".away"))
        plan = follow_file(confirmed, caller=system_caller("x"))
        assert plan.state == "held" and plan.current.number == 1
        return plan

    def test_while_the_file_is_gone_it_does_not_resume(self, gone, later):
        assert refusal(lambda: lifecycle.resume_plan(gone, caller=later())) == "PLAN_CHANGED"

    def test_put_back_by_hand_it_resumes_without_another_yes(self, gone, later, plan_file):
        plan_file.with_suffix(".away").rename(plan_file)
        plan = lifecycle.resume_plan(gone, caller=later())
        assert plan.state == "active" and Schedule.objects.get().next_due_at is not None

    def test_written_anew_from_here_it_awaits_a_yes_of_its_own(self, gone, later):
        revision = decisions.edit_plan(
            gone, text=gone.current.text, seen=gone.current.file_digest, caller=later()
        )
        assert (revision.number, Plan.objects.get().state) == (2, "awaiting")
        decisions.confirm_plan(Plan.objects.get(), digest=revision.file_digest, caller=later())
        assert Plan.objects.get().state == "active"

    def test_a_changed_text_put_back_by_hand_is_a_text_to_confirm(self, confirmed, later, plan_file):
        right = plan_file.read_bytes()
        plan_file.write_bytes(right + b"  7. more\n")
        follow_file(confirmed, caller=system_caller("x"))
        plan_file.write_bytes(right)
        plan = follow_file(confirmed, caller=system_caller("x"))
        assert (plan.state, plan.current.number) == ("held", 3)
        assert refusal(lambda: lifecycle.resume_plan(plan, caller=later())) == "PLAN_CHANGED"
        decisions.confirm_plan(plan, digest=plan.current.file_digest, caller=later())
        assert Plan.objects.get().state == "active"
