"""What the database refuses, whoever writes: no way from an unconfirmed or changed text to a running turn."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from plans import guards
from plans.models import Confirmation, Plan, Revision, Run, Schedule
from plans.planfile_write import task_message

DUE = datetime(2030, 1, 1, 9, 0, tzinfo=UTC)


def refused(write) -> str:
    """The database's own words when it refuses `write`."""
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        write()
    return str(error.value)


def schedule_fields(plan: Plan, confirmation: Confirmation | None, **changes) -> dict:
    return {
        "plan": plan,
        "confirmation": confirmation,
        "kind": "cron",
        "expr": "0 9 * * *",
        "message": task_message(plan.archive_id, plan.task_id),
        **changes,
    }


def confirmation_fields(plan: Plan, person, **changes) -> dict:
    return {
        "plan": plan,
        "revision": plan.current,
        "digest": plan.current.file_digest,
        "person": person,
        "request_id": "another",
        "confirmed_at": timezone.now() + timedelta(seconds=1),
        **changes,
    }


def test_every_guard_is_installed(db):
    assert guards.missing(connection) == []
    assert len(guards.installed(connection)) == len(guards.GUARDS)


class TestSchedule:
    def test_none_without_a_confirmation(self, written):
        refused(lambda: Schedule.objects.create(**schedule_fields(written, None)))

    def test_none_with_the_confirmation_of_another_plan(self, written, confirmed):
        other = Plan.objects.create(agent_id="main", archive_id="x", task_id="y")
        said = refused(
            lambda: Schedule.objects.create(**schedule_fields(other, confirmed.confirmations.get()))
        )
        assert "a schedule needs its plan's confirmation and the forced first instruction" in said

    @pytest.mark.parametrize(
        "change",
        [
            {"session_target": "main"},
            {"payload_kind": "systemEvent"},
            {"session_target": ""},
            {"payload_kind": "agentturn"},
        ],
    )
    def test_the_forced_parameters_cannot_be_other(self, confirmed, change):
        refused(lambda: Schedule.objects.update(**change))
        refused(lambda: Schedule.objects.bulk_update([_with(confirmed.schedule, **change)], list(change)))

    @pytest.mark.parametrize(
        "message",
        [
            "",
            "do it",
            "从路径 archives/x/PLAN.md 中读取 Task_ID: y 的详细计划并按步骤执行",
            "{}x",
            " {}",
            "{} more on the same line",
        ],
    )
    def test_the_message_begins_with_the_first_instruction_character_by_character(self, confirmed, message):
        right = task_message(confirmed.archive_id, confirmed.task_id)
        said = refused(lambda: Schedule.objects.update(message=message.replace("{}", right)))
        assert "forced first instruction" in said

    def test_further_lines_may_follow_it(self, confirmed):
        more = task_message(confirmed.archive_id, confirmed.task_id, "and be brief")
        assert Schedule.objects.update(message=more) == 1


def _with(row, **changes):
    for key, value in changes.items():
        setattr(row, key, value)
    return row


class TestConfirmation:
    def test_none_without_a_person(self, written):
        refused(lambda: Confirmation.objects.create(**confirmation_fields(written, None)))

    def test_none_by_somebody_who_may_not_sign_in_any_more(self, written, people):
        people["viewer"].is_active = False
        people["viewer"].save()
        refused(lambda: Confirmation.objects.create(**confirmation_fields(written, people["viewer"])))

    @pytest.mark.parametrize("digest", ["", "0" * 64, "x" * 64, "A" * 64])
    def test_none_with_another_digest_than_the_revisions(self, written, people, digest):
        refused(
            lambda: Confirmation.objects.create(
                **confirmation_fields(written, people["reviewer"], digest=digest)
            )
        )

    def test_none_in_the_request_that_wrote_the_text(self, written, people):
        request = written.current.request_id
        refused(
            lambda: Confirmation.objects.create(
                **confirmation_fields(written, people["reviewer"], request_id=request)
            )
        )

    def test_none_before_the_text_was_written(self, written, people):
        before = written.current.created_at
        refused(
            lambda: Confirmation.objects.create(
                **confirmation_fields(written, people["reviewer"], confirmed_at=before)
            )
        )

    def test_none_for_the_revision_of_another_plan(self, written, people):
        other = Plan.objects.create(agent_id="main", archive_id="x", task_id="y")
        refused(
            lambda: Confirmation.objects.create(
                **{**confirmation_fields(written, people["reviewer"]), "plan": other}
            )
        )

    def test_it_never_changes(self, confirmed, people):
        assert "never changes" in refused(lambda: Confirmation.objects.update(person=people["administrator"]))
        assert "never changes" in refused(lambda: Confirmation.objects.update(digest="0" * 64))


