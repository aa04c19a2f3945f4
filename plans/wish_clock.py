"""Clock times and numerals in Chinese and English: `早上七点半`, `下午三点一刻`, `7:30 pm`, `at 8`, `noon`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from plans.schedule import TimingError

CHINESE_DIGITS = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
NUMBER_ZH = r"[0-9]{1,3}|[零〇一二两三四五六七八九十]{1,3}"

# part of the day: (default hour, minute), and whether hours 1–11 said with it mean the afternoon
PARTS = {
    "凌晨": (2, False), "清晨": (7, False), "早上": (9, False), "早晨": (8, False), "上午": (10, False), "中午": (12, True),
    "下午": (14, True), "傍晚": (18, True), "晚上": (20, True), "今晚": (20, True), "夜里": (23, True), "半夜": (0, False),
    "morning": (9, False), "noon": (12, True), "midday": (12, True), "afternoon": (14, True), "evening": (18, True),
    "tonight": (20, True), "night": (21, True), "midnight": (0, False),
}  # fmt: skip
NIGHTS = {"晚上", "今晚", "夜里", "半夜", "night", "tonight", "midnight"}
EXACT_PARTS = {"noon", "midday", "midnight", "中午"}
CLOCK_ZH = re.compile(
    rf"(?P<hour>{NUMBER_ZH})\s*[点时]\s*(?:钟|整(?![理合改顿]))?(?:(?P<half>半)|(?P<quarter>[一三]刻)|(?P<minute>{NUMBER_ZH})\s*分?)?"
)
CLOCK = re.compile(
    r"(?:\bat\s+)?(?<![\d:：.-])(?P<hour>\d{1,2})[:：](?P<minute>\d{2})(?![\d:：])\s*(?P<half>[ap]\.?m\b\.?)?",
    re.IGNORECASE,
)
CLOCK_EN = re.compile(
    r"\b(?:at|@)\s*(?P<hour>\d{1,2})(?![\d:：])\s*(?:o['’]?clock)?\s*(?P<half>[ap]\.?m\b\.?)?|\b(?P<hour2>\d{1,2})\s*(?P<half2>[ap]\.?m\b\.?)",
    re.IGNORECASE,
)
PART = re.compile("|".join(sorted(PARTS, key=len, reverse=True)), re.IGNORECASE)


@dataclass(slots=True)
class Reading:
    """The wish while it is read: `rest` loses what has been understood."""

    rest: str
    notes: list[str]

    def take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        match = (
            re.compile(pattern, re.IGNORECASE).search(self.rest)
            if isinstance(pattern, str)
            else pattern.search(self.rest)
        )
        if match:
            self.rest = self.rest[: match.start()] + " " + self.rest[match.end() :]
        return match


def read_clock(reading: Reading) -> tuple[int, int]:
    """The clock time named in what is left, else the usual hour of the part of day named, else 09:00 with a note."""
    clock = reading.take(CLOCK_ZH) or reading.take(CLOCK) or reading.take(CLOCK_EN)
    part = reading.take(rf"(?:\b(?:in\s+the|at|this)\s+)?(?:{PART.pattern})")
    word = re.sub(r"(?i)^(?:in\s+the|at|this)\s+", "", part[0]).lower() if part else ""
    if clock is None:
        return _usual_hour(reading, word)
    groups = clock.groupdict()
    hour = read_number(groups.get("hour") or groups.get("hour2") or "0")
    minute = _minutes(groups)
    half = (groups.get("half") or groups.get("half2") or "").lower()
    if half.startswith(("a", "p")):
        if not 1 <= hour <= 12:
            raise _no_clock(clock[0])
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    elif (
        word and PARTS[word][1] and 1 <= hour < 12 and not (word in ("中午", "noon", "midday") and hour >= 10)
    ):
        hour += 12
    elif hour == 24 and minute == 0:
        hour = 0
    elif hour == 12 and word in NIGHTS:
        reading.notes.append(
            _("“%(words)s” was read as midnight, 00:%(minute)02d.")
            % {"words": f"{word} {clock[0]}".strip(), "minute": minute}
        )
        hour = 0
    if not (0 <= hour <= 23 and 0 <= minute <= 59):
        raise _no_clock(clock[0])
    return hour, minute


def _usual_hour(reading: Reading, word: str) -> tuple[int, int]:
    if not word:
        reading.notes.append(_("No time of day was named; 09:00 was put in."))
        return 9, 0
    hour = PARTS[word][0]
    if word not in EXACT_PARTS:
        reading.notes.append(_("“%(word)s” was read as %(hour)02d:00.") % {"word": word, "hour": hour})
    return hour, 0


def _minutes(groups: dict[str, str | None]) -> int:
    if groups.get("half") == "半":
        return 30
    if groups.get("quarter"):
        return 15 if str(groups["quarter"]).startswith("一") else 45
    return read_number(groups.get("minute") or "0")


def _no_clock(words: str) -> TimingError:
    return TimingError(_("“%(words)s” is no time of day.") % {"words": words.strip()}, code="BAD_CLOCK")


def read_number(text: str) -> int:
    """`12`, `十二`, `二十五`, `两` → an int; 99 at most in Han numerals."""
    if text.isascii():
        return int(text)
    if "十" in text:
        tens, _ten, ones = text.partition("十")
        return (CHINESE_DIGITS.get(tens, 1) if tens else 1) * 10 + (
            CHINESE_DIGITS.get(ones, 0) if ones else 0
        )
    return int("".join(str(CHINESE_DIGITS[char]) for char in text))
