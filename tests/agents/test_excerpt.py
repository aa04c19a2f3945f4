from hypothesis import given
from hypothesis import strategies as st

from agents.excerpt import masked_excerpt, masked_line


def test_keys_stay_and_values_are_dots_in_their_columns():
    assert masked_line('  "token": "sk-12:34", port: 18789, // old sk-99') == (
        '  "token": "••••••••", port: •••••, //••••••••••'
    )


def test_a_value_that_looks_like_a_key_is_hidden():
    assert masked_line('"token": "secret" : "other"') == '"token": "••••••" : "•••••"'
    assert masked_line("token: abc: def") == "token: •••: •••"


def test_an_open_string_is_hidden_to_the_end_of_the_line():
    assert masked_line('"token": "secret, "next') == '"token": "••••••••"••••'
    assert masked_line('"token": "sec\\') == '"token": "••••'


def test_the_lines_around_are_numbered_from_one():
    text = "\n".join(f"k{n}: {n}," for n in range(1, 10))
    assert masked_excerpt(text, 5) == (
        (2, "k2: •,"),
        (3, "k3: •,"),
        (4, "k4: •,"),
        (5, "k5: •,"),
        (6, "k6: •,"),
    )


@given(st.text(alphabet="abz\"'{}[]:,/\\ \t*", max_size=40))
def test_masking_keeps_every_column(line):
    assert len(masked_line(line)) == len(line)


@given(st.text(alphabet="abcxyz0189-:/,{} ", min_size=1, max_size=30))
def test_a_quoted_value_never_shows(secret):
    shown = masked_line('"apiKey": "' + secret + '"')
    assert shown == '"apiKey": "' + "•" * len(secret) + '"'
