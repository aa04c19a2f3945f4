import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.supportpaths import MAX_FILE_BYTES, ROOTS, check_path, validate, warnings_for


def codes(*items):
    return [refusal.code for refusal in validate([{"path": p, "content": c} for p, c in items])[1]]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("skill-card.md", "path-root"),
        ("SKILL.md", "path-root"),
        ("Assets/a", "path-root"),
        ("assets", "path-root"),
        ("references//a.md", "path-segment"),
        ("references/./a.md", "path-segment"),
        ("references/../a.md", "path-segment"),
        ("references/.env", "path-segment"),
        ("references/a/", "path-segment"),
        ("../references/a", "path-segment"),
        ("/etc/x", "path-absolute"),
        ("references\\a.md", "path-backslash"),
        ("   ", "path-blank"),
        ("assets/a\0", "path-nul"),
        ("assets/" + "n" * 256, "path-too-long"),
    ],
)
def test_a_bad_path_is_refused_by_name(path, code):
    assert codes((path, "x")) == [code]


@pytest.mark.parametrize(
    "path",
    [
        "assets/SKILL.md",
        "assets/a b",
        "assets/x\ny",
        "assets/%2e%2e/a",
        "assets/c:d",
        "assets/~",
        "assets/a.",
        "assets/é日本.txt",
    ],
)
def test_what_the_contract_takes_is_taken(path):
    assert codes((path, "x")) == []


def test_twenty_levels_are_taken():
    assert codes(("assets/" + "/".join("d" * 20) + "/f", "")) == []


def test_spaces_around_a_path_are_dropped_before_it_is_compared():
    assert codes(("assets/a", "1"), (" assets/a ", "2")) == ["path-duplicate"]


def test_a_file_that_is_also_a_folder_is_refused():
    assert codes(("references/a", "1"), ("references/a/b.md", "2")) == ["path-overlap"]


def test_names_that_only_begin_alike_do_not_overlap():
    assert codes(("references/a", "1"), ("references/ab", "2"), ("references/a.md", "3")) == []


def test_every_file_gets_its_own_message():
    assert codes(("x", "1"), ("assets/ok", "2"), ("assets/.h", "3")) == ["path-root", "path-segment"]


@pytest.mark.parametrize(("size", "wanted"), [(MAX_FILE_BYTES, []), (MAX_FILE_BYTES + 1, ["file-too-large"])])
def test_a_file_has_256_kib_at_most(size, wanted):
    assert codes(("assets/a", "x" * size)) == wanted


def test_bytes_count_not_characters():
    assert codes(("assets/a", "é" * 131_073)) == ["file-too-large"]


@pytest.mark.parametrize(("extra", "wanted"), [(0, []), (1, ["files-too-large"])])
def test_all_files_together_have_2_mib_at_most(extra, wanted):
    files = [(f"assets/{n}", "x" * MAX_FILE_BYTES) for n in range(8)]
    assert codes(*files, ("assets/last", "y" * extra)) == wanted


@pytest.mark.parametrize(("count", "wanted"), [(64, []), (65, ["too-many-files"])])
def test_there_are_64_files_at_most(count, wanted):
    assert codes(*[(f"assets/{n}", "") for n in range(count)]) == wanted


def test_nul_in_a_file_is_refused():
    assert codes(("assets/a", "a\0b")) == ["file-nul"]


def test_a_lone_surrogate_is_stored_as_the_replacement_character():
    files, refused = validate([{"path": "assets/a", "content": "a\ud800b"}])
    assert (refused, files[0].data) == ([], "a\ufffdb".encode())


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["assets/a", "assets/A"], [("same-but-for-case", "assets/A", "assets/a")]),
        (["assets/A/x", "assets/a"], [("same-but-for-case", "assets/a", "assets/A")]),
        (["assets/é", "assets/e\u0301"], [("same-but-for-case", "assets/e\u0301", "assets/é")]),
        (["assets/x\ny"], [("control-character", "assets/x\ny", "")]),
        (["assets/a\u202etxt"], [("direction-character", "assets/a\u202etxt", "")]),
        (["assets/a/1", "assets/a/2"], []),
    ],
)
def test_what_is_taken_but_risky_is_a_warning(paths, found):
    assert warnings_for(paths) == found


@given(st.text(alphabet=st.sampled_from("asets/.\\ \0~:Aé"), max_size=14))
def test_an_accepted_path_stays_inside_its_folder(path):
    if check_path(path) is None:
        first, *rest = path.split("/")
        assert first in ROOTS
        assert rest
        assert not {"", ".", ".."} & set(rest)
        assert not path.startswith("/")
