"""reports.md rows 38, 39 and 41 on every page of the Workshop: whatever an agent, a file or a stranger writes is text,
hidden and special files are nobody's reading, and a hostile body is bounded."""

import os
import re

import pytest
from django.urls import NoReverseMatch, reverse

from gateway.callers import WRITE, Caller
from tests.guards.test_walk import ALL
from tests.hang import not_hanging
from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file, update
from workshop.models import CollectionReview, Comment, LearningSession, Proposal, ReviewState
from workshop.services.comments import add_comment
from workshop.services.decisions import apply_proposal, quarantine_proposal, reject_proposal
from workshop.services.requests import request_revision
from workshop.services.revisions import revise_proposal

pytestmark = pytest.mark.django_db
EVIL = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
# As markup; whatever is drawn as text has its < escaped.
MARKUP = re.compile(r"<img src=x|<script>alert|onerror=alert\(1\)>(?!&)")


@pytest.fixture
def hostile(two_agents, person):
    """Proposals in each state with hostile words in every field that holds words; returns their ids."""
    agent = Caller(
        kind="token",
        label=EVIL,
        scopes=frozenset({WRITE}),
        agent_ids=frozenset({"main"}),
        is_agent=True,
        session_key=f"agent:main:{EVIL}",
    )
    words = {"description": EVIL, "goal": EVIL, "evidence": EVIL, "content": f"# {EVIL}\n\n{EVIL}\n"}
    files = [{"path": f"references/{EVIL.replace('/', '')}.md", "content": EVIL}]
    made = [propose(agent, name=f"{EVIL} {n}", support_files=files, **words) for n in range(4)]
    revise_proposal("main", made[0].pk, content=f"{EVIL}\nagain\n", caller=agent)
    made[0].refresh_from_db()
    add_comment("main", made[0].pk, path="SKILL.md", line=8, body=EVIL, quote=EVIL, caller=person)
    add_comment("main", made[0].pk, body=EVIL, caller=person)
    request_revision(
        "main",
        made[0].pk,
        expected_revision_hash=made[0].revision_hash,
        instructions=EVIL,
        session_key="main",
        idempotency_key=EVIL,
        comments=list(Comment.objects.all()[:1]),
        caller=person,
    )
    live_skill(person)
    made.append(update(agent, content=TRIP + EVIL, support_files=files))
    quarantine_proposal("main", made[1].pk, reason=EVIL, caller=person)
    reject_proposal(
        "main", made[2].pk, expected_revision_hash=made[2].revision_hash, reason=EVIL, caller=person
    )
    apply_proposal(
        "main",
        made[3].pk,
        expected_revision_hash=made[3].revision_hash,
        reason=EVIL,
        acknowledged=True,
        caller=person,
    )
    for name, text in (
        ("evil", f"---\nname: {EVIL!r}\ndescription: >\n  {EVIL}\n---\n{EVIL}\n"),
        ("bad", EVIL),
    ):
        skill_file(two_agents, name).parent.mkdir(parents=True)
        skill_file(two_agents, name).write_text(text)
    review = {"attemptedAtMs": 1, "outcome": EVIL, "error": EVIL, "proposalId": EVIL}
    ReviewState.objects.create(kind="experience", key=EVIL, data=review)
    ReviewState.objects.create(kind="last", key="", data={"lastAttemptAtMs": 1, "lastError": EVIL})
    CollectionReview.objects.create(
        review_id=EVIL,
        owner_agent_id="main",
        create_time_ms=1,
        written_names=[EVIL],
        dropped=[{"name": EVIL, "reason": EVIL}],
    )
    LearningSession.objects.create(agent_id="main", session_key=EVIL, mode="auto", person=EVIL)
    return [proposal.pk for proposal in made]


def test_hostile_words_are_text_on_every_page_of_the_workshop(hostile, administrator):
    pages = [address for name, address in ALL if name.startswith("workshop:")]
    with_one = [page.replace("/proposals/x/", f"/proposals/{pk}/") for page in pages for pk in hostile]
    tabs = [
        reverse("workshop:tab", args=[pk, tab])
        for pk in hostile
        for tab in ("diff", "text", "files", "checks", "history")
    ]
    skills = [f"/workshop/skills/main/{name}/" for name in ("evil", "trip")]
    queries = (
        "",
        "?text=raw",
        "?at=0:3",
        "?view=split",
        "?view=raw",
        "?view=files",
        "?view=diff",
        f"?q={EVIL}",
    )
    seen = 0
    for address in {*pages, *with_one, *tabs, *skills}:
        for query in queries:
            response = administrator.get(address + query, headers={"X-Forwarded-For": EVIL})
            assert response.status_code in (200, 302, 404, 405), address
            assert not MARKUP.search(response.content.decode()), address + query
            seen += "&lt;img src=x" in response.content.decode()
    assert seen > 50


def test_hostile_words_are_text_in_the_admin(hostile, administrator):
    for model in [
        "proposal",
        "event",
        "comment",
        "revisionrequest",
        "reviewstate",
        "collectionreview",
        "learningsession",
        "rollback",
        "generation",
    ]:
        try:
            listed = reverse(f"admin:workshop_{model}_changelist")
        except NoReverseMatch:  # a model without a list of its own
            continue
        page = administrator.get(listed)
        assert page.status_code == 200, model
        assert not MARKUP.search(page.content.decode()), model
    for pk in hostile:
        page = administrator.get(reverse("admin:workshop_proposal_change", args=[pk]))
        assert page.status_code == 200
        assert not MARKUP.search(page.content.decode())


def test_hidden_and_special_files_of_a_skill_are_not_read(two_agents, viewer, person):
    live_skill(person)
    folder = skill_file(two_agents).parent
    (folder / "references").mkdir()
    (folder / ".env").write_text("TOKEN=tell-nobody\n")
    (folder / "references/.env").write_text("TOKEN=tell-nobody\n")
    (two_agents / "outside.md").write_text("tell-nobody\n")
    (folder / "references/away.md").symlink_to(two_agents / "outside.md")
    (folder / "references/environ.md").symlink_to("/proc/self/environ")
    os.mkfifo(folder / "references/pipe.md")
    base = reverse("workshop:skill", args=["main", "trip"])
    names = [".env", "references/.env", "references/away.md", "references/environ.md", "references/pipe.md"]
    names += ["../../../../outside.md", "/etc/passwd", "references/../.env", "SKILL.md/", "references"]
    for name in names:
        with not_hanging():
            page = viewer.get(base, {"view": "files", "file": name})
        assert page.status_code == 200
        html = page.content.decode()
        assert "tell-nobody" not in html, name
        assert "root:" not in html, name
        assert "PATH=" not in html, name
    assert viewer.get(base, {"view": "files", "file": "nul\0"}).status_code in (400, 404)


@pytest.mark.parametrize(
    "body", ["[" * 15_000, "> " * 300 + "x", "".join(f"{'  ' * n}- x\n" for n in range(300))]
)
def test_a_hostile_body_opens_in_bounded_time_on_every_tab(two_agents, reviewer, person, body, settings):
    proposal = propose(person, content=body[:39_000])
    for tab in ("diff", "text", "files", "checks"):
        with not_hanging():
            assert reviewer.get(reverse("workshop:tab", args=[proposal.pk, tab])).status_code == 200
    apply_proposal(
        "main", proposal.pk, expected_revision_hash=proposal.revision_hash, acknowledged=True, caller=person
    )
    with not_hanging():
        assert reviewer.get(reverse("workshop:skill", args=["main", "trip"])).status_code == 200
    assert Proposal.objects.get().status == "applied"
