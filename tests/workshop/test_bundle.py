import pytest

from tests.workshop import recorded_cases as recorded
from workshop import bundle, names
from workshop.hashes import sha256
from workshop.names import utf8


def created():
    for name in recorded.names("create-*", "apply-*"):
        case = recorded.load(name)
        made = case["response"].get("create", case["response"])
        params = case["request"].get("create params") or case["request"].get("params")
        if made.get("ok") and params and isinstance(made.get("content"), str):
            yield pytest.param(params, made, case["response"].get("live_tree"), id=name)


def render(params, made):
    source = bundle.read(params["content"])
    return bundle.render_draft(
        source,
        name=names.skill_key(params["name"]),
        description=source.description or names.trim(params["description"]),
        version="v1",
        date=recorded.date_of(made["content"]),
    )


def test_enough_cases_are_replayed():
    assert len(list(created())) == 78


@pytest.mark.parametrize(("params", "made", "tree"), list(created()))
def test_a_draft_has_the_recorded_bytes_and_the_skill_too(params, made, tree):
    draft = render(params, made)
    assert draft == made["content"]
    assert sha256(utf8(draft)) == made["record"]["draftHash"]
    live = [entry["sha256"] for entry in (tree or {}).get("entries", []) if entry["path"] == "SKILL.md"]
    assert [sha256(utf8(bundle.render_skill(draft))) for _ in live] == live


@pytest.mark.parametrize("name", recorded.names("create-content-4*-bytes", "create-content-20000x*"))
def test_a_draft_at_the_size_limit_has_the_recorded_hash(name):
    case = recorded.load(name)
    long = case["response"]["content"]["$long_string"]
    start = long.get("starts_with") or long.get("head") or ""
    draft = render(case["request"]["params"], {"content": start})
    assert (len(draft), sha256(utf8(draft))) == (long["chars"], long["sha256"])


def test_an_update_without_a_block_keeps_the_live_keys():
    live = bundle.read('---\nname: "fm-rules"\ndescription: "label"\nlicense: MIT\nauthor: a\n---\n\nbody\n')
    draft = bundle.render_draft(
        bundle.read("new body\n"),
        name=live.name,
        description=live.description,
        version="v1",
        date="2026-11-30T15:33:47.931Z",
        fallback=live,
    )
    wanted = recorded.load("life-39-update-body-only")["response"]
    assert draft == wanted["content"]
    assert sha256(utf8(draft)) == wanted["record"]["draftHash"]


def test_an_update_with_its_own_block_replaces_the_live_keys():
    live = bundle.read(
        '---\nname: "fm-rules"\ndescription: "label"\nlicense: MIT\nauthor: a\n---\n\nnew body\n'
    )
    source = bundle.read("---\ndescription: from content\nauthor: b\n---\nnew body\n")
    draft = bundle.render_draft(
        source,
        name=live.name,
        description=source.description,
        version="v1",
        date="2026-11-30T15:33:47.992Z",
        fallback=live,
    )
    assert draft == recorded.load("life-39-update-own-frontmatter")["response"]["content"]


@pytest.mark.parametrize(
    ("draft", "problem"),
    [
        ("---\nname: a\ndescription: b\nstatus: proposal\n---\nx", None),
        ("x", "no-frontmatter"),
        ("---\nlicense: [unclosed\n---\nx", "invalid-yaml"),
        ("---\ndescription: b\nstatus: proposal\n---\nx", "no-name"),
        ("---\nname: a\nstatus: proposal\n---\nx", "no-description"),
        ("---\nname: a\ndescription: b\nstatus: live\n---\nx", "no-status"),
    ],
)
def test_a_draft_that_cannot_be_applied_says_why(draft, problem):
    assert bundle.draft_problem(draft) == problem
