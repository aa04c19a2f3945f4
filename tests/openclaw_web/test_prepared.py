import pytest

from gateway.models import ApiToken, LedgerEvent
from openclaw_web.prepared import Prepared

pytestmark = pytest.mark.django_db


def token(name, **fields):
    return ApiToken.objects.create(
        name=name, digest=name * 4, **{"scopes": ["operator.read"], "agent_ids": ["main"], **fields}
    )


def test_the_objects_are_those_of_the_query_set():
    made, by_digest = token("a"), Prepared(lambda digest: ApiToken.objects.filter(digest=digest), 1)
    token("b", agent_ids=None)
    for digest in ("aaaa", "bbbb"):
        plain = ApiToken.objects.get(digest=digest)
        found = by_digest.first(digest)
        assert [getattr(found, field.attname) for field in ApiToken._meta.concrete_fields] == [
            getattr(plain, field.attname) for field in ApiToken._meta.concrete_fields
        ]
    assert by_digest.first("aaaa") == made
    assert by_digest.first("nobody") is None
    assert by_digest.all("%s'--") == []


def test_values_keep_their_places_beside_constants():
    for name, agent in (("x", "main"), ("y", "main"), ("z", "ops")):
        LedgerEvent.objects.create(kind="a.b", subject=name, agent_id=agent)
    ask = Prepared(
        lambda agent, subject: (
            LedgerEvent.objects.filter(kind="a.b", agent_id=agent)
            .exclude(subject=subject)
            .order_by("subject")
            .values_list("subject", "agent_id")
        ),
        2,
    )
    assert ask.rows("main", "x") == [("y", "main")]
    assert ask.rows("main", "y") == [("x", "main")]
    assert ask.first_row("ops", "z") is None


def test_one_question_is_one_statement(django_assert_num_queries):
    ask = Prepared(lambda digest: ApiToken.objects.filter(digest=digest), 1)
    for digest in ("a", "b"):
        with django_assert_num_queries(1):
            ask.first(digest)


def test_a_value_that_the_field_changes_is_refused():
    ask = Prepared(lambda pk: LedgerEvent.objects.filter(pk__gte=pk), 1)
    with pytest.raises((TypeError, ValueError)):
        ask.rows("7")


def test_too_few_values_are_refused():
    with pytest.raises(TypeError, match="1 values are asked for, 0 given"):
        Prepared(lambda digest: ApiToken.objects.filter(digest=digest), 1).rows()
