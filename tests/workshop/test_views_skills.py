"""Skills and curator pages: what is on the disk at this moment, in words that claim no more than is known."""

import re
from html import unescape

import pytest
from django.urls import reverse

from agents.roster import load_roster
from gateway.models import Delivery
from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file
from workshop.models import AgentDesk, CollectionReview, LearningSession, ReviewState, SkillUsage
from workshop.queries.curation import curation
from workshop.queries.reviews import review_key

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def by_hand(state_dir, name, text=None, agent="main"):
    file = skill_file(state_dir, name, agent)
    file.parent.mkdir(parents=True)
    file.write_text(text or f"---\nname: {name}\ndescription: Does {name}\n---\n\nDo it.\n")
    return file


def names(response):
    return [row.skill.name for row in response.context["skills"]]


def test_skills_that_changed_after_they_were_applied_stand_first(two_agents, viewer, person):
    live_skill(person, name="aaa")
    live_skill(person, name="zzz")
    by_hand(two_agents, "mmm")
    file = skill_file(two_agents, "zzz")
    file.write_text(file.read_text() + "More.\n")
    response = viewer.get(reverse("workshop:skills"))
    assert names(response) == ["zzz", "aaa", "mmm"]
    assert "From “Create zzz”, applied just now" in text_of(response)
    html = response.content.decode()
    assert re.findall(r'class="pill (?:warn|ok|idle)">([^<]+)<', html)[-3:] == [
        "changed",
        "as applied",
        "by hand",
    ]


def test_the_page_never_shows_a_skill_that_is_not_there(two_agents, viewer, person):
    live_skill(person)
    skill_file(two_agents).unlink()
    response = viewer.get(reverse("workshop:skills"))
    assert names(response) == []
    assert str(two_agents / "agents/main/agent/workshop-skills") in text_of(response)
    assert viewer.get(reverse("workshop:skill", args=["main", "trip"])).status_code == 404


def test_a_folder_that_cannot_be_read_is_an_error_not_an_empty_list(two_agents, viewer):
    folder = two_agents / "agents/main/agent"
    folder.mkdir(parents=True)
    (folder / "workshop-skills").write_text("not a folder")
    response = viewer.get(reverse("workshop:skills"))
    assert response.status_code == 200
    assert len(response.context["found"].problems) == 1
    assert "cannot be read" in text_of(response)


def test_no_recorded_use_is_never_called_unused(two_agents, viewer, person):
    live_skill(person)
    used = by_hand(two_agents, "used")
    SkillUsage.objects.create(
        skill_file=str(used.resolve()),
        skill_key="used",
        skill_name="used",
        first_used_at_ms=1_764_000_000_000,
        last_used_at_ms=1_764_000_000_000,
        use_count=3,
    )
    for url in (reverse("workshop:skills"), reverse("workshop:curator")):
        text = text_of(viewer.get(url))
        assert "not recorded" in text
        assert "unused" not in text.lower()
    assert "3 uses" in text_of(viewer.get(reverse("workshop:skills")))
    assert "3 times, 2025-11-24" in text_of(viewer.get(reverse("workshop:skill", args=["main", "used"])))


def test_what_is_no_skill_is_listed_apart_with_the_reason(two_agents, viewer):
    by_hand(two_agents, "good")
    by_hand(two_agents, "plain", "just text\n")
    by_hand(two_agents, "bad-yaml", "---\nname: x\ndescription: [a\n---\n\nx\n")
    by_hand(two_agents, "latin").write_bytes(b"---\nname: x\ndescription: caf\xe9\n---\n")
    response = viewer.get(reverse("workshop:skills"))
    assert names(response) == ["good"]
    found = {entry.item.dir: (entry.item.line, entry.sentence) for entry in response.context["found"].invalid}
    assert sorted(found) == ["bad-yaml", "latin", "plain"]
    assert found["latin"][0] == 3
    assert "Not skills 3" in text_of(response)
    assert all(sentence in text_of(response) for _line, sentence in found.values())


