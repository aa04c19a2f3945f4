"""The Workshop's ops room: everything to look at, decisions by the same services, links both ways."""

import pytest
from django.contrib import admin
from django.urls import reverse

from gateway.models import AuditEntry
from tests.workshop.desk_world import live_skill, propose, skill_file
from workshop.models import AgentDesk, Proposal
from workshop.services.comments import add_comment

pytestmark = pytest.mark.django_db
LIST = "admin:workshop_proposal_changelist"


def act(client, action, *proposals):
    data = {"action": action, "_selected_action": [proposal.pk for proposal in proposals]}
    return client.post(reverse(LIST), data, follow=True)


def test_every_list_and_every_row_opens(two_agents, administrator, person):
    live_skill(person)
    add_comment("main", Proposal.objects.get().pk, body="Hm", caller=person)
    AgentDesk.objects.get_or_create(pk="main")
    for model, shown in admin.site._registry.items():
        if model._meta.app_label != "workshop":
            continue
        name = f"admin:workshop_{model._meta.model_name}"
        assert administrator.get(reverse(f"{name}_changelist")).status_code == 200, name
        row = model.objects.first()
        if row is not None:
            assert administrator.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200, name
            assert not shown.has_delete_permission(administrator.get("/").wsgi_request)


def test_admin_and_page_lead_to_each_other(two_agents, administrator, people, person):
    proposal = propose(person)
    page = reverse("workshop:proposal", args=[proposal.pk])
    row = reverse("admin:workshop_proposal_change", args=[proposal.pk])
    history = reverse("workshop:tab", args=[proposal.pk, "history"])
    assert f'href="{page}"' in administrator.get(row).content.decode()
    assert f'href="{page}"' in administrator.get(reverse(LIST)).content.decode()
    assert f'href="{row}"' in administrator.get(history).content.decode()
    administrator.force_login(people["reviewer"])
    assert f'href="{row}"' not in administrator.get(history).content.decode()


def test_actions_decide_through_the_services(two_agents, administrator, person):
    applied, bad, worse = live_skill(person), propose(person, name="bad"), propose(person, name="worse")
    act(administrator, "reject_selected", bad)
    act(administrator, "quarantine_selected", worse)
    act(administrator, "roll_back_selected", applied)
    assert [Proposal.objects.get(pk=row.pk).status for row in (bad, worse)] == ["rejected", "quarantined"]
    assert not skill_file(two_agents).exists()
    made = AuditEntry.objects.filter(actor="administrator").values_list("action", flat=True)
    assert {"proposal.rejected", "proposal.quarantined", "proposal.rolled_back"} <= set(made)


def test_an_action_that_is_refused_says_why(two_agents, administrator, person):
    proposal = propose(person)
    html = act(administrator, "roll_back_selected", proposal).content.decode()
    assert "Only an applied proposal can be rolled back." in html


def test_the_rules_of_a_desk_are_changed_by_their_service(two_agents, administrator):
    AgentDesk.objects.create(pk="main")
    url = reverse("admin:workshop_agentdesk_change", args=["main"])
    administrator.post(url, {"approval_policy": "auto", "two_person": "on", "agent_id": "ops"})
    kept = AgentDesk.objects.get()
    assert (kept.agent_id, kept.approval_policy, kept.two_person) == ("main", "auto", True)
    entry = AuditEntry.objects.get(action="workshop.rules")
    assert (entry.actor, entry.subject, entry.detail["twoPerson"]) == ("administrator", "main", True)
    rows = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-agent_id": "main"}
    changed = rows | {"form-0-approval_policy": "pending", "_save": "Save"}
    administrator.post(reverse("admin:workshop_agentdesk_changelist"), changed)
    kept.refresh_from_db()
    assert (kept.approval_policy, kept.two_person) == ("pending", False)
    assert AuditEntry.objects.filter(action="workshop.rules").count() == 2
