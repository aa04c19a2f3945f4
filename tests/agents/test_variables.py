from pathlib import Path

import pytest

from agents.variables import Variables


@pytest.fixture
def variables(tmp_path):
    return Variables(
        tmp_path,
        {"HOME": "/home/ann", "TEAM": "blue", "EMPTY": ""},
        {"vars": {"ROOT": "/srv/agents", "TEAM": "never", "PORT": 5}},
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~/ws", "/home/ann/ws"),
        ("~", "/home/ann"),
        ("$TEAM", "{state}/blue"),
        ("/data/${TEAM}/ws/../x", "/data/blue/x"),
        ("$ROOT/ops", "/srv/agents/ops"),
        ("${OPENCLAW_STATE_DIR}/workspace", "{state}/workspace"),
        ("relative/ws", "{state}/relative/ws"),
        (" /spaced path/工作区 ", "/spaced path/工作区"),
        ("/literal/$${TEAM}", "/literal/${TEAM}"),
        ("~ann/ws", "{state}/~ann/ws"),
        ("/a$b", "/a$b"),
        ("/a\0b", "/ab"),
    ],
)
def test_paths_are_filled_in(variables, tmp_path, text, path):
    assert variables.path(text)[0] == Path(path.replace("{state}", str(tmp_path)))


def test_what_is_not_set_is_named_and_left_as_it_stands(variables, tmp_path):
    assert variables.path("/x/$NOPE/${EMPTY}") == (Path("/x/$NOPE/${EMPTY}"), ["NOPE", "EMPTY"])


def test_a_number_is_no_variable(variables):
    assert variables.expand("$PORT $5") == ("$PORT $5", ["PORT"])


def test_the_env_file_comes_after_the_process_and_before_the_config(variables, tmp_path):
    (tmp_path / ".env").write_text("# c\nexport ROOT='/from file'\nTEAM=red\nEMPTY = \"full\"\n")
    assert variables.expand("$ROOT|$TEAM|$EMPTY") == ("/from file|blue|full", [])


def test_only_what_was_asked_for_is_remembered(variables):
    variables.expand("$TEAM $NOPE")
    assert variables.used == {"TEAM": "blue", "NOPE": None}


def test_openclaw_home_goes_before_home(tmp_path):
    assert Variables(tmp_path, {"HOME": "/a", "OPENCLAW_HOME": "/b"}).path("~/x")[0] == Path("/b/x")
