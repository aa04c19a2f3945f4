import pytest

from archives.links import links_of
from plans.models import Run

pytestmark = pytest.mark.django_db


def test_a_plans_archive_leads_to_the_plan(written):
    found = links_of("main", written.archive_id)
    assert [(one.kind, one.url) for one in found] == [("plan", written.get_absolute_url())]
    assert links_of("other", written.archive_id) == []


def test_the_archive_of_an_isolated_run_leads_to_the_run(confirmed):
    run = Run.objects.create(
        plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=confirmed.state_at
    )
    found = links_of("main", str(run.uid))
    assert [(one.kind, one.url) for one in found] == [("run", run.get_absolute_url())]
