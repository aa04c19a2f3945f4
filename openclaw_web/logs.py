"""Log lines: one event, one line, with the id of the request that caused it."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

from openclaw_web.credentials import masked

current_request_id: ContextVar[str] = ContextVar("request_id", default="-")


class RequestIdFilter(logging.Filter):
    """Puts `request_id` on every record: the current request's, or `-` outside one."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "request_id"):
            record.request_id = current_request_id.get()
        return True


class LineFormatter(logging.Formatter):
    """`<UTC instant> <LEVEL> [<request id>] <logger>: <message>`; line breaks are escaped and
    credentials masked."""

    def format(self, record: logging.LogRecord) -> str:
        message = masked(super().format(record))
        if record.exc_info is None:
            # A message can carry what a stranger typed; it must not be able to forge a second line.
            message = message.replace("\r", "\\r").replace("\n", "\\n")
        return f"{_instant(record)} {record.levelname} [{record.request_id}] {record.name}: {message}"  # type: ignore[attr-defined]


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `at`, `level`, `logger`, `request_id`, `message`, and `exception` where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": _instant(record),
            "level": record.levelname,
            "logger": record.name,
            "request_id": record.request_id,  # type: ignore[attr-defined]
            "message": masked(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
