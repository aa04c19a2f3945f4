import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop import recorded_cases as recorded
from workshop.collation import ASCII_ORDER, unicode_key
from workshop.hashes import js_string, locale_sorted, revision_hash

NODE = json.loads(Path(__file__).with_name("locale_order.json").read_text(encoding="utf-8"))


def test_the_recorded_vector_of_sixteen_paths():
    case = recorded.load("hash-revision-vector")
    asked = case["request"]
    files = asked["supportFiles"]
    assert locale_sorted(file["path"] for file in files) == case["response"]["order_used_for_the_hash"]
    assert (
        revision_hash(asked["proposedVersion"], asked["draftHash"], files) == case["response"]["revisionHash"]
    )


def whole_records():
    for name in recorded.names("life-*"):
        payload = recorded.load(name)["response"]
        payload = payload.get("payload", {}) if isinstance(payload, dict) else {}
        if isinstance(payload.get("record"), dict) and "revisionHash" in payload:
            yield pytest.param(payload["record"], payload["revisionHash"], id=name)


@pytest.mark.parametrize(("record", "expected"), list(whole_records()))
def test_every_recorded_revision_hash_is_reproduced(record, expected):
    got = revision_hash(record["proposedVersion"], record["draftHash"], record.get("supportFiles", []))
    assert got == expected


def test_mixed_scripts_are_ordered_as_node_orders_them():
    assert locale_sorted(NODE["given"]) == NODE["sorted"]


def test_equivalent_paths_keep_their_order():
    pair = ["assets/é", "assets/e\u0301"]
    assert locale_sorted(pair) == pair
    assert locale_sorted(pair[::-1]) == pair[::-1]


@given(st.lists(st.text(alphabet=ASCII_ORDER, min_size=1, max_size=8), unique=True, max_size=8))
def test_the_ascii_table_and_the_unicode_algorithm_agree(paths):
    assert locale_sorted(paths) == sorted(paths, key=unicode_key)


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ('a"b\\', '"a\\"b\\\\"'),
        ("é\u2028", '"é\u2028"'),
        ("\b\f\n\r\t\x1f\x7f", '"\\b\\f\\n\\r\\t\\u001f\x7f"'),
        ("a\ud800b\udfff", '"a\\ud800b\\udfff"'),
        ("😀", '"😀"'),
    ],
)
def test_strings_are_written_as_javascript_writes_them(text, json_text):
    assert js_string(text) == json_text


@given(st.text())
def test_written_strings_are_read_back(text):
    assert json.loads(js_string(text)) == text
