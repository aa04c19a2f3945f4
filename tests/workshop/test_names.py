import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import names


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Morning Catchup", "morning-catchup"),
        ("Über Café", "ber-caf"),
        ("../../etc/passwd", "etc-passwd"),
        ("日本語", ""),
        ("My  Great_Skill/Name!", "my-great-skill-name"),
        ("--a--b--", "a-b"),
        ("\u212aelvin", "kelvin"),
        ("a\u00a0b", "a-b"),
        ("a\ufeffb", "a-b"),
        ("a\ud800b", "ab"),
        ("a\x1cb", "ab"),
        (".hidden", "hidden"),
        ("ＡＢＣ１２３", ""),
    ],
)
def test_a_name_becomes_its_key(name, key):
    assert names.skill_key(name) == key


@given(st.text())
def test_a_key_is_always_one_safe_directory_name(name):
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?", names.skill_key(name))


@given(st.text())
def test_a_key_is_its_own_key(name):
    assert names.skill_key(names.skill_key(name)) == names.skill_key(name)


def test_trimming_follows_ecmascript_not_python():
    assert names.trim("\ufeff\u2028 a\x85 \u3000") == "a\x85"
    assert names.trim("\x1ca") == "\x1ca"


def test_an_id_has_the_key_the_utc_day_and_ten_hex_digits():
    at = datetime(2026, 12, 1, 0, 30, tzinfo=timezone(timedelta(hours=8)))
    assert re.fullmatch(r"a{60}-20261130-[0-9a-f]{10}", names.new_proposal_id("a" * 300, at))


@pytest.mark.parametrize(
    "text", ["../../etc/passwd", "x", "A-20260101-0123456789", "-abcdef", "a" * 122, "abcdef\n"]
)
def test_what_is_no_id_is_refused(text):
    assert not names.is_proposal_id(text)


@pytest.mark.parametrize(
    ("text", "size"), [("字" * 54, 162), ("a" * 160, 160), ("😀" * 40, 160), ("é" * 80, 160), ("\ud800", 3)]
)
def test_bytes_are_counted_as_written(text, size):
    assert len(names.utf8(text)) == size


@given(st.text(), st.integers(0, 40))
def test_a_cut_never_splits_a_character(text, limit):
    cut = names.cut_utf8(text, limit)
    assert len(names.utf8(cut)) <= limit
    assert text.startswith(cut)


def test_a_cut_of_cjk_ends_before_the_character_that_would_not_fit():
    assert names.cut_utf8("字" * 54, 160) == "字" * 53


def test_dates_have_milliseconds_and_z():
    at = datetime(2026, 11, 30, 15, 33, 43, 324999, tzinfo=UTC)
    assert names.iso(at) == "2026-11-30T15:33:43.324Z"
    assert names.from_iso("2026-11-30T15:33:43.324Z") == at.replace(microsecond=324000)


@pytest.mark.parametrize(("text", "length"), [("abc", 3), ("😀", 2), ("字", 1)])
def test_length_is_counted_in_utf16_units(text, length):
    assert names.utf16_length(text) == length


def test_storable_text_has_no_nul_and_no_lone_surrogate():
    assert names.storable("a\0b\ud800c") == "a\ufffdb\ufffdc"


def test_blank_text_is_nothing():
    assert (names.blank_to_none("  "), names.blank_to_none(" a "), names.blank_to_none(None)) == (
        None,
        "a",
        None,
    )
