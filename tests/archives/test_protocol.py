"""`spec/archives.md` §1 TIMESTAMP and §2: the two tracks."""

import unicodedata
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives import protocol
from archives.errors import PathRefused
from archives.protocol import (
    ArchivePath,
    clean_name,
    guess_timestamp,
    is_fallback_id,
    next_timestamp,
    parse_path,
    place,
    read_timestamp,
    take_timestamp,
)

TS = "2026-04-16-14-30-05"


def refusal(function, *args) -> str:
    with pytest.raises(PathRefused) as caught:
        function(*args)
    assert len(caught.value.message) > 15
    return caught.value.code


def test_the_timestamp_is_local_wall_clock_time():
    instant = datetime(2026, 4, 16, 6, 30, 5, tzinfo=UTC)
    assert take_timestamp(instant, ZoneInfo("Asia/Shanghai")) == "2026-04-16-14-30-05"


def test_a_naive_time_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="aware"):
        take_timestamp(datetime(2026, 4, 16))


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-16 14:30:05", "2026-04-16-14-30", "2026-4-16-14-30-05", "2026-02-30-00-00-00",
        "2026-04-16-24-00-00", "2026-04-16-14-30-60", "2026-04-16-14-30-05\n", "", "２０２６-04-16-14-30-05",
    ],
)  # fmt: skip
def test_only_a_real_time_in_the_exact_form_is_a_timestamp(text):
    assert read_timestamp(text) is None
    assert refusal(place, "main", text, "a.md") == "path-timestamp"


def test_the_next_second_carries_over_midnight_and_new_year():
    assert next_timestamp("2026-12-31-23-59-59") == "2027-01-01-00-00-00"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-04-16 14:30:05", TS), ("2026-04-16T14:30:05", TS), ("20260416143005", TS),
        ("2026-04-16", "2026-04-16-00-00-00"), ("2026-04-16-14-30", "2026-04-16-14-30-00"),
        ("2026-13-16", None), ("draft", None), ("", None),
    ],
)  # fmt: skip
def test_lint_guesses_what_a_wrong_bucket_name_meant(written, meant):
    assert guess_timestamp(written) == meant


@pytest.mark.parametrize("text", ["a3f2b1c-0416-1430", "local-0229-0000", "local-1231-2359"])
def test_fallback_ids_are_known_by_their_form(text):
    assert is_fallback_id(text)


@pytest.mark.parametrize(
    "text", ["main", "local-1301-0000", "local-0416-2460", "A3F2-0416-1430", "local-0416-1430-x"]
)
def test_other_ids_are_no_fallbacks(text):
    assert not is_fallback_id(text)


def test_the_plan_lies_at_the_archives_root():
    assert str(place("main", TS, "PLAN.md")) == "archives/main/PLAN.md"


def test_everything_else_lies_in_its_bucket():
    assert str(place("main", TS, "report.md")) == f"archives/main/{TS}/report.md"


def test_a_name_that_only_resembles_the_plan_is_an_ordinary_file():
    assert str(place("main", TS, "plan.md")) == f"archives/main/{TS}/plan.md"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"arch/main/{TS}/a.md", "path-root"),
        (f"archive/main/{TS}/a.md", "path-root"),
        (f"arch/archives/main/{TS}/a.md", "path-root"),
        (f"x/archives/main/{TS}/a.md", "path-root"),
        (f"Archives/main/{TS}/a.md", "path-root"),
        (f"ARCHIVES/main/{TS}/a.md", "path-root"),
        ("", "path-root"),
        (f"/archives/main/{TS}/a.md", "path-absolute"),
        (f"C:/archives/main/{TS}/a.md", "path-absolute"),
        ("archives/../secret", "path-dot"),
        (f"archives/main/{TS}/../../../.env", "path-dot"),
        (f"./archives/main/{TS}/a.md", "path-dot"),
        (f"archives//main/{TS}/a.md", "path-shape"),
        (f"archives/main/{TS}/sub/a.md", "path-shape"),
        (f"archives/main/{TS}", "path-shape"),
        (f"archives/main/{TS}/", "path-shape"),
        ("archives/main/a.md", "path-shape"),
        ("archives/main", "path-shape"),
        (f"archives/main/{TS}/PLAN.md", "path-plan"),
        ("archives/main/today/a.md", "path-timestamp"),
        (f"archives/.git/{TS}/a.md", "path-id"),
        (f"archives/main/{TS}/a\\b.md", "name-separator"),
        (f"archives/main/{TS}/a\0.md", "name-control"),
        (f"archives/main/{TS}/a\u202efdp.exe", "name-control"),
    ],
)
def test_a_wrong_path_is_refused_naming_the_rule(path, code):
    assert refusal(parse_path, path) == code


@pytest.mark.parametrize(
    "name", ["报告 11-30.md", "📈 trend.png", "👩‍🔬.txt", "a b  c", "..a", "a..", "x" * 255]
)
def test_chinese_spaces_and_emoji_stay_as_they_are(name):
    assert clean_name(name) == name


def test_a_name_is_written_in_nfc():
    assert clean_name(unicodedata.normalize("NFD", "résumé.md")) == "résumé.md"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "name-empty"), ("   ", "name-empty"), (".", "name-dot"), ("..", "name-dot"), ("a/b", "name-separator"),
        ("a\\b", "name-separator"), ("a\0", "name-control"), ("a\nb", "name-control"), ("a\x7f", "name-control"),
        ("a\u2028b", "name-control"), ("\udcff.md", "name-control"), ("x" * 256, "name-too-long"),
        ("报" * 86, "name-too-long"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_refused_naming_the_rule(name, code):
    assert refusal(clean_name, name) == code


names = st.text(min_size=1, max_size=300)


@given(names)
def test_an_accepted_name_is_one_segment_that_round_trips(name):
    try:
        path = place("main", TS, name)
    except PathRefused:
        return
    assert "/" not in path.name and len(path.name.encode()) <= 255
    assert unicodedata.is_normalized("NFC", path.name)
    assert parse_path(str(path)) == path


segments = st.sampled_from(
    ["archives", "arch", "main", TS, "PLAN.md", "a.md", "..", ".", "", "报告.md", "/", "\\x"]
)


@given(st.lists(segments, max_size=6).map("/".join))
def test_an_accepted_path_lies_on_one_of_the_two_tracks(text):
    try:
        path = parse_path(text)
    except PathRefused:
        return
    assert str(path) == text
    parts = text.split("/")
    assert parts[0] == "archives" and ".." not in parts
    assert parts[2:] == ["PLAN.md"] or (len(parts) == 4 and parts[2] == TS and parts[3] != "PLAN.md")


def test_subpath_and_root_are_what_blocks_carry():
    path = ArchivePath("main", TS, "a.md")
    assert (path.root, path.subpath) == ("archives/main", f"{TS}/a.md")
    assert ArchivePath("main", "", protocol.PLAN).subpath == "PLAN.md"
