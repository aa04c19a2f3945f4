"""Spans and moments as agents write them: `10m`, `2h30m`, `半小时后`, `明天9点`, ISO.

Source: `--next-check` and `--progress-every` in `seeds/long-run-mode.txt`; `spec/longrun.md` §2.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from plans.wish_clock import CHINESE_DIGITS

LONGEST = timedelta(days=366)

_UNITS = {
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "秒": 1, "秒钟": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60, "分": 60, "分钟": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "小时": 3600, "个小时": 3600,
    "钟头": 3600, "个钟头": 3600,
    "d": 86400, "day": 86400, "days": 86400, "天": 86400, "日": 86400,
    "w": 604800, "week": 604800, "weeks": 604800, "周": 604800, "个星期": 604800, "星期": 604800,
}  # fmt: skip
_DAYS = {"今天": 0, "今日": 0, "今晚": 0, "today": 0, "tonight": 0, "明天": 1, "明日": 1, "明早": 1,
         "明晚": 1, "tomorrow": 1, "后天": 2, "大后天": 3}  # fmt: skip
_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6,
             "mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6}  # fmt: skip
_MORNING = {"凌晨", "早上", "早晨", "清晨", "上午", "早", "am"}
_EVENING = {"下午", "傍晚", "晚上", "晚", "pm"}

_PART = re.compile(
    r"(?P<n>\d+(?:\.\d+)?)\s*(?P<unit>"
    + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    + r")"
)
_JOINT = re.compile(r"\s*(?:[,，零又]|and\b)?\s*")
_CLOCK = re.compile(
    r"(?:at\s+)?(?P<part>凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|早|晚)?\s*(?:的\s*)?"
    r"(?P<h>\d{1,2})(?::(?P<m>\d{1,2})(?::(?P<s>\d{1,2}))?|[点时](?:钟|整)?(?:(?P<m2>\d{1,2})分?|(?P<half>半)|(?P<quarter>[13])刻)?)?"
    r"\s*(?P<ampm>am|pm)?"
)
_DAY = re.compile(
    r"(?P<word>大后天|今天|今日|今晚|明天|明日|明早|明晚|后天|today|tonight|tomorrow)|"
    r"(?P<next>下(?:个)?)?(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])|"
    r"(?P<nexten>next\s+)?(?P<en>mon|tue|wed|thu|fri|sat|sun)[a-z]*"
)
_HANZI_NUMBER = re.compile(
    r"[零〇一二两三四五六七八九十]+(?=\s*(?:个?小时|个?钟头|分|秒|天|点|时|周(?![一二三四五六日天])))"
)


class DurationError(ValueError):
    """A span or moment that cannot be read. `code` is `unreadable`, `too_short`, `too_long` or `past`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text!r}")
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Moment:
    """`at` is an aware UTC instant; `relative` says whether it was counted from now."""

    at: datetime
    relative: bool


def parse_span(text: str) -> timedelta:
    """Read a span such as `3m`, `2h30m`, `90 seconds`, `1.5h`, `半小时`; a bare number is refused."""
    rest = _normal(text)
    rest = re.sub(r"(\d+)个半(?:小时|钟头)", r"\1h30m", rest)
    rest = re.sub(r"半个?(?:小时|钟头)|half an hour", "30m", rest)
    seconds, end, last = 0.0, 0, float("inf")
    while end < len(rest):
        part = _PART.match(rest, end)
        if part is None or (after := _UNITS[part["unit"]]) >= last:
            raise DurationError("unreadable", text)
        seconds += float(part["n"]) * after
        last = after
        joint = _JOINT.match(rest, part.end())
        end = joint.end() if joint else part.end()
    if not rest:
        raise DurationError("unreadable", text)
    if seconds > LONGEST.total_seconds():
        raise DurationError("too_long", text)
    return timedelta(seconds=seconds)


def parse_interval(
    text: str, *, least: timedelta = timedelta(seconds=1), most: timedelta = timedelta(days=1)
) -> timedelta:
    """Read a repeating span, refused below `least` or above `most`."""
    span = parse_span(text)
    if span < least:
        raise DurationError("too_short", text)
    if span > most:
        raise DurationError("too_long", text)
    return span


