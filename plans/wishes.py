"""What a wish in Chinese or English says about time, and what in it was not understood.

Source: `spec/plans.md` §1 (intake). Nothing is guessed in silence: a part of the day without an hour gets that part's
usual hour *and a note*, a rhythm that is not understood gives no schedule *and a note*.

The grammar is small on purpose. It looks for one rhythm (how often) and one clock time, and keeps what is left of the
wish as its matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.utils.translation import gettext as _

from plans.errors import PlansError
from plans.schedule import AT, CRON, EVERY, Timing, TimingError, load_zone, to_instant
from plans.schedule_text import SHORTEST_INTERVAL, UNIT_OF, read_instant, read_length
from plans.wish_clock import CLOCK, CLOCK_EN, CLOCK_ZH, NUMBER_ZH, Reading, read_clock, read_number

WEEKDAYS_ZH = {
    "一": "MON",
    "二": "TUE",
    "三": "WED",
    "四": "THU",
    "五": "FRI",
    "六": "SAT",
    "日": "SUN",
    "天": "SUN",
}
WEEKDAYS_EN = {
    "mon": "MON",
    "tue": "TUE",
    "wed": "WED",
    "thu": "THU",
    "fri": "FRI",
    "sat": "SAT",
    "sun": "SUN",
}
DAY_ORDER = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
EN_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?|\.)?"
UNIT_EN = r"seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|[smhdw]"
UNIT_ZH = r"秒钟?|分钟?|个?小时|钟头|天|日|个?星期|周"

UNREAD = re.compile(
    r"except(?:\s+\w+){1,3}|but not(?:\s+\w+){1,3}|除了?[\u4e00-\u9fff]{1,6}|[\u4e00-\u9fff]{1,4}除外|不包括[\u4e00-\u9fff]{1,6}|\bbetween\s+\S+\s+and\s+\S+"
    r"|\bfrom\s+\d\S*\s+(?:to|until|till)\s+\S+|\S{1,4}[到至]\S{1,4}点|之间|\buntil\s+\S+|直到[^,，。]{1,8}|\bfor\s+\d+\s+(?:days?|weeks?|months?)",
    re.IGNORECASE,
)

# What `detect_language` answers, as the attribute `lang` has it.
HTML_LANGUAGE = {"zh": "zh-Hans", "en": "en"}


@dataclass(frozen=True, slots=True)
class Wish:
    """What was understood. `timing` is None where no rhythm was; `matter` is the wish without its time words.

    `notes` are sentences for the person; `language` is `zh` or `en`.
    """

    text: str
    language: str
    matter: str
    timing: Timing | None
    notes: tuple[str, ...]


def understand_wish(text: str, *, now: datetime, zone: str) -> Wish:
    """Read one wish; `now` and `zone` anchor “tomorrow” and “in 20 minutes”. Raises PlansError for an empty wish."""
    text = text.strip()
    if not text:
        raise PlansError(_("Say in a few words what should be done."), code="EMPTY_WISH")
    if len(text) > 4000:
        raise PlansError(
            _("A wish has 4000 characters at most; put the rest into the plan's text."), code="WISH_TOO_LONG"
        )
    reading = Reading(text, [])
    try:
        timing = _read_rhythm(reading, now=now.astimezone(UTC), zone=zone)
    except TimingError as error:
        reading.notes.append(str(error))
        timing = None
    if timing is not None:
        _say_what_was_left(reading)
    if timing is None and not reading.notes:
        reading.notes.append(_("Your words name no rhythm that could be read: choose one below."))
    return Wish(text, detect_language(text), _matter(reading.rest), timing, tuple(reading.notes))


def _say_what_was_left(reading: Reading) -> None:
    """A second clock time, an exception, a span: words about time that the schedule does not carry."""
    for pattern in (UNREAD, CLOCK_ZH, CLOCK, CLOCK_EN):
        if match := pattern.search(reading.rest):
            note = _("“%(words)s” was not understood and is not in the schedule: check it below.")
            reading.notes.append(note % {"words": match[0].strip()})
            return


def detect_language(text: str) -> str:
    """`zh` where the text has more Han characters than Latin words, else `en`."""
    return "zh" if len(re.findall(r"[\u4e00-\u9fff]", text)) > len(re.findall(r"[A-Za-z]+", text)) else "en"


def _matter(rest: str) -> str:
    text = re.sub(r"\s+", " ", rest).strip(" ,，。.;；、:：!！")
    text = re.sub(r"^一次(?!性)的?", "", text)  # 每天一次的…
    text = re.sub(
        r"^(?:请|帮我|给我|麻烦|please|can you|could you|i want (?:you )?to|i'd like (?:you )?to)\s*",
        "",
        text,
        flags=re.IGNORECASE,
    )
    return re.sub(r"^(?:at|on|and|then|的时候|的|我)(?:\s+|$)", "", text, flags=re.IGNORECASE).strip(
        " ,，。."
    )


def _read_rhythm(reading: Reading, *, now: datetime, zone: str) -> Timing | None:
    for read in (
        _read_relative,
        _read_interval,
        _read_stamp,
        _read_monthly,
        _read_weekly,
        _read_named_day,
        _read_daily,
    ):
        timing = read(reading, now, zone)
        if timing is not None:
            return timing
    return None


def _read_relative(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """in 20 minutes · in 1h30m · 20分钟后 · 半小时后"""
    match = reading.take(rf"\bin\s+(an?\s+hour|half an hour|(?:\d+\s*(?:{UNIT_EN})\s*)+)\b")
    if match:
        length = {"half an hour": "30m"}.get(
            match[1].lower(), re.sub(r"^an?\s+", "1 ", match[1], flags=re.IGNORECASE)
        )
        return Timing(AT, zone, at=now.replace(microsecond=0) + timedelta(seconds=read_length(length)))
    match = reading.take(rf"(半个?小时|(?:{NUMBER_ZH})\s*(?:{UNIT_ZH}))(?:钟)?(?:之后|以后|后)")
    if match:
        return Timing(AT, zone, at=now.replace(microsecond=0) + timedelta(seconds=_length_zh(match[1])))
    return None


def _length_zh(text: str) -> int:
    if text.startswith("半"):
        return 1800
    match = re.match(rf"({NUMBER_ZH})\s*(.+)", text)
    return read_number(match[1]) * read_length(f"1{match[2].removeprefix('个')}") if match else 0


def _read_interval(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """every 2 hours · hourly · 每隔30分钟 · 每小时 — but `every day` is a time of day, and so read later."""
    if reading.take(r"\bhourly\b|\bevery\s+hour\b|每个?小时|每个?钟头"):
        return Timing(EVERY, zone, every=3600)
    if reading.take(r"\bevery\s+minute\b|每一?分钟"):
        return Timing(EVERY, zone, every=60)
    if reading.take(r"\bevery\s+half\s+(?:an\s+)?hour\b|每隔?半个?(?:小时|钟头)"):
        return Timing(EVERY, zone, every=1800)
    match = reading.take(rf"\bevery\s+(\d+)\s*({UNIT_EN})\b") or reading.take(
        rf"每隔?\s*({NUMBER_ZH})\s*({UNIT_ZH})"
    )
    if not match:
        return None
    unit = UNIT_OF.get(match[2].lower(), UNIT_OF.get(match[2].removeprefix("个"), "d"))
    seconds = read_length(f"{read_number(match[1])}{unit}")
    if seconds < SHORTEST_INTERVAL:
        raise TimingError(
            _("A plan runs at most once a minute; “%(words)s” is more often.") % {"words": match[0].strip()},
            code="INTERVAL_TOO_SHORT",
        )
    if seconds >= 86400:
        note = _("“%(words)s” is counted from the moment of your yes; a day and a time would fix it.")
        reading.notes.append(note % {"words": match[0].strip()})
    return Timing(EVERY, zone, every=seconds)


def _read_stamp(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """2026-12-05 14:00 · 12月5日下午3点"""
    match = reading.take(r"(\d{4}-\d{1,2}-\d{1,2})(?:[T ]\s*(\d{1,2}:\d{2}(?::\d{2})?))?")
    if match:
        clock = match[2] or _clock_text(reading)
        return Timing(AT, zone, at=_ahead(read_instant(f"{match[1]} {clock}", zone=zone, now=now), now, zone))
    match = reading.take(rf"(?<!每)(?:(\d{{4}})年)?({NUMBER_ZH})月({NUMBER_ZH})[日号]")
    if not match:
        return None
    today = now.astimezone(load_zone(zone)).date()
    month, day = read_number(match[2]), read_number(match[3])
    clock = _clock_text(reading)
    instant = read_instant(f"{match[1] or today.year}-{month}-{day} {clock}", zone=zone, now=now)
    if instant <= now and not match[1]:
        instant = read_instant(f"{today.year + 1}-{month}-{day} {clock}", zone=zone, now=now)
    return Timing(AT, zone, at=_ahead(instant, now, zone))


def _ahead(instant: datetime, now: datetime, zone: str) -> datetime:
    """The instant, where it is still to come. Raises TimingError with its day and time."""
    if instant <= now:
        local = instant.astimezone(load_zone(zone))
        message = _("%(day)s at %(hour)02d:%(minute)02d is already past.")
        raise TimingError(
            message % {"day": local.date(), "hour": local.hour, "minute": local.minute},
            code="SCHEDULE_IN_THE_PAST",
        )
    return instant


def _clock_text(reading: Reading) -> str:
    hour, minute = read_clock(reading)
    return f"{hour}:{minute:02d}"


def _read_monthly(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """每月1号 · 每月最后一天 · on the 15th of every month · monthly on the last day"""
    if reading.take(
        r"每个?月(?:的)?(?:最后一天|月底|末)|(?:on\s+)?the\s+last\s+day\s+of\s+(?:every|each|the)\s+month|月底"
    ):
        day = "L"
    elif match := (
        reading.take(rf"每个?月的?({NUMBER_ZH})[日号]")
        or reading.take(
            r"(?:on\s+)?the\s+(\d{1,2})(?:st|nd|rd|th)?\s+(?:day\s+)?of\s+(?:every|each|the)\s+month"
        )
        or reading.take(r"(?:every\s+month|monthly)\s+on\s+the\s+(\d{1,2})(?:st|nd|rd|th)?")
    ):
        number = read_number(match[1])
        if not 1 <= number <= 31:
            raise TimingError(
                _("“%(words)s” names no day of a month.") % {"words": match[0].strip()}, code="BAD_DAY"
            )
        if number > 28:
            reading.notes.append(_("Months without a day %(day)d are left out.") % {"day": number})
        day = str(number)
    elif reading.take(r"每个?月|\bmonthly\b|\bevery\s+month\b"):
        reading.notes.append(_("“Every month” was read as the 1st."))
        day = "1"
    else:
        return None
    hour, minute = read_clock(reading)
    return Timing(CRON, zone, expr=f"{minute} {hour} {day} * *")


def _read_weekly(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """每周一、三、五 · 每个工作日 · every weekday · every Monday and Thursday · weekly on Friday"""
    if reading.take(
        r"每?个?工作日(?:每天)?|每周一(?:至|到|-)(?:周|星期)?五|(?:every\s+|on\s+)?(?:weekdays?|work(?:ing)?\s*days?)\b|monday\s+(?:to|through)\s+friday"
    ):
        days = "MON-FRI"
    elif reading.take(r"每个?周末|(?:every\s+|on\s+)?weekends?\b"):
        days = "SAT,SUN"
    elif match := reading.take(
        r"每个?(?:周|星期|礼拜)((?:[一二三四五六日天](?:\s*[、，,和及]\s*(?:周|星期|礼拜)?|(?=[一二三四五六日天]))?)+)(?![点时])"
    ):
        days = _day_list([WEEKDAYS_ZH[char] for char in match[1] if char in WEEKDAYS_ZH])
    elif match := reading.take(
        rf"\b(?:every|each|weekly\s+on|on)\s+({EN_DAY}(?:\s*(?:,|and|&|,\s*and)\s*{EN_DAY})*)(?!\w)"
    ):
        if not re.match(r"every|each|weekly", match[0], re.IGNORECASE) and not match[
            1
        ].lower().rstrip().endswith("s"):
            reading.rest += " " + match[0]
            return None
        days = _day_list(
            [WEEKDAYS_EN[name[:3].lower()] for name in re.findall(EN_DAY, match[1], re.IGNORECASE)]
        )
    elif reading.take(r"每个?(?:周|星期)(?![一二三四五六日天])|\bweekly\b|\bevery\s+week\b"):
        reading.notes.append(_("“Every week” was read as Monday."))
        days = "MON"
    else:
        return None
    hour, minute = read_clock(reading)
    return Timing(CRON, zone, expr=f"{minute} {hour} * * {days}")


def _day_list(days: list[str]) -> str:
    return ",".join(sorted(set(days), key=DAY_ORDER.index))


def _read_named_day(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """tomorrow 07:30 · 明天早上7点半 · 后天 · tonight · next Friday · 下周一"""
    today = now.astimezone(load_zone(zone)).date()
    if reading.take(r"\bday\s+after\s+tomorrow\b|后天"):
        return _once(reading, today + timedelta(days=2), now, zone)
    if reading.take(r"\btomorrow\b|明天|明日"):
        return _once(reading, today + timedelta(days=1), now, zone)
    if match := reading.take(r"下个?(?:周|星期|礼拜)([一二三四五六日天])"):
        monday = today + timedelta(days=7 - today.weekday())
        return _once(reading, monday + timedelta(days=DAY_ORDER.index(WEEKDAYS_ZH[match[1]])), now, zone)
    if match := reading.take(r"(?:这|本)?个?(?:周|星期|礼拜)([一二三四五六日天])(?![点时])"):
        ahead = (DAY_ORDER.index(WEEKDAYS_ZH[match[1]]) - today.weekday() - 1) % 7 + 1
        reading.notes.append(_("“%(words)s” was read as the coming one, once.") % {"words": match[0]})
        return _once(reading, today + timedelta(days=ahead), now, zone)
    if match := reading.take(rf"\b(?:next|this|on)\s+({EN_DAY})(?!\w)"):
        ahead = (DAY_ORDER.index(WEEKDAYS_EN[match[1][:3].lower()]) - today.weekday() - 1) % 7 + 1
        return _once(reading, today + timedelta(days=ahead), now, zone)
    if re.search(r"\btonight\b|今晚|\btoday\b|今天|今日", reading.rest, re.IGNORECASE):
        reading.take(r"\btoday\b|今天|今日")
        return _once(reading, today, now, zone)
    return None


def _once(reading: Reading, day: date, now: datetime, zone: str) -> Timing:
    tonight = re.search(r"\btonight\b|今晚", reading.rest, re.IGNORECASE)
    hour, minute = read_clock(reading)
    if tonight and hour == 0:
        day += timedelta(days=1)
    instant = to_instant(datetime.combine(day, time(hour, minute)), load_zone(zone))
    return Timing(AT, zone, at=_ahead(instant, now, zone))


def _read_daily(reading: Reading, now: datetime, zone: str) -> Timing | None:
    """每天早上9点 · daily at 18:00 · every evening · 每晚"""
    match = reading.take(r"每[天日]|\bdaily\b|\bevery\s*day\b|\beach\s+day\b")
    if not match and (
        part := re.search(
            r"每个?(?:早上?|晚上?|中午|下午)|\bevery\s+(?:morning|evening|night|afternoon)\b",
            reading.rest,
            re.IGNORECASE,
        )
    ):
        word = part[0].removeprefix("每").removeprefix("个")
        word = {"早": "早上", "晚": "晚上"}.get(word, word)
        reading.rest = (
            reading.rest[: part.start()]
            + " "
            + re.sub(r"(?i)^every\s+", "", word)
            + " "
            + reading.rest[part.end() :]
        )
        match = part
    if not match:
        return None
    hour, minute = read_clock(reading)
    return Timing(CRON, zone, expr=f"{minute} {hour} * * *")
