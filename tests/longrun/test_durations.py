from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrun.durations import DurationError, parse_interval, parse_moment, parse_span

SHANGHAI = ZoneInfo("Asia/Shanghai")
# Monday 2026-11-30, 16:05 in UTC, which is Tuesday 00:05 in Shanghai.
NOW = datetime(2026, 11, 30, 16, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("2h30m", 9000),
        ("2h 30m", 9000),
        ("90s", 90),
        ("1d", 86400),
        ("1.5h", 5400),
        ("3 minutes", 180),
        ("1 hour and 5 minutes", 3900),
        ("10分钟", 600),
        ("十分钟", 600),
        ("两小时", 7200),
        ("2小时30分钟", 9000),
        ("二十五分钟", 1500),
        ("半小时", 1800),
        ("1个半小时", 5400),
        ("３ｍ", 180),
    ],
)
def test_a_span_is_read_in_both_languages(text, seconds):
    assert parse_span(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "10", "m", "10x", "5m5m", "30m2h", "-5m", "一会儿", "m10"])
def test_a_span_that_says_nothing_certain_is_refused(text):
    with pytest.raises(DurationError):
        parse_span(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("10m", "2026-11-30T16:15:00+00:00"),
        ("2h30m", "2026-11-30T18:35:00+00:00"),
        ("in 20 minutes", "2026-11-30T16:25:00+00:00"),
        ("10分钟后", "2026-11-30T16:15:00+00:00"),
        ("半小时后", "2026-11-30T16:35:00+00:00"),
        ("再过两小时", "2026-11-30T18:05:00+00:00"),
        ("明天9点", "2026-12-02T01:00:00+00:00"),
        ("明天 9 点".replace(" ", ""), "2026-12-02T01:00:00+00:00"),
        ("明天下午3点半", "2026-12-02T07:30:00+00:00"),
        ("明早8点", "2026-12-02T00:00:00+00:00"),
        ("今晚9点", "2026-12-01T13:00:00+00:00"),
        ("后天 14:30", "2026-12-03T06:30:00+00:00"),
        ("今天中午12点", "2026-12-01T04:00:00+00:00"),
        ("9点", "2026-12-01T01:00:00+00:00"),
        ("00:05", "2026-11-30T16:05:00+00:00"),
        ("00:04", "2026-12-01T16:04:00+00:00"),
        ("tomorrow 9am", "2026-12-02T01:00:00+00:00"),
        ("tomorrow at 17:45", "2026-12-02T09:45:00+00:00"),
        ("周五9点", "2026-12-04T01:00:00+00:00"),
        ("下周一上午10点", "2026-12-07T02:00:00+00:00"),
        ("周二00:05", "2026-12-07T16:05:00+00:00"),
        ("friday 9am", "2026-12-04T01:00:00+00:00"),
        ("2026-12-01T09:00:00+08:00", "2026-12-01T01:00:00+00:00"),
        ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00+00:00"),
        ("2026-12-01 09:00", "2026-12-01T01:00:00+00:00"),
        ("2026-12-02", "2026-12-01T16:00:00+00:00"),
        ("明天", "2026-12-02T01:00:00+00:00"),
    ],
)
def test_the_next_check_is_the_instant_that_is_meant_in_shanghai(text, at):
    assert parse_moment(text, now=NOW, zone=SHANGHAI).at == datetime.fromisoformat(at)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "unreadable"),
        ("soon", "unreadable"),
        ("10", "unreadable"),
        ("明天25点", "unreadable"),
        ("下次", "unreadable"),
        ("明天9点左右吧", "unreadable"),
        ("<ISO时间或相对描述>", "unreadable"),
        ("2026-13-40", "unreadable"),
        ("2020-01-01T00:00:00Z", "past"),
        ("400d", "too_long"),
        ("2030-01-01", "too_long"),
    ],
)
def test_a_next_check_that_cannot_be_kept_is_refused_by_name(text, code):
    with pytest.raises(DurationError) as refused:
        parse_moment(text, now=NOW, zone=SHANGHAI)
    assert refused.value.code == code


def test_a_local_time_inside_the_spring_gap_is_the_first_instant_after_it():
    new_york = ZoneInfo("America/New_York")
    now = datetime(2026, 3, 7, 12, 0, tzinfo=UTC)
    assert parse_moment("明天02:30", now=now, zone=new_york).at == datetime(2026, 3, 8, 7, 0, tzinfo=UTC)
    lord_howe = ZoneInfo("Australia/Lord_Howe")
    now = datetime(2026, 10, 2, 20, 0, tzinfo=UTC)
    assert parse_moment("明天02:15", now=now, zone=lord_howe).at == datetime(2026, 10, 3, 15, 30, tzinfo=UTC)


def test_a_local_time_that_autumn_repeats_is_its_first_occurrence():
    new_york = ZoneInfo("America/New_York")
    now = datetime(2026, 10, 31, 12, 0, tzinfo=UTC)
    assert parse_moment("明天01:30", now=now, zone=new_york).at == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


def test_an_interval_keeps_to_its_bounds():
    assert parse_interval("3m") == timedelta(minutes=3)
    for text, code in (("0s", "too_short"), ("25h", "too_long"), ("often", "unreadable")):
        with pytest.raises(DurationError) as refused:
            parse_interval(text)
        assert refused.value.code == code


@given(st.integers(0, 300), st.integers(0, 59), st.integers(0, 59))
def test_every_span_of_whole_parts_is_the_sum_of_them(hours, minutes, seconds):
    assert parse_span(f"{hours}h{minutes}m{seconds}s") == timedelta(
        hours=hours, minutes=minutes, seconds=seconds
    )


@given(st.text(max_size=60))
def test_no_text_makes_the_parser_fail_otherwise_than_by_refusing(text):
    try:
        moment = parse_moment(text, now=NOW, zone=SHANGHAI)
    except DurationError as refused:
        assert refused.code in {"unreadable", "past", "too_long"}
    else:
        assert moment.at >= NOW
