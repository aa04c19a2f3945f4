from datetime import timedelta

import pytest

from archives.links import links_of, names_of
from plans.models import Run
from plans.services.running import session_key_of

pytestmark = pytest.mark.django_db


def test_a_plans_archive_leads_to_the_plan_and_names_the_session_that_made_it(written):
    found = links_of("main", written.archive_id)
    assert [(one.kind, one.url) for one in found] == [("plan", written.get_absolute_url()), ("session", "")]
    assert found[1].label == written.session_key
    assert links_of("other", written.archive_id) == []


def test_the_archive_of_an_isolated_run_leads_to_the_run(confirmed):
    run = Run.objects.create(
        plan=confirmed, confirmation=confirmed.confirmations.get(), due_at=confirmed.state_at
    )
    Run.objects.filter(pk=run.pk).update(session_key=session_key_of(run))
    found = links_of("main", str(run.uid))
    assert [(one.kind, one.url) for one in found] == [("run", run.get_absolute_url()), ("session", "")]
    assert found[1].label == session_key_of(run)


def test_lists_call_archives_by_their_plan_in_two_queries_however_many(
    confirmed, django_assert_max_num_queries
):
    runs = [
        Run.objects.create(
            plan=confirmed,
            confirmation=confirmed.confirmations.get(),
            due_at=confirmed.state_at + timedelta(hours=hour),
        )
        for hour in range(3)
    ]
    places = [("main", confirmed.archive_id), ("other", confirmed.archive_id), ("main", "none")]
    places += [("main", str(run.uid)) for run in runs]
    with django_assert_max_num_queries(2):
        names = names_of(places)
    assert names == {place: str(confirmed) for place in [places[0], *places[3:]]}
    assert str(confirmed) != confirmed.archive_id
