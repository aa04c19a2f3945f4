"""Questions that are asked at every call, put together once.

For a short query the ORM spends ten times longer on its SQL than the database on the answer. A `Prepared` keeps
the SQL of a query set and runs it with other values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


class _Mark(str):
    """Stands for a value while the SQL is made; passes through the preparation of text fields as it is."""

    __slots__ = ("place",)
    place: int


class Prepared(Generic[M]):
    """`build(*texts)` makes the query set from text values (for CharField and TextField); any other value is
    a constant of it. The SQL is made at the first use, so that importing needs no database.

    >>> by_digest = Prepared(lambda digest: ApiToken.objects.filter(digest=digest), 1)
    """

    def __init__(self, build: Callable[..., QuerySet[M, Any]], texts: int = 0) -> None:
        self._build, self._texts = build, texts
        self._made: tuple[str, str, type[M], tuple[Any, ...]] | None = None

    def rows(self, *texts: str) -> list[tuple[Any, ...]]:
        """The columns as the driver gives them: texts and whole numbers only are the same on every database."""
        sql, _model, values = self._filled(texts)
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall()

    def first_row(self, *texts: str) -> tuple[Any, ...] | None:
        found = self.rows(*texts)
        return found[0] if found else None

    def all(self, *texts: str) -> list[M]:
        """Whole objects, as the query set itself would give them."""
        sql, model, values = self._filled(texts)
        return list(model._default_manager.raw(sql, values))

    def first(self, *texts: str) -> M | None:
        found = self.all(*texts)
        return found[0] if found else None

    def _filled(self, texts: tuple[str, ...]) -> tuple[str, type[M], list[Any]]:
        if len(texts) != self._texts:
            raise TypeError(f"{self._texts} values are asked for, {len(texts)} given")
        made = self._made
        if made is None or made[0] != connection.vendor:
            made = self._made = self._make()
        _vendor, sql, model, params = made
        return sql, model, [texts[value.place] if type(value) is _Mark else value for value in params]

    def _make(self) -> tuple[str, str, type[M], tuple[Any, ...]]:
        marks = []
        for place in range(self._texts):
            mark = _Mark(f"value {place}")
            mark.place = place
            marks.append(mark)
        found = self._build(*marks)
        sql, params = found.query.sql_with_params()
        self._check(params, marks)
        return connection.vendor, sql, found.model, tuple(params)

    @staticmethod
    def _check(params: Iterable[Any], marks: list[_Mark]) -> None:
        seen = {value.place for value in params if type(value) is _Mark}
        if seen != {mark.place for mark in marks}:
            raise TypeError("a value does not arrive in the SQL as it was given: is its field a text field?")
