"""Only a person's yes to the very text on the disk makes a schedule."""

from plans.models import Confirmation, Plan, Run, Schedule
from plans.services import decisions


def test_writing_a_plan_makes_no_schedule(written, plan_file):
    assert written.state == Plan.State.AWAITING
    assert plan_file.read_bytes() == written.current.raw
    assert (Schedule.objects.count(), Confirmation.objects.count(), Run.objects.count()) == (0, 0, 0)


def test_confirming_makes_the_schedule_that_the_text_spells(written, later, plan_file):
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
