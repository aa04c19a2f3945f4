"""Due instants, each written out."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.schedule import Timing, due_between, next_due, to_instant, upcoming
from plans.schedule_text import make_timing

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def cron(expr: str, zone: str) -> Timing:
    return make_timing("cron", expr, zone=zone, now=NOW)


def instants(timing: Timing, after: str, count: int) -> list[str]:
    return [f"{due:%Y-%m-%dT%H:%M:%SZ}" for due in upcoming(timing, datetime.fromisoformat(after), count)]


class TestSpringGap:
    def test_in_new_york_half_past_two_runs_once_at_three_when_the_clock_jumps(self):
        assert instants(cron("30 2 * * *", "America/New_York"), "2026-03-07T00:00:00-05:00", 3) == [
            "2026-03-07T07:30:00Z",
            "2026-03-08T07:00:00Z",
            "2026-03-09T06:30:00Z",
        ]

    def test_several_times_inside_the_gap_run_once_together(self):
        assert instants(cron("*/15 * * * *", "America/New_York"), "2026-03-08T01:40:00-05:00", 3) == [
            "2026-03-08T06:45:00Z",
            "2026-03-08T07:00:00Z",
            "2026-03-08T07:15:00Z",
        ]

    def test_in_london_half_past_one_runs_once_at_two_summer_time(self):
        assert instants(cron("30 1 * * *", "Europe/London"), "2026-03-28T12:00:00+00:00", 2) == [
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z",
        ]

    def test_on_lord_howe_the_gap_is_half_an_hour(self):
        assert instants(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T12:00:00+10:30", 2) == [
            "2026-10-03T15:30:00Z",
            "2026-10-04T15:15:00Z",
        ]

    def test_six_fields_follow_the_same_rule(self):
        assert instants(cron("10 30 2 * * *", "America/New_York"), "2026-03-08T00:00:00-05:00", 2) == [
            "2026-03-08T07:00:00Z",
            "2026-03-09T06:30:10Z",
        ]

    def test_every_second_of_the_gap_is_one_instant_and_takes_no_time_to_pass(self):
        assert instants(cron("* * * * * *", "America/New_York"), "2026-03-08T01:59:58-05:00", 3) == [
            "2026-03-08T06:59:59Z",
            "2026-03-08T07:00:00Z",
            "2026-03-08T07:00:01Z",
        ]

    def test_a_whole_day_that_was_left_out_runs_at_the_start_of_the_next(self):
        # Samoa went from 29 to 31 December 2011.
        assert instants(cron("0 12 * * *", "Pacific/Apia"), "2011-12-29T13:00:00-10:00", 2) == [
            "2011-12-30T10:00:00Z",
            "2011-12-30T22:00:00Z",
        ]


class TestAutumnRepeat:
    def test_in_new_york_half_past_one_runs_at_its_first_occurrence_only(self):
        assert instants(cron("30 1 * * *", "America/New_York"), "2026-10-31T12:00:00-04:00", 2) == [
            "2026-11-01T05:30:00Z",
            "2026-11-02T06:30:00Z",
        ]

    def test_asked_between_the_two_occurrences_it_is_due_next_day(self):
        assert instants(cron("30 1 * * *", "America/New_York"), "2026-11-01T06:00:00+00:00", 1) == [
            "2026-11-02T06:30:00Z"
        ]

    def test_in_london_half_past_one_runs_in_summer_time(self):
        assert instants(cron("30 1 * * *", "Europe/London"), "2026-10-24T12:00:00+01:00", 2) == [
            "2026-10-25T00:30:00Z",
            "2026-10-26T01:30:00Z",
        ]

    def test_on_lord_howe_quarter_to_two_comes_twice_and_runs_once(self):
        assert instants(cron("45 1 * * *", "Australia/Lord_Howe"), "2026-04-04T12:00:00+11:00", 2) == [
            "2026-04-04T14:45:00Z",
            "2026-04-05T15:15:00Z",
        ]

    def test_an_hourly_cron_is_quiet_in_the_second_pass_of_the_hour(self):
        assert instants(cron("0 * * * *", "America/New_York"), "2026-11-01T00:30:00-04:00", 3) == [
            "2026-11-01T05:00:00Z",
            "2026-11-01T07:00:00Z",
            "2026-11-01T08:00:00Z",
        ]

    def test_an_interval_does_not_notice_it(self):
        timing = Timing("every", every=3600).anchored(datetime(2026, 11, 1, 4, 0, tzinfo=UTC))
        assert instants(timing, "2026-11-01T04:00:00+00:00", 3) == [
            "2026-11-01T05:00:00Z",
            "2026-11-01T06:00:00Z",
            "2026-11-01T07:00:00Z",
        ]


class TestWithoutDaylightSaving:
    def test_shanghai_nine_is_one_in_utc_all_year(self):
        assert instants(cron("0 9 * * *", "Asia/Shanghai"), "2026-03-28T12:00:00+08:00", 2) == [
            "2026-03-29T01:00:00Z",
            "2026-03-30T01:00:00Z",
        ]

    def test_utc_weekdays(self):
        assert instants(cron("0 9 * * MON-FRI", "UTC"), "2026-12-04T09:00:00+00:00", 2) == [
            "2026-12-07T09:00:00Z",
            "2026-12-08T09:00:00Z",
        ]

    def test_six_fields_have_seconds_first(self):
        assert instants(cron("0 0 21 * * *", "UTC"), "2026-11-30T12:00:00+00:00", 2) == [
            "2026-11-30T21:00:00Z",
            "2026-12-01T21:00:00Z",
        ]

    def test_last_day_of_the_month(self):
        assert instants(cron("0 9 L * *", "UTC"), "2027-02-01T00:00:00+00:00", 2) == [
            "2027-02-28T09:00:00Z",
            "2027-03-31T09:00:00Z",
        ]

    def test_day_of_month_or_day_of_week_when_both_are_given(self):
        assert instants(cron("0 0 13 * FRI", "UTC"), "2026-11-06T01:00:00+00:00", 4) == [
            "2026-11-13T00:00:00Z",
            "2026-11-20T00:00:00Z",
            "2026-11-27T00:00:00Z",
            "2026-12-04T00:00:00Z",
        ]

    def test_leap_day(self):
        assert instants(cron("0 0 29 2 *", "UTC"), "2026-11-30T00:00:00+00:00", 2) == [
            "2028-02-29T00:00:00Z",
            "2032-02-29T00:00:00Z",
        ]


class TestDueBetween:
    def test_the_newest_of_a_long_absence_are_given_without_walking_through_it(self):
        every_second = cron("* * * * * *", "UTC")
        found, _count = due_between(
            every_second, datetime(2020, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), newest=3
        )
        assert [f"{due:%Y-%m-%dT%H:%M:%S}" for due in found] == [
            "2025-12-31T23:59:58",
            "2025-12-31T23:59:59",
            "2026-01-01T00:00:00",
        ]

    def test_intervals_are_counted_exactly(self):
        anchor = datetime(2020, 1, 1, tzinfo=UTC)
        timing = Timing("every", every=60).anchored(anchor)
        found, count = due_between(timing, anchor, datetime(2021, 1, 1, tzinfo=UTC), newest=2)
        assert count == 366 * 24 * 60
        assert found == [datetime(2020, 12, 31, 23, 59, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)]

    def test_down_from_ten_to_twenty_two_over_an_eleven_oclock_job_is_one_instant(self):
        found, count = due_between(
            cron("0 11 * * *", "UTC"),
            datetime(2026, 6, 1, 10, tzinfo=UTC),
            datetime(2026, 6, 1, 22, tzinfo=UTC),
        )
        assert (found, count) == ([datetime(2026, 6, 1, 11, tzinfo=UTC)], 1)

    def test_nothing_when_the_clock_stepped_back(self):
        assert due_between(cron("* * * * *", "UTC"), NOW, NOW - timedelta(hours=3)) == ([], 0)

    def test_a_one_shot_is_due_once(self):
        at = make_timing("at", "2026-06-01 11:00", zone="UTC", now=NOW)
        due = datetime(2026, 6, 1, 11, tzinfo=UTC)
        assert due_between(at, NOW, due) == ([due], 1)
        assert due_between(at, due, due + timedelta(days=1)) == ([], 0)
        assert next_due(at, due) is None


ZONES = sorted(
    zone
    for zone in available_timezones()
    if "/" in zone and not zone.startswith(("Etc/", "posix/", "right/"))
)


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    expr=st.sampled_from(["*/7 * * * *", "30 1,2 * * *", "0 0 * * *", "59 59 23 L * *", "15 2 1-7 * SUN"]),
    after=st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1)).map(lambda when: when.replace(tzinfo=UTC)),
)
def test_instants_always_move_forward_and_asking_again_gives_the_next(zone, expr, after):
    found = upcoming(cron(expr, zone), after, 6)
    assert found == sorted(set(found)) and found[0] > after
    assert next_due(cron(expr, zone), found[0]) == found[1]


@settings(max_examples=150, deadline=None)
@given(zone=st.sampled_from(ZONES), local=st.datetimes(datetime(1971, 1, 1), datetime(2037, 1, 1)))
def test_a_wall_clock_time_becomes_itself_or_the_first_instant_after_its_gap(zone, local):
    local = local.replace(microsecond=0)
    instant = to_instant(local, ZoneInfo(zone))
    shown = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    just_before = (instant - timedelta(seconds=1)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    assert shown == local or just_before < local < shown


@pytest.mark.parametrize(
    "zone", ["UTC", "America/New_York", "Asia/Shanghai", "Europe/London", "Australia/Lord_Howe"]
)
def test_a_year_of_midnights_has_a_run_for_every_day(zone):
    found = upcoming(cron("0 0 * * *", zone), datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)), 364)
    days = [due.astimezone(ZoneInfo(zone)).date() for due in found]
    assert len(set(days)) == 364 and (days[-1] - days[0]).days == 363
