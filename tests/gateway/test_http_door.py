"""POST /api/rpc/<method> and GET /api/methods."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from gateway.callers import command_caller
from gateway.models import ApiToken, AuditEntry
from gateway.tokens import make_token, revoke_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def bearer():
    """Headers of a token that may read."""
    return {
        "Authorization": f"Bearer {make_token('reader', scopes=['operator.read'], caller=command_caller())[1]}"
    }


def post(client, name, body="{}", **kwargs):
    return client.post(f"/api/rpc/{name}", body, content_type="application/json", **kwargs)


def test_health_answers_a_token(client, bearer):
    response = post(client, "health", headers=bearer)
    assert response.status_code == 200
    assert response.json()["ok"] is True


def test_a_stranger_gets_401_and_nothing_else(client):
    response = post(client, "health")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "UNAUTHORIZED"
    assert client.get("/api/methods").status_code == 401


@pytest.mark.parametrize("header", ["Bearer ocw_wrong", "Bearer ", "Basic abc", "Bearer \ud800"])
def test_a_wrong_token_gets_401(client, header):
    response = post(client, "health", headers={"Authorization": header.encode("utf-8", "replace").decode()})
    assert response.status_code == 401


def test_a_refused_token_is_in_the_trail_once_a_minute_and_address_and_never_its_secret(client):
    revoked, secret = make_token("old", scopes=["operator.read"], caller=command_caller())
    revoke_token(revoked, caller=command_caller())
    for _number in range(3):
        post(client, "health", headers={"Authorization": "Bearer ocw_guessed-secret"})
    post(client, "health", headers={"Authorization": f"Bearer {secret}"}, REMOTE_ADDR="192.0.2.7")
    found = AuditEntry.objects.filter(action="token.refused").order_by("pk")
    assert [(entry.address, entry.outcome, entry.reason, entry.subject) for entry in found] == [
        ("127.0.0.1", "refused", "unknown", ""),
        ("192.0.2.7", "refused", "revoked", str(revoked)),
    ]
    assert "guessed" not in str([vars(entry) for entry in found])


def test_a_revoked_or_expired_token_gets_401(client):
    token, secret = make_token(
        "short",
        scopes=["operator.read"],
        expires_at=timezone.now() + timedelta(days=1),
        caller=command_caller(),
    )
    headers = {"Authorization": f"Bearer {secret}"}
    assert post(client, "health", headers=headers).status_code == 200
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        assert post(client, "health", headers=headers).status_code == 401
    revoke_token(token, caller=command_caller())
    assert post(client, "health", headers=headers).status_code == 401


def test_only_the_hash_of_a_token_is_kept():
    token, secret = make_token("kept", scopes=["operator.read"], caller=command_caller())
    row = ApiToken.objects.filter(pk=token.pk).values().get()
    assert secret not in json.dumps(row, default=str)
    assert secret.startswith(row["prefix"])


@pytest.mark.parametrize("body", ["{", "NaN", "[" * 100_000, '{"a": Infinity}', "\xff"])
def test_a_body_that_is_no_json_is_refused_with_a_sentence(client, bearer, body):
    response = post(client, "health", body, headers=bearer)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "INVALID_REQUEST"


def test_missing_scope_is_403(client, bearer):
    response = post(client, "no.such.method", headers=bearer)
    assert response.status_code == 403
    assert response.json()["error"]["details"]["missingScope"] == "operator.admin"


def test_a_signed_in_person_needs_the_csrf_token(people):
    client = Client(enforce_csrf_checks=True)
    client.get("/signin/")
    client.force_login(people["viewer"])
    refused = post(client, "health")
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "FORBIDDEN"
    token = client.cookies["csrftoken"].value
    assert post(client, "health", headers={"X-CSRFToken": token}).status_code == 200


def test_the_list_shows_what_this_token_may_call(client, bearer):
    listed = client.get("/api/methods", headers=bearer).json()["methods"]
    assert "health" in [method["name"] for method in listed]
    assert {method["scope"] for method in listed} == {"operator.read"}


def test_a_get_of_a_method_is_not_allowed(client, bearer):
    answer = client.get("/api/rpc/health", headers=bearer)
    assert (answer.status_code, answer["Allow"], answer.json()["ok"]) == (405, "POST", False)