def parse_moment(text: str, *, now: datetime, zone: tzinfo) -> Moment:
    """Read the next check. `now` is aware; wall-clock words are read in `zone`.

    A clock time without a day is its next occurrence. A local time that the spring gap skips is the
    first instant after the gap, one that autumn repeats is its first occurrence. ISO without an offset
    is local; a date alone is that day's midnight. What lies in the past is refused.
    """
    source = _normal(text)
    moment = _iso(source, zone) or _relative(source, now) or _wall(source, now.astimezone(zone), zone)
    if moment is None:
        raise DurationError("unreadable", text)
    if moment.at < now:
        raise DurationError("past", text)
    if moment.at - now > LONGEST:
        raise DurationError("too_long", text)
    return moment


def _normal(text: str) -> str:
    if len(text) > 200:
        raise DurationError("unreadable", text[:40])
    plain = unicodedata.normalize("NFKC", text).strip().casefold().strip("。.!, ")
    return _HANZI_NUMBER.sub(lambda found: str(_hanzi(found[0])), plain)


def _hanzi(text: str) -> int:
    if "十" not in text:
        return int("".join(str(CHINESE_DIGITS[sign]) for sign in text))
    tens, _, ones = text.partition("十")
    return (CHINESE_DIGITS.get(tens, 1) if tens else 1) * 10 + (CHINESE_DIGITS.get(ones, 0) if ones else 0)


def _iso(text: str, zone: tzinfo) -> Moment | None:
    if not re.match(r"\d{4}-?\d{2}-?\d{2}", text):
        return None
    try:
        found = datetime.fromisoformat(text.upper().replace(" ", "T", 1) if " " in text else text.upper())
    except ValueError:
        return None
    at = found.astimezone(UTC) if found.tzinfo else _instant(found, zone)
    return Moment(at, relative=False)


def _relative(text: str, now: datetime) -> Moment | None:
    bare = re.sub(r"^(?:in|after|过|再过)\s*", "", text)
    bare = re.sub(r"\s*(?:之后|以后|后|later|from now)$", "", bare)
    try:
        span = parse_span(bare)
    except DurationError as refused:
        if refused.code == "too_long":
            raise
        return None
    return Moment(now.astimezone(UTC) + span, relative=True)


def _wall(text: str, local: datetime, zone: tzinfo) -> Moment | None:
    day = _DAY.match(text)
    rest = text[day.end() :].lstrip(" ,的") if day else text
    clock = _CLOCK.fullmatch(rest) if rest else None
    if rest and clock is None:
        return None
    word = day["word"] if day else None
    if clock is None and not day:
        return None
    if clock and not day and not (clock["m"] or clock["ampm"] or re.search(r"[点时]", rest)):
        return None  # a bare number names no time
    at = _time_of(clock, word) if clock else time(9)
    if at is None:
        return None
    if not day:
        found = _instant(datetime.combine(local.date(), at), zone)
        if found < local:
            found = _instant(datetime.combine(local.date() + timedelta(days=1), at), zone)
        return Moment(found, relative=True)
    return Moment(_instant(datetime.combine(_date_of(day, local, at), at), zone), relative=True)


def _time_of(clock: re.Match[str], word: str | None) -> time | None:
    hour = int(clock["h"])
    minute = int(clock["m"] or clock["m2"] or (30 if clock["half"] else int(clock["quarter"] or 0) * 15))
    part = (
        clock["part"]
        or clock["ampm"]
        or {"今晚": "晚", "明晚": "晚", "tonight": "pm", "明早": "早"}.get(word or "")
    )
    if (part in _EVENING and hour < 12) or (part == "中午" and hour < 4):
        hour += 12
    elif part in _MORNING and hour == 12:
        hour = 0
    try:
        return time(hour, minute, int(clock["s"] or 0))
    except ValueError:
        return None


def _date_of(day: re.Match[str], local: datetime, at: time) -> date:
    today = local.date()
    if day["word"]:
        return today + timedelta(days=_DAYS[day["word"]])
    target = _WEEKDAYS[day["zh"] or day["en"]]
    if day["next"] or day["nexten"]:
        return today - timedelta(days=today.weekday()) + timedelta(days=7 + target)
    ahead = (target - today.weekday()) % 7
    if ahead == 0 and at <= local.time():
        ahead = 7
    return today + timedelta(days=ahead)


def _instant(local: datetime, zone: tzinfo) -> datetime:
    """The instant of a wall-clock time: a skipped one becomes the first instant after the gap."""
    aware = local.replace(tzinfo=zone, fold=0)
    instant = aware.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == local:
        return instant
    # Inside the gap, fold=0 answers with the offset before it and fold=1 with the one after; the gap
    # ends where the later offset begins, one difference before the time that fold=0 lands on.
    earlier, later = (local.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta(0) for fold in (0, 1))
    low, high = instant - abs(earlier - later), instant
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)
