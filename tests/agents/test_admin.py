from agents.models import MadeAgent
from agents.roster import load_roster
from agents.services import make_agent
from gateway.models import AuditEntry


def test_agents_made_here_are_looked_at_and_taken_off_by_the_service(administrator, shell, state_dir):
    made = make_agent(shell, agent_id="helper")
    url = "/admin/agents/madeagent/"
    assert "/agents/helper/change/" in administrator.get(url).content.decode()
    assert administrator.get(f"{url}add/").status_code == 403
    administrator.post(url, {"action": "take_off_the_roster", "_selected_action": [made.pk]})
    assert not MadeAgent.objects.exists()
    assert AuditEntry.objects.filter(action="agent.remove", actor="administrator").exists()


def test_the_last_good_roster_is_only_looked_at(administrator, write_config):
    write_config("{}")
    load_roster()
    html = administrator.get("/admin/agents/goodroster/").content.decode()
    assert "openclaw.json" in html
    assert administrator.get("/admin/agents/goodroster/add/").status_code == 403
