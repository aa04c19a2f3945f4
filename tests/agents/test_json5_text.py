import json
import math

import json5
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.json5_text import Json5Fault, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_plain_json_reads_as_the_standard_library_reads_it(data):
    assert loads(json.dumps(data)) == data
    assert loads("/* c */" + json.dumps(data, ensure_ascii=False, indent=1) + "// end") == data


@given(st.text(alphabet="{}[]:,\"'/*\\ \n\tabx1-+.eu0F$_\ufeff\u2028值", max_size=40))
@settings(max_examples=300)
@example("{a:1,,}")
@example("[1,]")
@example("{\\u0061b: 'x\\\ny', }")
@example("[+.5, -0x1F, 5., 1e3, -Infinity]")
def test_a_text_is_valid_and_means_what_the_json5_package_says(text):
    try:
        theirs = json5.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises(Json5Fault) as caught:
            loads(text)
        assert 0 <= caught.value.index <= len(text)
    else:
        ours = loads(text)
        assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud83d"', "\ufffd"),
        ('"\\0\\x41\\v\\q"', "\0A\vq"),
        ("9" * 400, math.inf),
        ("-Infinity", -math.inf),
        ("'\u2028'", "\u2028"),
        ("{名: 1, $a_1: 2}", {"名": 1, "$a_1": 2}),
    ],
)
def test_what_is_rare_is_read_right(text, value):
    assert loads(text) == value


def test_not_a_number_is_a_number():
    assert math.isnan(loads("NaN"))
