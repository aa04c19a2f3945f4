import pytest
from model_bakery import baker

from agents.roster import forget_roster
from longrun.models import LongTask
from tests.workshop.desk_world import live_skill, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(state_dir, shell):
    """Agents `main` and `ops`, each with a plan, a pending proposal, a live skill and a task about contracts."""
    places = {agent: state_dir / f"workspace-{agent}" for agent in ("main", "ops")}
    listed = ", ".join(f"{{id: '{agent}', workspace: '{path}'}}" for agent, path in places.items())
    (state_dir / "openclaw.json").write_text(f"{{agents: {{list: [{listed}]}}}}")
    forget_roster()
    for agent in places:
        baker.make(
            "plans.Plan", agent_id=agent, name=f"Contracts plan {agent}", task_id=agent, archive_id=agent
        )
        propose(shell, name=f"contracts-{agent}", agent=agent)
        live_skill(shell, name=f"live-contracts-{agent}", agent=agent)
        LongTask.objects.create(
            name=f"contracts {agent}",
            agent_id=agent,
            state="blocked",
            origin_session_key=f"agent:{agent}:main",
        )
    yield
    forget_roster()


def groups(client, query, agent=""):
    found = client.get("/search/", {"q": query, "agent": agent}).context["groups"]
    return {str(group.title): [hit.title for hit in group.hits] for group in found}


def test_one_word_finds_plans_proposals_and_tasks_of_every_agent(viewer, world):
    found = groups(viewer, "CONTRACTS")
    assert sorted(found["Plans"]) == ["Contracts plan main", "Contracts plan ops"]
    assert len(found["Skill proposals"]) == 4
    assert sorted(found["Skills"]) == ["live-contracts-main", "live-contracts-ops"]
    assert sorted(found["Tasks"]) == ["contracts main", "contracts ops"]


def test_one_agent_finds_only_its_own(viewer, world):
    found = groups(viewer, "contracts", "ops")
    assert found["Plans"] == ["Contracts plan ops"]
    assert found["Tasks"] == ["contracts ops"]
    assert "main" not in str(found)


def test_an_agent_is_found_by_its_id(viewer, world):
    assert groups(viewer, "ops")["Agents"] == ["ops"]


def test_every_hit_leads_to_a_page_that_opens(viewer, world):
    for group in viewer.get("/search/?q=contracts").context["groups"]:
        for hit in group.hits:
            assert viewer.get(hit.url).status_code == 200, hit.url


def test_nothing_found_says_where_it_looked(viewer, world):
    html = viewer.get("/search/?q=zzzzzz").content.decode()
    assert "Nothing found for “zzzzzz”" in html


def test_an_empty_or_hostile_question_is_harmless(viewer, world):
    for query in ("", "   ", "%", "_", "'\"", "<script>alert(1)</script>", "\u202e", "a" * 5000):
        answer = viewer.get("/search/", {"q": query})
        assert answer.status_code == 200
        assert "<script>alert" not in answer.content.decode()


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/search/?q=a%00b", 400),
        ("/activity/?actor=%00", 400),
        ("/?agent=%00", 400),
        ("/archives/x%00/y/", 404),
    ],
)
def test_a_nul_in_the_address_is_a_calm_answer_everywhere(viewer, address, status):
    answer = viewer.get(address)
    assert answer.status_code == status
    assert "To the Inbox" in answer.content.decode()
