import re

import pytest
from django.contrib.admin.sites import site
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone
from django_q.models import Failure, OrmQ, Schedule

from gateway.callers import role_of
from gateway.models import ApiToken, AuditEntry, LedgerEvent, SetupCode, User
from gateway.schedules import ensure_schedule
from gateway.tokens import caller_for_secret

pytestmark = pytest.mark.django_db
CHANGED = {
    "username": "viewer", "is_active": "on", "first_name": "", "last_name": "", "email": "", "language": "",
    "time_zone": "", "theme": "",
}  # fmt: skip


def test_setup_codes_and_groups_are_not_shown():
    assert not site.is_registered(SetupCode)
    assert not site.is_registered(Group)


def test_every_admin_page_opens_in_chinese_and_holds_no_inline_style_or_script(administrator, people):
    LedgerEvent.objects.create(kind="archive.written", data={"name": "<b>报告</b>"})
    AuditEntry.objects.create(actor_kind="person", actor="<i>x</i>", action="a.b", outcome="ok")
    OrmQ.objects.create(key="openclaw", payload="x", lock=timezone.now())
    administrator.cookies["django_language"] = "zh-hans"
    inline = re.compile(r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=", re.I)
    seen = 0
    for model, page in site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        addresses = [reverse(f"{name}_changelist")]
        row = model._base_manager.first()
        if row is not None and model is not OrmQ:
            addresses.append(reverse(f"{name}_change", args=[row.pk]))
        for address in addresses:
            html = administrator.get(address).content.decode()
            assert 'lang="zh-hans"' in html, address
            found = inline.search(html)
            assert found is None, f"{address}: {found[0] if found else ''}"
            seen += 1
        assert page is not None
    assert seen >= 12


def test_what_strangers_wrote_is_inert_in_the_trail(administrator):
    entry = AuditEntry.objects.create(
        actor_kind="person",
        actor="<script>alert(1)</script>",
        action="person.sign_in_refused",
        subject='"><img src=x onerror=alert(1)>',
        outcome="refused",
        detail={"agent": "<svg onload=alert(1)>"},
    )
    for name, args in (("changelist", []), ("change", [entry.pk])):
        html = administrator.get(reverse(f"admin:gateway_auditentry_{name}", args=args)).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "<svg onload" not in html


def test_a_role_is_given_through_the_service_and_is_in_the_trail(administrator, people):
    viewer = people["viewer"]
    address = reverse("admin:gateway_user_change", args=[viewer.pk])
    assert administrator.post(address, {**CHANGED, "role": "administrator"}).status_code == 302
    fresh = User.objects.get(pk=viewer.pk)
    assert (role_of(fresh), fresh.is_staff, fresh.is_superuser) == ("administrator", True, True)
    entry = AuditEntry.objects.get(action="person.role")
    assert (entry.subject, entry.detail, entry.actor) == (
        "viewer",
        {"role": "administrator"},
        "administrator",
    )


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"role": "administrator", "is_active": ""}])
def test_the_last_administrator_can_neither_be_demoted_nor_locked_out(administrator, people, change):
    boss = people["administrator"]
    data = {**CHANGED, "username": boss.username, **change}
    answer = administrator.post(reverse("admin:gateway_user_change", args=[boss.pk]), data)
    assert answer.status_code == 200
    assert "The last administrator must stay one." in answer.content.decode()
    fresh = User.objects.get(pk=boss.pk)
    assert (role_of(fresh), fresh.is_active) == ("administrator", True)


def test_somebody_who_is_locked_out_is_signed_out_and_in_the_trail(administrator, people, django_user_model):
    from django.test import Client

    theirs = Client()
    theirs.force_login(people["viewer"])
    assert theirs.get("/").status_code == 200
    administrator.post(
        reverse("admin:gateway_user_changelist"),
        {"action": "lock_out", "_selected_action": [people["viewer"].pk]},
    )
    assert theirs.get("/").status_code == 302
    assert AuditEntry.objects.filter(action="person.locked_out", subject="viewer").exists()


def test_a_new_person_gets_the_chosen_role(administrator):
    password = "a long enough phrase"
    administrator.post(
        reverse("admin:gateway_user_add"),
        {
            "username": "mei",
            "role": "reviewer",
            "usable_password": "true",
            "password1": password,
            "password2": password,
        },
    )
    assert role_of(User.objects.get(username="mei")) == "reviewer"


