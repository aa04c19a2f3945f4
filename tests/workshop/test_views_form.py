"""The proposal form: one validator, a message for each file, nothing typed is lost, no script needed."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file, update
from workshop.models import Proposal
from workshop.services.revisions import revise_proposal

pytestmark = pytest.mark.django_db
NEW = {"agent": "main", "kind": "create", "name": "trip", "description": "Plan a trip", "content": TRIP}


def upload(name, data):
    return SimpleUploadedFile(name, data)


def stored(state_dir, proposal, path):
    folder = (state_dir / "skill-workshop/proposals" / proposal.pk / proposal.draft_file).parent
    return (folder / path).read_bytes()


def test_a_pasted_text_becomes_a_proposal(two_agents, reviewer):
    answer = reviewer.post(
        reverse("workshop:new"), {**NEW, "content": TRIP.replace("\n", "\r\n"), "goal": "Asked twice"}
    )
    proposal = Proposal.objects.get()
    assert answer.url == reverse("workshop:proposal", args=[proposal.pk])
    assert proposal.record["goal"] == "Asked twice"
    assert b"\r" not in stored(two_agents, proposal, "PROPOSAL.md")
    assert not skill_file(two_agents).exists()


def test_files_and_a_folder_come_with_it_byte_for_byte(two_agents, reviewer):
    reviewer.post(
        reverse("workshop:new"),
        {
            **NEW,
            "folder": "assets",
            "uploads": [upload("loose.txt", b"one\r\ntwo"), upload("说明.md", "你好\n".encode())],
            "tree": [upload("run.sh", b"#!/bin/sh\n"), upload("deep.md", b"x")],
            "tree_paths": "my-skill/scripts/run.sh\nmy-skill/sub/deep.md",
            "path": ["references/typed.md", ""],
            "file_content": ["a\r\nb\r\n", ""],
        },
    )
    proposal = Proposal.objects.get()
    assert [item["path"] for item in proposal.record["supportFiles"]] == [
        "references/typed.md",
        "assets/loose.txt",
        "assets/说明.md",
        "scripts/run.sh",
        "assets/sub/deep.md",
    ]
    assert stored(two_agents, proposal, "assets/loose.txt") == b"one\r\ntwo"
    assert stored(two_agents, proposal, "references/typed.md") == b"a\nb\n"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("description", "订" * 54, "The description has 162 bytes; 160 are allowed."),
        ("description", "", "The skill needs a description."),
        ("name", " ", "The skill needs a name."),
        ("name", "日本語", "The name needs at least one letter"),
        ("content", "x" * 40_001, "The text has 40001 bytes; 40000 are allowed"),
    ],
)
def test_a_limit_is_told_beside_its_field_and_the_rest_is_kept(two_agents, reviewer, field, value, says):
    answer = reviewer.post(reverse("workshop:new"), {**NEW, field: value})
    assert answer.status_code == 422
    assert says in answer.context["form"].errors[field]
    html = answer.content.decode()
    assert says in html
    assert f'id="{field}-error"' in html
    assert (TRIP if field != "content" else value) in html
    assert not Proposal.objects.exists()


@pytest.mark.parametrize("description", ["a" * 160, "😀" * 40, "订" * 53 + "a"])
def test_a_description_of_160_bytes_is_taken(two_agents, reviewer, description):
    reviewer.post(reverse("workshop:new"), {**NEW, "description": description})
    assert Proposal.objects.get().description == description


@pytest.mark.parametrize(
    "path",
    [
        "skill-card.md",
        "references//a.md",
        "references/./a.md",
        "references/../a.md",
        "/etc/x",
        "references/.env",
        "references\\a.md",
    ],
)
def test_a_bad_path_is_told_beside_its_file_and_the_good_ones_are_kept(two_agents, reviewer, path):
    answer = reviewer.post(
        reverse("workshop:new"),
        {**NEW, "path": ["references/good.md", path], "file_content": ["kept text", "x"]},
    )
    assert answer.status_code == 422
    good, bad = answer.context["form"].files
    assert (good.path, good.content, good.problem) == ("references/good.md", "kept text", "")
    assert bad.path == path
    assert bad.problem
    assert "kept text" in answer.content.decode()
    assert not Proposal.objects.exists()


def test_every_bad_file_has_its_own_message(two_agents, reviewer):
    answer = reviewer.post(
        reverse("workshop:new"),
        {
            **NEW,
            "path": ["references/a", "references/a/b.md"],
            "file_content": ["x", "y"],
            "uploads": [upload("latin.txt", b"caf\xe9"), upload("large.txt", b"x" * 262_145)],
        },
    )
    problems = {row.path: row.problem for row in answer.context["form"].files}
    assert "also a folder" in problems["references/a/b.md"]
    assert problems["references/latin.txt"] == (
        "“references/latin.txt” is not UTF-8 text (byte 4). Save it as UTF-8, or leave it out."
    )
    assert "262145 bytes; 262144 are allowed" in problems["references/large.txt"]
    assert answer.status_code == 422


def test_65_files_are_one_too_many(two_agents, reviewer):
    paths = [f"references/{number}.md" for number in range(65)]
    answer = reviewer.post(reverse("workshop:new"), {**NEW, "path": paths, "file_content": ["x"] * 65})
    assert "65 files; 64 are allowed" in answer.content.decode()
    reviewer.post(reverse("workshop:new"), {**NEW, "path": paths[:64], "file_content": ["x"] * 64})
    assert Proposal.objects.get().support_count == 64


def test_only_checking_proposes_nothing(two_agents, reviewer):
    answer = reviewer.post(
        reverse("workshop:new"), {**NEW, "check": "1", "uploads": [upload("a.md", b"hello")]}
    )
    html = answer.content.decode()
    assert "Everything fits the limits" in html
    assert "hello" in html and "references/a.md" in html
    assert not Proposal.objects.exists()


def test_only_checking_tells_what_does_not_fit(two_agents, reviewer):
    answer = reviewer.post(reverse("workshop:new"), {**NEW, "check": "1", "description": "订" * 54})
    assert "162 bytes" in answer.content.decode()
    assert "Everything fits" not in answer.content.decode()


def test_a_full_desk_names_both_counts_and_the_way(two_agents, reviewer, person):
    from tests.workshop.conftest import write_config
    from workshop.services.decisions import quarantine_proposal

    write_config(two_agents, {"maxPending": 2})
    quarantine_proposal("main", propose(person, name="one").pk, caller=person)
    propose(person, name="two")
    answer = reviewer.post(reverse("workshop:new"), NEW)
    html = answer.content.decode()
    assert "1 pending and 1 in quarantine; 2 are allowed together" in html
    assert f'href="{reverse("workshop:quarantine")}"' in html
    assert TRIP in html


def test_a_change_of_a_live_skill_starts_from_its_text(two_agents, reviewer, person):
    live_skill(person)
    page = reviewer.get(reverse("workshop:new"), {"skill": "main/trip"})
    form = page.context["form"]
    assert (form.kind, form.name, form.content) == ("update", "trip", TRIP)
    reviewer.post(reverse("workshop:new"), {**NEW, "kind": "update", "content": TRIP + "- Wave.\n"})
    assert Proposal.objects.get(status="pending").kind == "update"


def test_editing_publishes_the_next_version_and_keeps_untouched_files(two_agents, reviewer, person):
    files = [{"path": "references/a.md", "content": "one\r\ntwo\r\n"}]
    proposal = propose(person, support_files=files)
    url = reverse("workshop:edit", args=[proposal.pk])
    form = reviewer.get(url).context["form"]
    assert form.content == TRIP
    answer = reviewer.post(
        url,
        {
            "revision": proposal.revision_hash,
            "description": form.description,
            "content": TRIP + "- Wave.\n",
            "path": [row.path for row in form.files],
            "file_content": [row.content for row in form.files],
            "crlf": ["0"],
        },
    )
    assert answer.status_code == 302
    proposal.refresh_from_db()
    assert proposal.version == 2
    assert stored(two_agents, proposal, "references/a.md") == b"one\r\ntwo\r\n"
    assert b"- Wave." in stored(two_agents, proposal, "PROPOSAL.md")


def test_editing_what_somebody_revised_keeps_the_text_and_shows_the_difference(two_agents, reviewer, person):
    proposal = propose(person)
    revise_proposal("main", proposal.pk, content=TRIP.replace("Pay.", "Pay by card."), caller=person)
    url = reverse("workshop:edit", args=[proposal.pk])
    mine = {"revision": proposal.revision_hash, "description": "Plan", "content": "# My long text\n"}
    answer = reviewer.post(url, mine)
    assert answer.status_code == 422
    html = answer.content.decode()
    assert "# My long text" in html
    assert "You began from version 1; version 2 came meanwhile." in html
    assert "<ins> by card</ins>" in html
    proposal.refresh_from_db()
    assert proposal.version == 2
    assert f'name="revision" value="{proposal.revision_hash}"' in html
    assert reviewer.post(url, {**mine, "revision": proposal.revision_hash}).status_code == 302


def test_a_file_can_be_left_out(two_agents, reviewer, person):
    files = [{"path": f"references/{name}.md", "content": name} for name in "ab"]
    proposal = propose(person, support_files=files)
    reviewer.post(
        reverse("workshop:edit", args=[proposal.pk]),
        {
            "revision": proposal.revision_hash,
            "description": "Plan a trip",
            "content": TRIP,
            "path": ["references/a.md", "references/b.md"],
            "file_content": ["a", "b"],
            "drop": ["0"],
        },
    )
    proposal.refresh_from_db()
    assert [item["path"] for item in proposal.record["supportFiles"]] == ["references/b.md"]


def test_a_literal_credential_is_refused_and_named_by_place_only(two_agents, reviewer):
    token = "ghp_" + "a1B2" * 9
    answer = reviewer.post(reverse("workshop:new"), {**NEW, "goal": f"use {token}"})
    assert answer.status_code == 422
    assert "A credential is written out in the goal" in answer.content.decode()
    assert not Proposal.objects.exists()


def test_a_viewer_gets_no_form(two_agents, viewer, person):
    proposal = propose(person)
    assert viewer.get(reverse("workshop:new")).status_code == 403
    assert viewer.get(reverse("workshop:edit", args=[proposal.pk])).status_code == 403


def test_a_decided_proposal_cannot_be_edited(two_agents, reviewer, person):
    proposal = live_skill(person)
    assert reviewer.get(reverse("workshop:edit", args=[proposal.pk])).status_code == 404


def test_a_second_change_of_one_skill_points_at_the_first(two_agents, reviewer, person):
    live_skill(person)
    first = update(person)
    html = reviewer.get(reverse("workshop:new"), {"skill": "main/trip"}).content.decode()
    assert "A proposal for this skill waits already" in html
    assert reverse("workshop:proposal", args=[first.pk]) in html


def test_the_largest_allowed_files_can_be_edited_in_the_browser(two_agents, reviewer, person):
    short_lines = "x\n" * 131_072
    files = [{"path": f"references/{number}.md", "content": short_lines} for number in range(8)]
    proposal = propose(person, support_files=files)
    answer = reviewer.post(
        reverse("workshop:edit", args=[proposal.pk]),
        {
            "revision": proposal.revision_hash,
            "description": "Plan a trip",
            "content": TRIP + "- Wave.\n",
            "path": [item["path"] for item in files],
            # As browsers send text areas.
            "file_content": [short_lines.replace("\n", "\r\n")] * 8,
        },
    )
    assert answer.status_code == 302
    proposal.refresh_from_db()
    assert (proposal.version, proposal.support_count) == (2, 8)


def test_two_mebibytes_and_one_byte_in_all_are_refused_with_a_sentence(two_agents, reviewer):
    paths = [f"references/{number}.md" for number in range(9)]
    contents = ["x" * 262_144] * 8 + ["y"]
    answer = reviewer.post(reverse("workshop:new"), {**NEW, "path": paths, "file_content": contents})
    assert answer.status_code == 422
    assert "2097152 are allowed" in answer.content.decode()
    assert not Proposal.objects.exists()
