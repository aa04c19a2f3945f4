"""Every door tried with the very words that a person would send: nothing but a person's yes makes a schedule."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from gateway.models import AuditEntry
from gateway.tokens import make_token
from plans.models import Confirmation, Plan, Run, Schedule


def nothing_scheduled() -> bool:
    counts = (Schedule.objects.count(), Confirmation.objects.count(), Run.objects.count())
    return counts == (0, 0, 0) and Plan.objects.get().state != "active"


def words_of(plan: Plan) -> dict[str, str]:
    return {"digest": plan.current.file_digest, "number": str(plan.current.number)}


@pytest.fixture
def token(shell):
    def make(**options) -> dict[str, str]:
        _token, secret = make_token(
            "of the agent",
            scopes=["operator.read", "operator.write", "operator.admin"],
            caller=shell,
            **options,
        )
        return {"authorization": f"Bearer {secret}"}

    return make


def test_a_form_posted_by_a_stranger(written, client):
    response = client.post(reverse("plans:confirm", args=[written.uid]), words_of(written))
    assert response.status_code == 302 and "/signin" in response.url
    assert nothing_scheduled()


def test_a_form_posted_by_a_viewer(written, viewer):
    viewer.post(reverse("plans:confirm", args=[written.uid]), words_of(written))
    assert nothing_scheduled()
    assert AuditEntry.objects.filter(outcome="refused").exists()


def test_a_form_posted_with_an_agents_token_instead_of_a_session(written, client, token):
    headers = token(agent_ids=["main"], is_agent=True)
    client.post(reverse("plans:confirm", args=[written.uid]), words_of(written), headers=headers)
    assert nothing_scheduled()


def test_a_form_posted_from_another_site(written, people):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(people["reviewer"])
    response = browser.post(reverse("plans:confirm", args=[written.uid]), words_of(written))
    assert response.status_code == 403 and nothing_scheduled()


def test_a_link_that_is_only_opened(written, reviewer):
    response = reviewer.get(reverse("plans:confirm", args=[written.uid]), words_of(written))
    assert response.status_code == 405 and nothing_scheduled()


@pytest.mark.parametrize("digest", ["", "0" * 64, "not a hash", None])
def test_a_form_without_the_hash_of_the_text(written, reviewer, digest):
    words = words_of(written) | {"digest": digest} if digest is not None else {}
    response = reviewer.post(reverse("plans:confirm", args=[written.uid]), words)
    assert response.status_code == 422 and nothing_scheduled()


def test_more_words_in_the_form_do_not_change_what_is_scheduled(written, reviewer):
    extra = {
        "schedule": "every 1m",
        "session_target": "main",
        "payload_kind": "systemEvent",
        "message": "evil",
        "state": "x",
    }
    reviewer.post(reverse("plans:confirm", args=[written.uid]), words_of(written) | extra)
    schedule = Schedule.objects.get()
    assert (schedule.kind, schedule.session_target, schedule.payload_kind) == (
        "cron",
        "isolated",
        "agentTurn",
    )
    assert "evil" not in schedule.message


@pytest.mark.parametrize("held_by_agent", [True, False])
def test_the_method_over_http_with_any_token(written, client, token, held_by_agent):
    headers = token(agent_ids=["main"], is_agent=True) if held_by_agent else token()
    response = client.post(
        "/api/rpc/plans.confirm",
        json.dumps({"id": str(written.uid), "digest": written.current.file_digest}),
        content_type="application/json",
        headers=headers,
    )
    answer = response.json()
    assert answer["ok"] is False and answer["error"]["details"]["code"] == "PEOPLE_ONLY"
    assert nothing_scheduled()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("plans.runNow", {}),
        ("plans.resume", {}),
        ("cron.run", {"mode": "force"}),
        ("cron.update", {"patch": {"enabled": True}}),
    ],
)
def test_methods_that_run_or_resume_do_nothing_for_an_unconfirmed_plan(
    written, client, token, method, params
):
    response = client.post(
        f"/api/rpc/{method}",
        json.dumps({"id": str(written.uid), **params}),
        content_type="application/json",
        headers=token(),
    )
    assert response.json()["ok"] is False and nothing_scheduled()


@pytest.mark.parametrize("action", ["run", "resume", "pause"])
def test_actions_of_the_page_posted_for_an_unconfirmed_plan(written, reviewer, action):
    reviewer.post(reverse("plans:act", args=[written.uid, action]))
    assert nothing_scheduled()