def test_edits_of_a_person_are_in_the_trail_by_field_and_never_by_value(administrator, people):
    reviewer = people["reviewer"]
    url = reverse("admin:gateway_user_change", args=[reviewer.pk])
    form = {
        "username": "reviewer", "role": "reviewer", "is_active": "on", "email": "secret@example.org",
        "language": "", "time_zone": "", "theme": "",
    }  # fmt: skip
    assert administrator.post(url, form).status_code == 302
    password = reverse("admin:auth_user_password_change", args=[reviewer.pk])
    new = {"usable_password": "true", "password1": "correct horse 2", "password2": "correct horse 2"}
    assert administrator.post(password, new).status_code == 302
    trail = AuditEntry.objects.filter(action="person.change", subject="reviewer").order_by("pk")
    assert [entry.actor for entry in trail] == ["administrator"] * 2
    fields = [entry.detail["changes"][0]["changed"]["fields"] for entry in trail]
    assert "Email address" in fields[0] or "email" in fields[0]
    assert "password" in fields[1]
    assert "secret@example.org" not in str([entry.detail for entry in trail])


def test_a_person_cannot_be_deleted(administrator, people):
    address = reverse("admin:gateway_user_delete", args=[people["viewer"].pk])
    assert administrator.post(address, {"post": "yes"}).status_code == 403


def test_a_token_is_made_through_the_service_and_its_secret_shown_once(administrator):
    answer = administrator.post(
        reverse("admin:gateway_apitoken_add"),
        {
            "name": "ops bot",
            "scope": ["operator.read", "operator.write"],
            "agents": "ops, main",
            "days": "30",
        },
    )
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    secret = re.search(r"ocw_[\w-]{40,}", answer.content.decode())[0]
    caller = caller_for_secret(secret)
    assert (caller.scopes, caller.agent_ids) == (
        {"operator.read", "operator.write"},
        {"main", "ops"},
    )
    token = ApiToken.objects.get()
    assert 29 <= (token.expires_at - timezone.now()).days <= 30
    assert token.created_by.username == "administrator"
    for cookie in administrator.cookies.values():
        assert secret not in cookie.value
    again = administrator.get(reverse("admin:gateway_apitoken_change", args=[token.pk]))
    assert secret not in again.content.decode()


def test_a_token_held_by_an_agent_needs_exactly_one_agent(administrator):
    answer = administrator.post(
        reverse("admin:gateway_apitoken_add"), {"name": "x", "scope": ["operator.read"], "is_agent": "on"}
    )
    assert "belongs to exactly one agent" in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_revoking_ends_a_token_at_once(administrator, shell):
    from gateway.tokens import make_token

    token, secret = make_token("x", scopes=["operator.read"], caller=shell)
    administrator.post(
        reverse("admin:gateway_apitoken_changelist"), {"action": "revoke", "_selected_action": [token.pk]}
    )
    assert caller_for_secret(secret) is None


@pytest.mark.parametrize("model", ["auditentry", "ledgerevent", "idempotencyrecord"])
def test_ledgers_are_only_looked_at(administrator, model):
    assert administrator.get(reverse(f"admin:gateway_{model}_add")).status_code == 403


def test_nobody_types_a_function_to_run_into_the_admin(administrator):
    address = reverse("admin:django_q_schedule_add")
    assert administrator.get(address).status_code == 403
    assert administrator.post(address, {"func": "os.system", "args": "'id'"}).status_code == 403
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=5)
    change = reverse("admin:django_q_schedule_change", args=[row.pk])
    assert administrator.post(change, {"func": "os.system"}).status_code == 403
    assert Schedule.objects.get(pk=row.pk).func == "gateway.tasks.forget"


def test_a_schedule_is_paused_and_resumed_by_name_in_the_trail(administrator):
    row = ensure_schedule("gateway.test", "gateway.tasks.forget", minutes=5)
    for action, repeats in (("pause", 0), ("resume", -1)):
        administrator.post(
            reverse("admin:django_q_schedule_changelist"), {"action": action, "_selected_action": [row.pk]}
        )
        assert Schedule.objects.get(pk=row.pk).repeats == repeats
        assert AuditEntry.objects.filter(action=f"schedule.{action}", subject="gateway.test").exists()


def test_a_failed_task_goes_into_the_queue_again(administrator):
    now = timezone.now()
    Failure.objects.create(
        id="a" * 32, name="n", func="gateway.tasks.forget", started=now, stopped=now, success=False
    )
    administrator.post(
        reverse("admin:django_q_failure_changelist"),
        {"action": "try_again", "_selected_action": ["a" * 32]},
    )
    assert OrmQ.objects.get().func() == "gateway.tasks.forget"
    assert not Failure.objects.exists()


def test_the_first_page_tells_how_background_work_is_and_leads_back(administrator):
    html = administrator.get(reverse("admin:index")).content.decode()
    assert "Background never ran" in html
    for address in ("/health/", "/activity/", "/account/"):
        assert f'href="{address}"' in html
