"""The wall clock that TIMESTAMPs are written in.

Django sets this process's TZ to UTC, so the host's zone is read from where `date` finds it.
"""

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from archives.protocol import read_timestamp

LOCALTIME = Path("/etc/localtime")


@lru_cache(maxsize=1)
def host_zone() -> ZoneInfo:
    """The zone of this host's `date`; UTC where it has none."""
    try:
        with LOCALTIME.open("rb") as stream:
            return ZoneInfo.from_file(stream, key="localtime")
    except (OSError, ValueError):
        return ZoneInfo("UTC")


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo:
    """A zone by its IANA name; the host's for an empty or unknown one."""
    if not name:
        return host_zone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return host_zone()


def instant_of(timestamp: str, zone: tzinfo) -> datetime:
    """The instant (UTC) of a TIMESTAMP written in `zone`; of a repeated hour the first."""
    moment = read_timestamp(timestamp)
    if moment is None:
        raise ValueError(f"not a TIMESTAMP: {timestamp!r}")
    return moment.replace(tzinfo=zone).astimezone(UTC)
