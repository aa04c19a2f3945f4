"""Old runs go, the newest twenty of each plan stay."""

from datetime import UTC, datetime, timedelta

from plans.models import Run
from plans.services.retention import forget_old_runs

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_runs_past_their_time_go_but_for_the_newest_twenty(confirmed, settings):
    settings.RUN_DAYS = 100
    for day in range(30):
        due = NOW - timedelta(days=101 + day)
        Run.objects.create(plan=confirmed, due_at=due, status="ended", outcome="missed", ended_at=due)
    assert forget_old_runs(now=NOW - timedelta(days=50)) == 0
    assert forget_old_runs(now=NOW) == 10
    kept = Run.objects.order_by("due_at").values_list("due_at", flat=True)
    assert (len(kept), kept[0]) == (20, NOW - timedelta(days=120))


def test_recent_runs_stay_however_many_there_are(confirmed, settings):
    settings.RUN_DAYS = 100
    for day in range(30):
        due = NOW - timedelta(days=day)
        Run.objects.create(plan=confirmed, due_at=due, status="ended", outcome="missed", ended_at=due)
    assert forget_old_runs(now=NOW) == 0
