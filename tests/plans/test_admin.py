"""The ops room shows plans and lets services act; nothing is confirmed or changed past them."""

import pytest
from django.urls import reverse

from plans.models import Confirmation, Plan, Run, Schedule
from plans.services import lifecycle

MODELS = ["plan", "revision", "confirmation", "schedule", "run", "changerequest", "intake", "tick"]


@pytest.mark.parametrize("model", MODELS)
def test_every_list_opens_and_nothing_can_be_added(administrator, confirmed, later, model):
    lifecycle.run_now(confirmed, caller=later())
    assert administrator.get(reverse(f"admin:plans_{model}_changelist")).status_code == 200
    assert administrator.get(reverse(f"admin:plans_{model}_add")).status_code == 403


@pytest.mark.parametrize("model", [Plan, Schedule, Confirmation, Run])
def test_a_row_is_shown_and_a_posted_form_changes_nothing(administrator, confirmed, later, model):
    lifecycle.run_now(confirmed, caller=later())
    row = model.objects.get()
    url = reverse(f"admin:plans_{model._meta.model_name}_change", args=[row.pk])
    assert administrator.get(url).status_code == 200
    assert administrator.post(url, {"state": "active", "message": "evil"}).status_code == 403
    assert administrator.post(url.replace("change", "delete"), {"post": "yes"}).status_code == 403


def act(client, action: str, plan: Plan):
    return client.post(
        reverse("admin:plans_plan_changelist"), {"action": action, "_selected_action": [plan.pk]}, follow=True
    )


def test_actions_call_the_services(administrator, confirmed):
    act(administrator, "pause", confirmed)
    assert Plan.objects.get().state == "paused"
    act(administrator, "resume", confirmed)
    act(administrator, "run_now", confirmed)
    assert Run.objects.get().trigger == "manual"
    act(administrator, "retire", confirmed)
    assert Plan.objects.get().state == "retired"


def test_an_unconfirmed_plan_cannot_be_run_from_here(administrator, written):
    page = act(administrator, "run_now", written)
    assert "Only a plan whose present text is confirmed can run." in page.content.decode()
    assert Run.objects.count() == 0
