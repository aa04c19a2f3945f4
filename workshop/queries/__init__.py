"""Reads. `wire` answers methods in the contract's shapes; `desk` and `skills` feed the pages."""

from workshop.queries.waiting import waiting, waiting_count

__all__ = ["waiting", "waiting_count"]