def test_a_value_with_a_colon_is_listed_with_a_better_line(two_agents, viewer):
    by_hand(two_agents, "colon", "---\nname: colon\ndescription: Do A. Use when: (1) b\n---\n\nx\n")
    assert names(viewer.get(reverse("workshop:skills"))) == ["colon"]
    assert 'description: "Do A. Use when: (1) b"' in text_of(
        viewer.get(reverse("workshop:skill", args=["main", "colon"]))
    )
    assert "Use when: (1) b\n" in skill_file(two_agents, "colon").read_text()


def test_search_looks_in_names_and_descriptions(two_agents, viewer):
    for name in ("alpha", "beta"):
        by_hand(two_agents, name)
    by_hand(two_agents, "third", "---\nname: third\ndescription: 订票前看座位图\n---\n\nx\n")
    assert names(viewer.get(reverse("workshop:skills"), {"q": "ALPHA"})) == ["alpha"]
    assert names(viewer.get(reverse("workshop:skills"), {"q": "座位"})) == ["third"]
    assert "No skill fits these words" in text_of(viewer.get(reverse("workshop:skills"), {"q": "nothing"}))


def test_the_reader_shows_text_raw_files_and_the_difference_to_what_was_applied(two_agents, viewer, person):
    live_skill(person, support_files=[{"path": "references/a.md", "content": "side"}])
    file = skill_file(two_agents)
    file.write_text(file.read_text().replace("Pay.", "Pay by card."))
    url = reverse("workshop:skill", args=["main", "trip"])
    assert "<h1>Trip</h1>" in viewer.get(url).content.decode()
    assert "description: " in viewer.get(url, {"view": "raw"}).content.decode()
    assert "side" in viewer.get(url, {"view": "files", "file": "references/a.md"}).content.decode()
    assert "<ins> by card</ins>" in viewer.get(url, {"view": "diff"}).content.decode()
    assert str(file) in viewer.get(url).content.decode()


@pytest.mark.parametrize("path", ["../../../../openclaw.json", "/etc/passwd", ".env", "references/../../x"])
def test_the_reader_opens_files_of_the_skill_alone(two_agents, viewer, person, path):
    live_skill(person)
    (two_agents / "agents/main/agent/workshop-skills/trip/.env").write_text("SECRET=1")
    html = viewer.get(
        reverse("workshop:skill", args=["main", "trip"]), {"view": "files", "file": path}
    ).content.decode()
    assert "SECRET" not in html
    assert "root:" not in html
    assert viewer.get(f"/workshop/skills/main/../../{path}").status_code in (301, 404)


