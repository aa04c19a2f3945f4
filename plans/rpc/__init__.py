"""The methods of plans, found by name when Django starts."""

from plans.rpc import cron, decisions, drafting, reading

__all__ = ["cron", "decisions", "drafting", "reading"]
