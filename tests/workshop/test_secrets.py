"""reports.md row 40: a secret put into every input of every page and method of the Workshop comes out nowhere: not in
an address, a redirect, a log line, an error page, an audit entry; and no mask is written back over a real value."""

import json
import logging
import re
import sys
from html import unescape

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gateway.callers import SCOPES, command_caller
from gateway.models import AuditEntry, Delivery
from gateway.registry import methods
from gateway.tokens import make_token
from openclaw_web.credentials import TOKENS, masked
from openclaw_web.logs import JsonFormatter, LineFormatter, RequestIdFilter
from tests.guards.test_walk import ALL
from tests.hang import not_hanging
from tests.workshop.desk_world import TRIP, live_skill, propose, skill_file, update
from workshop import masks
from workshop.errors import WorkshopError
from workshop.models import Comment, Proposal, RevisionRequest
from workshop.services import comments, decisions, evaluations, quarantine, requests, revisions, rollbacks

pytestmark = pytest.mark.django_db
ME = command_caller()
SECRET = "gh" + "p_S3cr3tS3cr3tS3cr3tS3cr3t"

# Every name that a page of the Workshop reads from an address or a form.
QUERY = [
    "q",
    "view",
    "at",
    "file",
    "rows",
    "text",
    "diff",
    "old",
    "new",
    "before",
    "status",
    "kind",
    "from",
    "skill",
    "landed",
    "token",
]
FIELDS = [
    "agent",
    "name",
    "description",
    "content",
    "goal",
    "evidence",
    "folder",
    "kind",
    "path",
    "file_content",
    "drop",
    "crlf",
    "tree_paths",
    "reason",
    "words",
    "revision",
    "yes",
    "once",
    "body",
    "line",
    "back",
    "two_person",
    "approval_policy",
    "check",
]
HEADERS = {
    "Authorization": f"Bearer {SECRET}",
    "X-Forwarded-For": SECRET,
    "User-Agent": SECRET,
    "Referer": f"http://testserver/?token={SECRET}",
    "Idempotency-Key": SECRET,
    "X-Request-Id": SECRET,
    "HX-Current-URL": f"http://testserver/?token={SECRET}",
}
PAGES = [(name, address) for name, address in ALL if name.startswith("workshop:")]


@pytest.fixture
def log():
    """What the site's own formatters write while a test runs."""
    written = []

    class Keep(logging.Handler):
        def emit(self, record):
            RequestIdFilter().filter(record)
            written.extend(formatter.format(record) for formatter in (LineFormatter(), JsonFormatter()))

    handler = Keep(level=logging.DEBUG)
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def kept() -> str:
    """Everything the database holds, as one text."""
    models = apps.get_models()
    return json.dumps([list(model.objects.values()) for model in models], default=repr, ensure_ascii=False)


def on_disk(*folders) -> bytes:
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return b"".join(str(file).encode() + file.read_bytes() for file in files)


def without_fields(html: str) -> str:
    """A page without what its form fields hold: there, and only there, is kept what was typed."""
    html = re.sub(r"(<textarea[^>]*>).*?</textarea>", r"\1", html, flags=re.DOTALL)
    return re.sub(r'(<input[^>]*?) value="[^"]*"', r"\1", html)


def told(response) -> str:
    """What an answer says outside of its fields, its headers included."""
    body = unescape(without_fields(response.content.decode()))
    return body + str(response.headers) + response.cookies.output()


def filled(address: str, world) -> str:
    """The address of something that is there, where the walk has only an example."""
    if "/proposals/x/" in address:
        return address.replace("/proposals/x/", f"/proposals/{world.pk}/")
    return address.replace("/skills/x/x/y/", "/skills/main/trip/")


@pytest.fixture
def world(two_agents, person):
    """One live skill, a pending update of it, and a token of a program; returns the update."""
    live_skill(person)
    return update(person)


