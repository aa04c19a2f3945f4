"""Stored sentences are told in the reader's language, and schedules in words in both."""

from datetime import UTC, datetime

import pytest
from django.utils.translation import override

from plans.schedule_text import read_schedule
from plans.schedule_words import describe_timing
from plans.sentences import SENTENCES, kept, tell

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("The clock was off at this time.", "这个时刻时钟没有运行。"),
        (
            kept("Paused itself after %(count)d failed runs in a row.", count=5),
            "连续 5 次执行失败，已自动暂停。",
        ),
        (kept("Stopped by %(who)s.", who="王 %(x)s"), "由 王 %(x)s 停止。"),
        (
            kept(
                "%(why)s Next try in %(seconds)d s.",
                why="PLAN.md changed after it was confirmed.",
                seconds=30,
            ),
            "PLAN.md 在确认之后被改动了。 30 秒后再试。",
        ),
        ("a person's own words", "a person's own words"),
        ("", ""),
    ],
)
def test_a_stored_sentence_is_told_in_the_readers_language(stored, told):
    with override("zh-hans"):
        assert tell(stored) == told
    with override("en"):
        assert tell(stored) == stored


def test_only_sentences_that_can_be_told_again_are_stored():
    with pytest.raises(ValueError, match="not among the sentences"):
        kept("Something else.")
    assert len(set(SENTENCES)) == len(SENTENCES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cron 0 9 * * MON-FRI (Asia/Shanghai)", "周一到周五 09:00（Asia/Shanghai）"),
        ("cron 30 20 * * 1,3,5 (UTC)", "周一、周三和周五 20:30（UTC）"),
        ("cron */5 * * * * (UTC)", "每 5 分钟（UTC）"),
        ("cron 0 9 L * * (UTC)", "每月 最后一天 09:00（UTC）"),
        ("every 1h30m", "每隔 1 小时 30 分钟"),
        ("at 2026-12-01 07:30 (Asia/Shanghai)", "一次，2026-12-01 07:30（Asia/Shanghai）"),
    ],
)
def test_schedules_in_chinese_words(text, words):
    with override("zh-hans"):
        assert describe_timing(read_schedule(text, now=NOW)) == words