class TestTexts:
    def test_a_revision_never_changes(self, confirmed):
        assert "never changes" in refused(lambda: Revision.objects.update(text="other"))
        assert "never changes" in refused(lambda: Revision.objects.update(content=b"other"))

    def test_a_plan_keeps_its_name_on_the_disk(self, confirmed):
        for change in ({"task_id": "z"}, {"archive_id": "z"}, {"agent_id": "z"}):
            assert "keeps its agent" in refused(lambda change=change: Plan.objects.update(**change))


class TestActive:
    def test_a_plan_is_not_made_active_by_writing_its_row(self, written):
        assert "confirmed and scheduled" in refused(lambda: Plan.objects.update(state="active"))
        refused(lambda: Plan.objects.create(agent_id="main", archive_id="x", task_id="y", state="active"))

    def test_an_active_plan_cannot_be_pointed_at_an_unconfirmed_text(self, confirmed):
        new = Revision.objects.create(
            plan=confirmed, number=2, content=b"x", text="x", file_digest="1" * 64, origin="disk", made_by="x"
        )
        assert "confirmed and scheduled" in refused(lambda: Plan.objects.update(current=new))


class TestRuns:
    @pytest.mark.parametrize("status", ["queued", "running"])
    def test_none_of_an_unconfirmed_plan(self, written, status):
        refused(lambda: Run.objects.create(plan=written, due_at=DUE, status=status))
        refused(lambda: Run.objects.bulk_create([Run(plan=written, due_at=DUE, status=status)]))

    def test_none_without_naming_the_confirmation(self, confirmed):
        refused(lambda: Run.objects.create(plan=confirmed, due_at=DUE))

    @pytest.mark.parametrize("state", ["held", "awaiting", "changes", "retired"])
    def test_none_of_a_plan_that_is_not_to_run(self, confirmed, state):
        Plan.objects.update(state=state)
        refused(
            lambda: Run.objects.create(plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=DUE)
        )

    def test_a_queued_one_cannot_start_once_the_text_changed(self, confirmed):
        run = Run.objects.create(plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=DUE)
        new = Revision.objects.create(
            plan=confirmed, number=2, content=b"x", text="x", file_digest="1" * 64, origin="disk", made_by="x"
        )
        Plan.objects.update(state="awaiting", current=new)
        assert "current text confirmed" in refused(
            lambda: Run.objects.filter(pk=run.pk).update(status="running")
        )

    def test_an_ended_one_cannot_be_revived_without_confirmation(self, written):
        run = Run.objects.create(plan=written, due_at=DUE, status="ended", outcome="missed", ended_at=DUE)
        refused(lambda: Run.objects.filter(pk=run.pk).update(status="queued", outcome=""))

    def test_a_running_one_still_gives_signs_of_life_after_the_text_changed(self, confirmed):
        run = Run.objects.create(
            plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=DUE, status="running"
        )
        Plan.objects.update(state="held")
        assert Run.objects.filter(pk=run.pk).update(seen_at=DUE) == 1
        assert Run.objects.filter(pk=run.pk).update(status="ended", outcome="ok", ended_at=DUE) == 1

    def test_one_due_instant_has_one_row(self, confirmed):
        fields = {"plan": confirmed, "confirmation": confirmed.confirmations.get(), "due_at": DUE}
        Run.objects.create(**fields)
        refused(lambda: Run.objects.create(**fields))

    def test_an_outcome_comes_with_the_end_and_only_then(self, confirmed):
        fields = {"plan": confirmed, "confirmation": confirmed.confirmations.get()}
        refused(lambda: Run.objects.create(**fields, due_at=DUE, status="queued", outcome="ok"))
        refused(lambda: Run.objects.create(**fields, due_at=DUE, status="ended", ended_at=DUE))


@pytest.mark.django_db
def test_guards_that_were_lost_are_reported_by_the_check_and_made_again():
    from plans.apps import check_guards, make_guards

    guards.remove(connection)
    (found,) = check_guards(databases=["default"])
    assert found.id == "plans.E001" and "run_new" in found.msg
    make_guards(using="default")
    assert check_guards(databases=["default"]) == []