def test_no_page_tells_a_secret_that_was_in_its_address_or_headers(world, administrator, log):
    assert len(PAGES) > 15
    for _name, address in PAGES:
        for target in {address, filled(address, world)}:
            query = dict.fromkeys(QUERY, SECRET) | {"agent": SECRET}
            for more in ({}, {"HX-Request": "true", "HX-Target": "desk"}):
                response = administrator.get(target, query, headers=HEADERS | more)
                assert response.status_code in (200, 302, 404, 405), target
                assert SECRET not in told(response), target
    assert log and not [line for line in log if SECRET in line]
    assert SECRET not in kept()


def test_no_page_keeps_or_repeats_a_secret_that_was_typed(world, administrator, log, state_dir, settings):
    typed = dict.fromkeys(FIELDS, SECRET)
    kinds = [typed, typed | {"kind": "update", "agent": "main"}, typed | {"agent": "main", "name": "x"}]
    kinds += [one | {"revision": world.revision_hash} for one in kinds]
    for name, address in PAGES:
        target = filled(address, world)
        actions = ("apply", "reject", "quarantine", "request", "rollback", "evaluate", "live", "earlier")
        targets = [target]
        if name == "workshop:decide":
            targets = [target.replace("/do/x/", f"/do/{action}/") for action in actions]
        for where in targets:
            for fields in kinds:
                through = "/evaluate/" in where or "/apply/" in where
                if through and fields["revision"] == world.revision_hash:
                    continue  # these take no words, so nothing stands against them
                upload = SimpleUploadedFile("a.md", SECRET.encode())
                response = administrator.post(where, fields | {"uploads": upload}, headers=HEADERS)
                assert response.status_code in (302, 404, 405, 422), where
                assert SECRET not in told(response), where
    world.refresh_from_db()
    assert (world.status, world.version) == ("pending", 1)
    assert Proposal.objects.count() == 2
    assert not [line for line in log if SECRET in line]
    assert SECRET not in kept()
    assert SECRET.encode() not in on_disk(state_dir, settings.DATA_DIR)


def test_a_remark_goes_back_only_to_its_own_page(world, reviewer):
    add = reverse("workshop:remark", args=[world.pk])
    here = reverse("workshop:proposal", args=[world.pk])
    backs = {
        SECRET: here,
        f"{here}?token={SECRET}": here,
        f"/?token={SECRET}": here,
        "https://elsewhere.example/": here,
        f"{here}files/?file=0": f"{here}files/?file=0",
        f"{here}text/?text=raw": f"{here}text/?text=raw",
    }
    for back, goes in backs.items():
        data = {
            "body": "Why?",
            "path": "SKILL.md",
            "line": "3",
            "revision": world.revision_hash,
            "back": back,
        }
        url, _said, _id = reviewer.post(add, data).url.partition("said=")
        assert url == f"{goes}{'&' if '?' in goes else '?'}"


def valid(schema: dict, world) -> dict:
    """Params that a method's schema takes, for a proposal that is there."""
    known = {
        "agentId": "main",
        "proposalId": world.pk,
        "expectedRevisionHash": world.revision_hash,
        "name": "trip",
        "skillName": "trip",
        "content": TRIP,
        "description": "d",
        "instructions": "Please",
        "sessionKey": "main",
        "idempotencyKey": "k1",
        "limit": 5,
        "afterSequence": 0,
    }
    return {name: known[name] for name in schema.get("properties", {}) if name in known}


WORKSHOP_METHODS = [method for method in methods() if method.name.startswith("skills.")]
# What the contract has a method give back to whoever sent it, and to nobody else.
RETURNED = {"expectedRevisionHash"}