def test_a_symbolic_link_is_named_and_not_followed(two_agents, viewer, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: out\ndescription: d\n---\n")
    root = two_agents / "agents/main/agent/workshop-skills"
    root.mkdir(parents=True)
    (root / "link").symlink_to(outside)
    response = viewer.get(reverse("workshop:skills"))
    assert names(response) == []
    assert f"Skipped: resolves to {outside}." in text_of(response)


def test_html_in_a_live_skill_stays_inert(two_agents, viewer):
    bad = "<img src=x onerror=alert(1)>"
    by_hand(two_agents, "bad", f"---\nname: bad {bad}\ndescription: {bad}\n---\n\n{bad}\n")
    for view in ("read", "raw", "files"):
        assert (
            "<img src=x"
            not in viewer.get(
                reverse("workshop:skill", args=["main", "bad"]), {"view": view}
            ).content.decode()
        )
    assert "<img src=x" not in viewer.get(reverse("workshop:skills")).content.decode()


def test_skills_that_say_nearly_the_same_are_named(two_agents, viewer, person):
    text = "---\nname: {}\ndescription: Fetch the weekly sales report and file it\n---\n\nx\n"
    by_hand(two_agents, "sales-one", text.format("sales-one"))
    by_hand(two_agents, "sales-two", text.format("sales-two"))
    by_hand(two_agents, "garden")
    by_hand(two_agents, "sales-three", text.format("sales-three"), agent="ops")
    [pair] = curation(person, None).overlaps
    assert (pair.left.skill.name, pair.right.skill.name) == ("sales-one", "sales-two")
    assert 0.5 <= pair.share < 1
    assert "sales-one" in text_of(viewer.get(reverse("workshop:curator")))


def test_the_curator_tells_how_full_each_desk_is(two_agents, viewer, person):
    from tests.workshop.conftest import write_config

    write_config(two_agents, {"maxPending": 7, "maxSkillBytes": 2000, "autonomous": {"mode": "propose"}})
    propose(person, content="short")
    text = text_of(viewer.get(reverse("workshop:curator")))
    assert "1 pending, 0 quarantined; 7 are allowed together" in text
    assert "learning: proposes" in text
    assert "a person decides" in text


def test_learning_is_an_ordinary_session_that_is_asked_for(two_agents, reviewer):
    answer = reviewer.post(reverse("workshop:learn"), {"agent": "main"})
    assert answer.status_code == 302
    session = LearningSession.objects.get()
    message = Delivery.objects.get()
    assert (message.session_key, message.text[:36]) == (
        session.session_key,
        "Learn from our past conversations.\n\n",
    )
    assert session.session_key in text_of(reviewer.get(reverse("workshop:curator")))


def test_learning_that_is_off_says_where_it_is_turned_on(two_agents, reviewer):
    from tests.workshop.conftest import write_config

    write_config(two_agents, {"autonomous": {"mode": "off"}})
    answer = reviewer.post(reverse("workshop:learn"), {"agent": "main"})
    assert answer.status_code == 422
    assert "skills.workshop.autonomous.mode" in text_of(answer)


def test_only_an_administrator_sets_the_rules_of_a_desk(two_agents, client, people):
    url, data = reverse("workshop:rules"), {"agent": "main", "approval_policy": "auto", "two_person": "on"}
    client.force_login(people["reviewer"])
    assert client.post(url, data).status_code == 403
    client.force_login(people["administrator"])
    assert client.post(url, data).status_code == 302
    desk = AgentDesk.objects.get(pk="main")
    assert (desk.approval_policy, desk.two_person) == ("auto", True)
    assert "it may apply by itself · two people" in text_of(client.get(reverse("workshop:curator")))
    assert client.post(url, {**data, "approval_policy": "always"}).status_code == 422


def test_a_skill_page_leads_to_its_proposals(two_agents, viewer, person):
    made = live_skill(person)
    html = viewer.get(reverse("workshop:skill", args=["main", "trip"])).content.decode()
    assert reverse("workshop:proposal", args=[made.pk]) in html
    assert TRIP.split("\n")[0].lstrip("# ") in html


def test_the_curator_page_draws_every_review_that_is_stored(two_agents, reviewer, person):
    made = propose(person, name="late-trains")
    main = next(agent for agent in load_roster().agents if agent.id == "main")
    at = 1_788_000_000_000
    states = {
        ("last", ""): {"lastAttemptAtMs": at, "lastSuccessAtMs": None, "lastError": "the model was away"},
        ("collection", review_key(main)): {"attemptedAtMs": at},
        ("experience", review_key(main)): {
            "attemptedAtMs": at,
            "outcome": "proposed",
            "proposalId": made.pk,
            "usage": {"inputTokens": 12_000, "cachedInputTokens": 300, "outputTokens": 45},
        },
        ("experience", "f" * 64): {"attemptedAtMs": at, "outcome": "failed", "error": "no transcript"},
    }
    for (kind, key), data in states.items():
        ReviewState.objects.create(kind=kind, key=key, data=data)
    CollectionReview.objects.create(
        review_id="r1",
        owner_agent_id="main",
        create_time_ms=at,
        kept_names=["a", "b"],
        written_names=["c"],
        dropped=[{"name": "d", "reason": "says the same as c"}],
    )
    page = reviewer.get(reverse("workshop:curator"))
    text = text_of(page)
    assert "failed the model was away" in text
    assert "running Collection review main" in text
    assert "proposed Experience review main Create late-trains 12,345 tokens" in text
    assert reverse("workshop:proposal", args=[made.pk]) in page.content.decode()
    assert "failed Experience review a workspace of no agent here ffffffff no transcript" in text
    assert "2 kept, 1 written, 1 dropped Written: c Dropped: d — says the same as c" in text
    ops = text_of(reviewer.get(reverse("workshop:curator") + "?agent=ops"))
    assert "Experience review" not in ops
    assert "No review is recorded." in ops


def test_limits_are_numbers_a_person_can_read(two_agents, reviewer):
    assert "40,000 bytes at most" in text_of(reviewer.get(reverse("workshop:curator")))
