"""Written schedules: what is accepted, what is refused, and with which sentence."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.schedule import Timing, TimingError
from plans.schedule_text import (
    check_cron,
    make_timing,
    read_length,
    read_schedule,
    require_future,
    write_length,
    write_schedule,
)
from plans.schedule_words import describe_timing

NOW = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("cron 0 9 * * mon-fri (Europe/London)", "cron 0 9 * * MON-FRI (Europe/London)"),
        ("cron: 0 9 * * 1 （Asia/Shanghai）", "cron 0 9 * * 1 (Asia/Shanghai)"),
        ("`cron 0 0 21 * * *`", "cron 0 0 21 * * * (UTC)"),
        ("cron 0 9 * * FRI-SUN", "cron 0 9 * * FRI-7 (UTC)"),
        ("every 90 minutes", "every 1h30m"),
        ("every 2小时", "every 2h"),
        ("at in 20m", "at 2026-11-30T16:20:00+00:00 (UTC)"),
        ("at 2026-12-01 07:30 (Asia/Shanghai)", "at 2026-12-01T07:30:00+08:00 (Asia/Shanghai)"),
        ("at 2026-12-01 (Asia/Shanghai)", "at 2026-12-01T00:00:00+08:00 (Asia/Shanghai)"),
        ("at 2026-12-01T07:30:00Z (Asia/Shanghai)", "at 2026-12-01T15:30:00+08:00 (Asia/Shanghai)"),
        # 01:30 on the autumn day is the first of the two; 02:30 on the spring day is the end of the gap
        ("at 2026-11-01 01:30 (America/New_York)", "at 2026-11-01T01:30:00-04:00 (America/New_York)"),
        ("at 2027-03-14 02:30 (America/New_York)", "at 2027-03-14T03:00:00-04:00 (America/New_York)"),
        ("at 2026-10-04 02:15 (Australia/Lord_Howe)", "at 2026-10-04T02:30:00+11:00 (Australia/Lord_Howe)"),
    ],
)
def test_a_schedule_is_read_and_written_canonically(text, canonical):
    timing = read_schedule(text, now=NOW)
    assert write_schedule(timing) == canonical
    assert read_schedule(canonical, now=NOW) == timing or timing.kind == "every"


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        (
            "cron 0 0 30 2 *",
            "SCHEDULE_NEVER_DUE",
            "“0 0 30 2 *” names a day that never comes: nothing would ever run.",
        ),
        ("cron R 4 * * *", "BAD_CRON", "The minute field “R” is wrong: it cannot be read."),
        (
            "cron 0 9 * * FRI-MON",
            "BAD_CRON",
            "The day of week field “FRI-MON” is wrong: the range FRI-MON runs backwards.",
        ),
        ("cron 0 17-9 * * *", "BAD_CRON", "The hour field “17-9” is wrong: the range 17-9 runs backwards."),
        ("cron 61 * * * *", "BAD_CRON", "The minute field “61” is wrong: 61 is not between 0 and 59."),
        ("cron 0 24 * * *", "BAD_CRON", "The hour field “24” is wrong: 24 is not between 0 and 23."),
        ("cron * * *", "BAD_CRON", "A cron expression has 5 fields, or 6 with seconds first; “* * *” has 3."),
        (
            "cron 0 9 * * * (Mars/Base)",
            "BAD_ZONE",
            "“Mars/Base” is no time zone. Use a name such as Asia/Shanghai.",
        ),
        ("every 59s", "INTERVAL_TOO_SHORT", "A plan runs at most once a minute: use 1m or more."),
        ("every 90", "BAD_LENGTH", "“90” is no length of time. Write 20m, 1h30m or 2d."),
        ("at 2026-13-01", "BAD_INSTANT", "“2026-13-01” is not on any calendar."),
        ("at soon", "BAD_INSTANT", "“soon” is no instant. Write 2026-12-01 07:30, or “in 20m”."),
        ("sometimes", "BAD_SCHEDULE", "“sometimes” is no schedule. Begin with at, every or cron."),
    ],
)
def test_a_bad_schedule_is_refused_with_a_sentence(text, code, sentence):
    with pytest.raises(TimingError) as refused:
        read_schedule(text, now=NOW)
    assert (refused.value.code, str(refused.value)) == (code, sentence)


def test_an_instant_in_the_past_is_refused_where_it_would_have_to_run():
    timing = read_schedule("at 2026-11-30 15:59", now=NOW)
    with pytest.raises(
        TimingError, match=r"2026-11-30 15:59:00 UTC is already past: nothing would ever run\."
    ):
        require_future(timing, now=NOW)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cron 0 9 * * MON-FRI (Asia/Shanghai)", "on Monday to Friday at 09:00 (Asia/Shanghai)"),
        ("cron */5 * * * * (UTC)", "every 5 minutes (UTC)"),
        ("cron 30 8,20 * * * (UTC)", "every day at 08:30 and 20:30 (UTC)"),
        ("cron 0 0 21 * * * (UTC)", "every day at 21:00 (UTC)"),
        ("cron 15 0 21 1 1,7 * (UTC)", "in January and July, on day 1 of the month at 21:00:15 (UTC)"),
        ("cron 0 9 L * * (UTC)", "on the last day of the month at 09:00 (UTC)"),
        ("cron 0 9 13 * FRI (UTC)", "on day 13 of the month or on Friday at 09:00 (UTC)"),
        ("cron 0 9 * * 5L (UTC)", "on the last Friday of the month at 09:00 (UTC)"),
        ("every 1h30m", "every 1 hour 30 minutes"),
        ("every 60m", "every hour"),
        ("every 1m", "every minute"),
        ("at 2026-12-01 07:30 (Asia/Shanghai)", "once, on 2026-12-01 07:30 (Asia/Shanghai)"),
    ],
)
def test_a_schedule_is_told_in_words(text, words):
    assert describe_timing(read_schedule(text, now=NOW)) == words


@given(seconds=st.integers(60, 366 * 86400))
def test_a_length_reads_back(seconds):
    assert read_length(write_length(seconds)) == seconds


@given(text=st.text(max_size=60))
def test_no_text_makes_the_reader_raise_anything_but_a_sentence(text):
    for kind in ("at", "every", "cron"):
        try:
            timing = make_timing(kind, text, zone="UTC", now=NOW)
        except TimingError as error:
            assert str(error).endswith(".")
        else:
            assert isinstance(timing, Timing) and describe_timing(timing)


@given(
    fields=st.lists(
        st.one_of(
            st.just("*"),
            st.integers(0, 70).map(str),
            st.tuples(st.integers(0, 70), st.integers(0, 70)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
            st.integers(0, 70).map(lambda step: f"*/{step}"),
            st.sampled_from(["L", "LW", "MON#2", "5L", "JAN", "SUN", "?", "R", "1,2,3", "7", "#", "1/2"]),
        ),
        min_size=5,
        max_size=6,
    )
)
def test_any_fields_are_either_kept_with_words_or_refused(fields):
    try:
        expr = check_cron(" ".join(fields))
    except TimingError as error:
        assert str(error).endswith(".")
    else:
        assert require_future(Timing("cron", expr=expr), now=NOW) > NOW
        assert describe_timing(Timing("cron", expr=expr))