@pytest.mark.parametrize("method", WORKSHOP_METHODS, ids=lambda method: method.name)
def test_no_method_keeps_or_repeats_a_secret(method, world, client, log, state_dir, settings):
    token, bearer = make_token("program", scopes=SCOPES, caller=ME)
    schema = method.params.model_json_schema(by_alias=True)
    tries = [{SECRET: 1}]
    for name in schema.get("properties", {}):
        whole = valid(schema, world)
        tries += [
            whole | {name: value} for value in (SECRET, [{"path": f"references/{SECRET}", "content": SECRET}])
        ]
        tries += [whole | {name: [{"path": SECRET, "content": "x"}]}, whole | {name: f"agent:ops:{SECRET}"}]
    for params in tries:
        headers = HEADERS | {"Authorization": f"Bearer {bearer}"}
        url = f"/api/rpc/{method.name}"
        answer = client.post(url, json.dumps(params), content_type="application/json", headers=headers)
        error = answer.json().get("error", {})
        if "details" in error:
            error["details"] = {key: value for key, value in error["details"].items() if key not in RETURNED}
        assert SECRET not in json.dumps(error), params
        assert SECRET not in str(answer.headers)
        for secret in (SECRET, bearer):
            assert not [line for line in log if secret in line]
    assert token.prefix in kept() and bearer not in kept()
    assert SECRET not in kept()
    assert SECRET.encode() not in on_disk(state_dir, settings.DATA_DIR)


REASONED = {
    "apply": (decisions.apply_proposal, "reason"),
    "apply-correlation": (decisions.apply_proposal, "correlation_id"),
    "reject": (decisions.reject_proposal, "reason"),
    "reject-correlation": (decisions.reject_proposal, "correlation_id"),
    "quarantine": (decisions.quarantine_proposal, "reason"),
    "evaluate": (evaluations.evaluate_proposal, "correlation_id"),
}


@pytest.mark.parametrize("name", REASONED)
def test_what_is_said_about_a_decision_holds_no_credential(name, world, person):
    work, field = REASONED[name]
    with pytest.raises(WorkshopError) as refused:
        work(
            "main",
            world.pk,
            expected_revision_hash=world.revision_hash,
            caller=person,
            **{field: f"see {SECRET}"},
        )
    assert refused.value.code == "literal-secret"
    world.refresh_from_db()
    assert world.status == "pending"
    assert SECRET not in kept()


def test_nor_does_what_is_said_when_something_is_taken_back(two_agents, person):
    applied, locked = live_skill(person), propose(person, name="locked")
    decisions.quarantine_proposal("main", locked.pk, caller=person)
    for call in (
        lambda: rollbacks.roll_back_proposal("main", applied.pk, reason=SECRET, caller=person),
        lambda: quarantine.reject_quarantined(
            "main", locked.pk, expected_revision_hash=locked.revision_hash, reason=SECRET, caller=person
        ),
        lambda: revisions.revise_proposal(
            "main", locked.pk, content="x", correlation_id=SECRET, caller=person
        ),
    ):
        with pytest.raises(WorkshopError) as refused:
            call()
        assert refused.value.code == "literal-secret"
    assert skill_file(two_agents).read_text().endswith(TRIP)
    assert SECRET not in kept()


def test_no_credential_goes_into_a_remark_or_out_with_a_request(world, person):
    sent = {"expected_revision_hash": world.revision_hash, "idempotency_key": "k", "caller": person}
    for call in (
        lambda: comments.add_comment("main", world.pk, body=f"use {SECRET}", caller=person),
        lambda: requests.request_revision("main", world.pk, instructions=SECRET, session_key="main", **sent),
        lambda: requests.request_revision("main", world.pk, instructions="x", session_key=SECRET, **sent),
    ):
        with pytest.raises(WorkshopError) as refused:
            call()
        assert refused.value.code == "literal-secret"
    assert (Comment.objects.count(), RevisionRequest.objects.count(), Delivery.objects.count()) == (0, 0, 0)


