"""Wishes in Chinese and English: what is understood, and what is said instead of guessed."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.drafts import draft_intake, to_draft
from plans.errors import PlansError
from plans.planfile import read_plan_file
from plans.planfile_check import find_problems
from plans.planfile_write import render_entry
from plans.schedule_text import write_schedule
from plans.wishes import understand_wish

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)  # Monday, 10:00 in Shanghai
ZONE = "Asia/Shanghai"

UNDERSTOOD = [
    ("每天早上9点给我一份新闻摘要", "cron 0 9 * * *"),
    ("每周五下午整理本周的工作", "cron 0 14 * * FRI"),
    ("每周一、三、五晚上八点半备份数据", "cron 30 20 * * MON,WED,FRI"),
    ("每个工作日早上九点", "cron 0 9 * * MON-FRI"),
    ("周一到周五的站会，每周一到周五 8:30", "cron 30 8 * * MON-FRI"),
    ("每隔2小时检查一次网站", "every 2h"),
    ("每30分钟看一次邮箱", "every 30m"),
    ("每小时", "every 1h"),
    ("每隔半小时检查一次邮箱", "every 30m"),
    ("每半个钟头看一眼", "every 30m"),
    ("每两周整理一次", "every 14d"),
    ("20分钟后提醒我", "at 2026-11-30T10:20:00+08:00"),
    ("半小时后提醒我开会", "at 2026-11-30T10:30:00+08:00"),
    ("明天早上7点半叫我", "at 2026-12-01T07:30:00+08:00"),
    ("后天下午三点一刻开会", "at 2026-12-02T15:15:00+08:00"),
    ("今晚8点", "at 2026-11-30T20:00:00+08:00"),
    ("下周一上午10点", "at 2026-12-07T10:00:00+08:00"),
    ("周五下午3点开会", "at 2026-12-04T15:00:00+08:00"),
    ("12月5日下午3点发布", "at 2026-12-05T15:00:00+08:00"),
    ("每月1号早上10点出账单", "cron 0 10 1 * *"),
    ("每月最后一天18:00生成月报", "cron 0 18 L * *"),
    ("每晚十一点", "cron 0 23 * * *"),
    ("每天中午12点半", "cron 30 12 * * *"),
    ("每天下午13:00", "cron 0 13 * * *"),
    ("every weekday at 8 check the build", "cron 0 8 * * MON-FRI"),
    ("every Monday and Thursday at 7pm water the plants", "cron 0 19 * * MON,THU"),
    ("each Tue, Wed and Sat at 6:15am", "cron 15 6 * * TUE,WED,SAT"),
    ("on the 15th of every month at 10:00 pay the rent", "cron 0 10 15 * *"),
    ("daily at 18:00", "cron 0 18 * * *"),
    ("at noon every day", "cron 0 12 * * *"),
    ("hourly check mail", "every 1h"),
    ("every 45 minutes", "every 45m"),
    ("in 20 minutes remind me to drink water", "at 2026-11-30T10:20:00+08:00"),
    ("in half an hour", "at 2026-11-30T10:30:00+08:00"),
    ("tomorrow 07:30 send the report", "at 2026-12-01T07:30:00+08:00"),
    ("tonight at 8 call mum", "at 2026-11-30T20:00:00+08:00"),
    ("next Monday at 9 plan the week", "at 2026-12-07T09:00:00+08:00"),
    ("on Friday at 5pm", "at 2026-12-04T17:00:00+08:00"),
    ("2026-12-05 14:00 release", "at 2026-12-05T14:00:00+08:00"),
]


@pytest.mark.parametrize(("text", "schedule"), UNDERSTOOD)
def test_a_named_rhythm_sets_the_schedule(text, schedule):
    wish = understand_wish(text, now=NOW, zone=ZONE)
    assert wish.timing is not None
    assert write_schedule(wish.timing).removesuffix(f" ({ZONE})") == schedule


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("偶尔看看", "Your words name no rhythm that could be read: choose one below."),
        ("do something every other day", "Your words name no rhythm that could be read: choose one below."),
        ("每天25点做备份", "“25点” is no time of day."),
        ("every 10 seconds ping", "A plan runs at most once a minute; “every 10 seconds” is more often."),
        ("今天早上8点", "2026-11-30 at 08:00 is already past."),
        ("2026-11-01 09:00 do it", "2026-11-01 at 09:00 is already past."),
        ("2025年12月5日下午3点发布", "2025-12-05 at 15:00 is already past."),
        (
            "2026-02-30 14:00 release",
            "“2026-2-30 14:00” is not on any calendar.".replace("2026-2-30", "2026-02-30"),
        ),
    ],
)
def test_what_cannot_be_understood_is_said_and_not_guessed(text, note):
    wish = understand_wish(text, now=NOW, zone=ZONE)
    assert (wish.timing, wish.notes) == (None, (note,))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("每周五下午整理", "“下午” was read as 14:00."),
        ("每天整理", "No time of day was named; 09:00 was put in."),
        ("every week at 9", "“Every week” was read as Monday."),
        ("每天晚上12点", "“晚上 12点” was read as midnight, 00:00."),
        ("on the 31st of every month at 9", "Months without a day 31 are left out."),
        (
            "every day except Sunday at 9",
            "“except Sunday” was not understood and is not in the schedule: check it below.",
        ),
        ("周五下午3点开会", "“周五” was read as the coming one, once."),
        ("every 2 days at 9", "“at 9” was not understood and is not in the schedule: check it below."),
        ("每天9点和18点检查", "“18点” was not understood and is not in the schedule: check it below."),
        (
            "hourly from 9 to 17",
            "“from 9 to 17” was not understood and is not in the schedule: check it below.",
        ),
    ],
)
def test_what_was_read_into_the_words_is_told(text, note):
    assert note in understand_wish(text, now=NOW, zone=ZONE).notes


def test_an_empty_wish_is_refused():
    with pytest.raises(PlansError, match=r"Say in a few words what should be done\."):
        understand_wish("  \n", now=NOW, zone=ZONE)


@given(
    st.text(
        st.sampled_from(
            "每天周月一二三五十早上晚9点18:30半刻后前明daily every at on mon in hours pm 的和,、"
        ),
        max_size=30,
    )
)
def test_no_wish_breaks_the_reader(text):
    try:
        wish = understand_wish(text, now=NOW, zone=ZONE)
    except PlansError as error:
        assert error.code == "EMPTY_WISH"
    else:
        assert wish.timing is not None or wish.notes


class TestIntake:
    def test_a_wish_is_answered_by_a_baseline_three_options_and_room_for_other_words(self):
        intake = draft_intake(understand_wish("每天早上9点给我一份新闻摘要", now=NOW, zone=ZONE), zone=ZONE)
        assert [(option.key, option.label, len(option.choices)) for option in intake.options] == [
            ("frequency", "频率", 3),
            ("deliverable", "交付物", 3),
            ("failure", "失败处理", 3),
        ]
        assert intake.other == "其他：[由用户补充]"
        assert intake.baseline.schedule == "cron 0 9 * * * (Asia/Shanghai)"
        assert intake.drafted_by == "rules"

    def test_an_english_wish_is_answered_in_english(self):
        intake = draft_intake(
            understand_wish("every weekday at 8 check the build", now=NOW, zone="UTC"), zone="UTC"
        )
        assert [option.label for option in intake.options] == ["Frequency", "Deliverable", "If it fails"]
        assert intake.other == "Other: [your words]"
        assert intake.baseline.name == "check the build"

    def test_an_unintelligible_rhythm_leaves_the_preset_and_says_so(self):
        intake = draft_intake(understand_wish("偶尔看看新闻", now=NOW, zone=ZONE), zone=ZONE)
        assert intake.options[0].chosen == "weekdays"
        assert intake.notes == ("Your words name no rhythm that could be read: choose one below.",)

    def test_chosen_answers_and_other_words_reach_the_plan(self):
        wish = understand_wish("每天早上9点给我一份新闻摘要", now=NOW, zone=ZONE)
        chosen = {"frequency": "weekly", "deliverable": "summary", "failure": "retry"}
        intake = draft_intake(wish, zone=ZONE, chosen=chosen, other="只看科技新闻")
        assert intake.baseline.schedule == "cron 0 9 * * MON (Asia/Shanghai)"
        assert "summary.md" in intake.baseline.result
        assert intake.baseline.actions[1] == "只看科技新闻"
        assert "再试一次" in intake.baseline.actions[-1]

    @pytest.mark.parametrize("text", [text for text, _schedule in UNDERSTOOD])
    def test_what_the_rules_draft_has_nothing_against_confirming(self, text):
        intake = draft_intake(understand_wish(text, now=NOW, zone=ZONE), zone=ZONE, soul_line="少说，多做。")
        draft = to_draft(intake.baseline, task_id="t-1", archive_id="main", persona="Mira")
        file = read_plan_file(render_entry(draft).encode())
        assert find_problems(file, "t-1", archive_id="main", now=NOW) == []

    def test_soul_md_is_not_claimed_to_have_been_read_when_it_was_not(self):
        wish = understand_wish("daily at 9 summarise", now=NOW, zone=ZONE)
        assert "SOUL.md has not been read yet" in draft_intake(wish, zone=ZONE).baseline.objective
        assert (
            "it follows “Say less.”"
            in draft_intake(wish, zone=ZONE, soul_line="Say less.").baseline.objective
        )


def test_a_verb_that_begins_like_the_word_for_sharp_stays_in_the_matter():
    wish = understand_wish("每周一上午10点整理上周的合同到期表", now=NOW, zone="Asia/Shanghai")
    assert wish.matter == "整理上周的合同到期表"
    assert wish.timing.expr == "0 10 * * MON"
    sharp = understand_wish("每天10点整写日报", now=NOW, zone="Asia/Shanghai")
    assert sharp.matter == "写日报"


def test_a_rhythm_of_days_says_from_when_it_is_counted():
    wish = understand_wish("每两周一次的周报", now=NOW, zone=ZONE)
    assert write_schedule(wish.timing) == "every 14d"
    assert wish.matter == "周报"
    assert wish.notes == ("“每两周” is counted from the moment of your yes; a day and a time would fix it.",)
    assert understand_wish("every 2 hours check", now=NOW, zone=ZONE).notes == ()