def test_an_audit_entry_of_a_refused_decision_repeats_no_id_that_is_none(world, person):
    with pytest.raises(WorkshopError):
        decisions.reject_proposal(
            "main", "s3cr3t-0123456789abcdef", expected_revision_hash="0", caller=person
        )
    assert AuditEntry.objects.latest("pk").subject == ""
    with pytest.raises(WorkshopError):
        decisions.reject_proposal("main", world.pk, expected_revision_hash="0", caller=person)
    assert AuditEntry.objects.latest("pk").subject == world.pk


def test_a_refused_text_stays_in_its_field_with_the_message_beside_it(two_agents, reviewer):
    data = {"agent": "main", "name": "x", "description": "d", "content": f"use {SECRET}\n", "check": "1"}
    page = reviewer.post(reverse("workshop:new"), data)
    assert page.status_code == 422
    assert page.context["form"].errors["content"].startswith("A credential is written out in PROPOSAL.md.")
    assert f"use {SECRET}" in page.content.decode()
    assert not page.context["checked"]
    files = data | {"content": "x", "path": "references/a.md", "file_content": SECRET}
    assert reviewer.post(reverse("workshop:new"), files).context["form"].files[0].problem


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-" + "a1B2" * 8,
        SECRET,
        "github" + "_pat_" + "a1" * 12,
        "xox" + "b-1234567890-abcdefghij",
        "AI" + "za" + "Sy0123456789012345678901234567890AB",
        "ocw" + "_" + "a1B2_-x9" * 6,
    ],
)
def test_every_known_form_is_masked_in_logs_and_sentences(text):
    assert TOKENS.search(text)
    assert masked(f"key={text}.") == f"key={text[:4]}•••."
    assert text not in WorkshopError(f"no {text}", code="x").message


def test_ordinary_words_are_not_masked():
    for text in ("trip-20261130-e7f49aad23", "agent:main:main", "sk-short", "0" * 64, "ocw_bench"):
        assert masked(text) == text


# -- masks

KEYED = "# Report\n\n1. Call the API.\n   API_KEY=k9fj20dk3ls9\n2. Header: Authorization: Bearer 83hf72hd9\n3. Archive.\n"
HIDDEN = KEYED.replace("k9fj20dk3ls9", "********")


@pytest.mark.parametrize(
    ("live", "draft", "lines"),
    [
        ("API_KEY=k9fj20dk", "API_KEY=****", [1]),
        ("x\nkey: abcdef # mine", "x\nkey: •••••• # mine", [2]),
        ("token = abcdefgh", "token = [REDACTED]", [1]),
        ("token = abcdefgh", "token = <masked>", [1]),
        ("token = abcdefgh", "token = __OPENCLAW_REDACTED__", [1]),
        ("token = abcdefgh", "token = xxxxxxxx", [1]),
        ("token = sk-12345678-wxyz", "token = sk-1…wxyz", [1]),
        ("id=abcdef key=ghijkl", "id=*** key=***", [1]),
        # None of these hides a value that stands there.
        ("API_KEY=****", "API_KEY=****", []),
        ("API_KEY=••••••••", "API_KEY=****", []),
        ("API_KEY=k9fj20dk", "API_KEY=${API_KEY}", []),
        ("some line", "***", []),
        ("Wait for it", "Wait… for it", []),
        ("It is very good here", "It is ***very good*** here", []),
        ("API_KEY=k9fj20dk", "OTHER=****", []),
        ("", "API_KEY=****", []),
    ],
)
def test_a_mask_in_place_of_a_value_is_recognised(live, draft, lines):
    assert masks.lines_masked(live, draft) == lines


def test_a_long_text_of_masks_is_looked_through_in_linear_time():
    live = "\n".join(f"key{number}: {'a' * 40}" for number in range(4000))
    assert len(masks.lines_masked(live, live.replace("a" * 40, "*" * 40))) == 4000


@pytest.mark.parametrize(
    ("live", "draft"),
    [
        ("a" * 40_000, "aa***a***a***a***b"),
        ("\n".join(f"a{'b' * 3}{number}" for number in range(5000)), "\n".join(["aaa***"] * 5000)),
        ("\n".join(f"key{'b' * 3}{number}" for number in range(5000)), "\n".join(["key***z"] * 5000)),
    ],
    ids=["one long line", "no line begins so", "every line begins so"],
)
def test_hostile_masks_are_looked_at_in_bounded_time(live, draft):
    with not_hanging():
        assert masks.lines_masked(live, draft) == []


def test_a_mask_is_never_written_over_a_real_value(two_agents, person, reviewer, client):
    live_skill(person, content=KEYED)
    before = skill_file(two_agents).read_bytes()
    proposal = update(person, content=HIDDEN)
    page = reviewer.get(reverse("workshop:proposal", args=[proposal.pk]))
    assert "apply" not in [action.name for action in page.context["actions"]]
    says = "Line 9 of SKILL.md would replace a value by the mask that hid it."
    assert page.context["what"].startswith(says)
    for yes in (False, True):
        with pytest.raises(WorkshopError) as refused:
            decisions.apply_proposal(
                "main",
                proposal.pk,
                expected_revision_hash=proposal.revision_hash,
                acknowledged=yes,
                caller=person,
            )
        assert refused.value.code == "mask-written-back"
    proposal.refresh_from_db()
    assert (proposal.status, skill_file(two_agents).read_bytes()) == ("pending", before)


def test_nor_over_one_in_a_support_file(two_agents, person):
    live_skill(
        person, support_files=[{"path": "references/keys.md", "content": "host: db\npass: 93jf8s0a\n"}]
    )
    proposal = update(
        person, support_files=[{"path": "references/keys.md", "content": "host: db2\npass: ********\n"}]
    )
    with pytest.raises(WorkshopError) as refused:
        decisions.apply_proposal(
            "main",
            proposal.pk,
            expected_revision_hash=proposal.revision_hash,
            acknowledged=True,
            caller=person,
        )
    assert refused.value.message.startswith("Line 2 of references/keys.md")


def test_naming_a_variable_in_place_of_the_value_is_welcome(two_agents, person):
    live_skill(person, content=KEYED)
    proposal = update(person, content=KEYED.replace("k9fj20dk3ls9", "${API_KEY}"))
    done = decisions.apply_proposal(
        "main", proposal.pk, expected_revision_hash=proposal.revision_hash, caller=person
    )
    assert done.status == "applied"


@pytest.mark.parametrize("formatter", [LineFormatter(), JsonFormatter()], ids=["lines", "json"])
def test_a_fault_with_a_secret_in_it_is_logged_without_it(formatter):
    try:
        int(SECRET)
    except ValueError:
        fault = logging.LogRecord("x", logging.ERROR, "x", 1, "Bad: %s", (SECRET,), sys.exc_info())
    RequestIdFilter().filter(fault)
    line = formatter.format(fault)
    assert "Traceback" in line
    assert "invalid literal for int" in line
    assert SECRET not in line


def test_the_admin_tells_no_secret_either(world, administrator, log):
    lists = [address for name, address in ALL if re.fullmatch(r"admin:workshop_\w+_changelist", name)]
    assert len(lists) > 8
    for address in lists:
        for query in (
            {"q": SECRET},
            {"o": SECRET},
            {"agent_id": SECRET},
            {"status__exact": SECRET},
            {"p": SECRET},
        ):
            response = administrator.get(address, query, headers=HEADERS)
            assert response.status_code in (200, 302, 400), address
            assert SECRET not in response.get("Location", ""), (address, query)
        chosen = {"action": "reject_selected", "_selected_action": [SECRET]}
        assert SECRET not in told(administrator.post(address, chosen, headers=HEADERS))
        assert administrator.get(f"{address}{SECRET}/change/", headers=HEADERS).status_code in (302, 404)
    assert not [line for line in log if SECRET in line]
    assert SECRET not in json.dumps(list(AuditEntry.objects.values()), default=repr)
