import hashlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import time_machine

from agents.roster import forget_roster, sync_workspaces
from archives import services
from archives.errors import ArchivesError, Blocked, NotThere, PathRefused
from archives.identity import Identity
from archives.models import Archive, ArchiveFile
from archives.places import history_of
from archives.plan_file import list_revisions
from gateway.callers import Caller
from gateway.errors import GatewayError
from gateway.models import AuditEntry, LedgerEvent
from tests.archives.conftest import TS

MAIN = Identity("7f3c", session_key="agent:ops:cron:7f3c")


@pytest.fixture
def agent() -> Caller:
    return Caller(
        kind="token", label="token of ops", scopes=frozenset({"operator.write"}), agent_ids=frozenset({"ops"}),
        is_agent=True, session_key="agent:ops:cron:7f3c",
    )  # fmt: skip


def test_a_written_file_is_on_the_disk_in_the_index_and_in_both_ledgers(workspace, agent):
    written = services.write_archive_file(
        workspace, MAIN, name="报告.md", data=b"# x", caller=agent, timestamp=TS, required=["#"]
    )
    assert str(written.stored.path) == f"archives/7f3c/{TS}/报告.md"
    assert written.receipt.startswith("ARCHIVE_STATUS: OK\nARCHIVE_ROOT: archives/7f3c/\n\n```json\n")
    assert ArchiveFile.objects.get().name == "报告.md"
    entry = AuditEntry.objects.get(action="archive.write")
    assert (entry.outcome, entry.digest, entry.agent_id) == ("ok", hashlib.sha256(b"# x").hexdigest(), "ops")
    event = LedgerEvent.objects.get(kind="archive.written")
    assert event.data == {"archiveId": "7f3c", "size": 3, "sha256": entry.digest}


@time_machine.travel(datetime(2026, 4, 16, 14, 30, 5, tzinfo=UTC), tick=False)
def test_without_a_timestamp_now_is_taken_and_told_for_the_rest_of_the_round(workspace, agent):
    first = services.write_archive_file(workspace, MAIN, name="a.md", data=b"x", caller=agent)
    assert first.timestamp == TS
    again = services.write_archive_file(
        workspace, MAIN, name="a.md", data=b"y", caller=agent, timestamp=first.timestamp
    )
    assert again.stored.path.bucket == "2026-04-16-14-30-06"
    assert again.timestamp == TS


def test_the_timestamp_is_in_the_zone_that_openclaw_json_gives_the_agents(workspace, state_dir, agent):
    (state_dir / "openclaw.json").write_text(
        f'{{agents: {{defaults: {{userTimezone: "Asia/Shanghai"}}, entries: {{ops: {{workspace: "{workspace.root}"}}}}}}}}'
    )
    forget_roster()
    sync_workspaces()
    with time_machine.travel(datetime(2026, 4, 16, 20, 30, 5, tzinfo=UTC), tick=False):
        written = services.write_archive_file(
            services.workspace_of("ops"), MAIN, name="a.md", data=b"x", caller=agent
        )
    assert str(written.stored.path) == "archives/7f3c/2026-04-17-04-30-05/a.md"
    assert Archive.objects.get().newest_at == datetime(2026, 4, 16, 20, 30, 5, tzinfo=UTC)


def test_a_plan_is_replaced_on_its_own_track_and_its_text_is_kept(workspace, agent):
    for text in (b"one", b"two"):
        written = services.write_archive_file(workspace, MAIN, name="PLAN.md", data=text, caller=agent)
    assert str(written.stored.path) == "archives/7f3c/PLAN.md"
    # Indexing keeps the present text as well: an agent may overwrite it at any moment.
    kept = [one.sha256 for one in list_revisions(history_of("ops"), "7f3c")]
    assert kept == [hashlib.sha256(text).hexdigest() for text in (b"one", b"two")]


def test_a_plan_that_changed_meanwhile_is_refused_with_both_hashes(workspace, agent):
    services.write_archive_file(workspace, MAIN, name="PLAN.md", data=b"one", caller=agent)
    with pytest.raises(ArchivesError) as caught:
        services.write_archive_file(
            workspace, MAIN, name="PLAN.md", data=b"two", caller=agent, expected_sha256="0" * 64
        )
    assert caught.value.code == "plan-changed"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"name": "../x"}, "name-separator"), ({"data": b""}, "content-empty"), ({"timestamp": "now"}, "path-timestamp"),
        ({"required": ["absent"]}, "content-wrong"), ({"data": b"x" * (8 * 1024 * 1024 + 1)}, "too-large"),
    ],
)  # fmt: skip
def test_a_refused_write_leaves_nothing_and_is_in_the_trail(workspace, agent, wrong, code):
    given = {"name": "a.md", "data": b"x", "timestamp": TS} | wrong
    with pytest.raises((Blocked, PathRefused)) as caught:
        services.write_archive_file(workspace, MAIN, caller=agent, **given)
    assert caught.value.code == code
    assert [path for path in workspace.path.rglob("*") if path.is_file()] == []
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.outcome, entry.reason) == ("archive.write", "failed", code)
    assert not LedgerEvent.objects.exists()


def test_the_identity_of_an_agent_is_its_tokens_session(workspace, agent):
    assert services.identity_of_caller(agent) == (workspace, MAIN)


def test_a_session_key_without_an_agent_takes_the_tokens_only_agent(workspace, agent):
    found, identity = services.identity_of_caller(replace(agent, session_key="cron:daily"))
    assert (found, identity.archive_id) == (workspace, "daily")


def test_a_session_of_another_agent_than_the_tokens_is_refused(workspace, agent):
    with pytest.raises(GatewayError) as caught:
        services.identity_of_caller(replace(agent, session_key="agent:main:main"))
    assert caught.value.code == "AGENT_NOT_ALLOWED"


def test_who_has_no_session_writes_nothing(workspace, person, shell, agent):
    for caller in (
        person,
        shell,
        replace(agent, session_key=""),
        replace(agent, agent_ids=None, session_key="cron:x"),
    ):
        with pytest.raises(Blocked) as caught:
            services.identity_of_caller(caller)
        assert caught.value.reason == "invalid Session"


def test_an_unknown_agent_has_no_workspace(workspace):
    with pytest.raises(NotThere) as caught:
        services.workspace_of("nobody")
    assert caught.value.code == "unknown-workspace"


def test_the_copy_that_lint_offers_is_made_verified_and_recorded(workspace, put, person):
    source = put("arch/main/" + TS + "/a.md", "kept")
    stored = services.copy_finding(workspace, f"arch/main/{TS}/a.md", caller=person)
    assert str(stored.path) == f"archives/main/{TS}/a.md"
    assert source.read_text() == "kept"
    assert ArchiveFile.objects.get().size == 4
    assert AuditEntry.objects.get().detail == {"from": f"arch/main/{TS}/a.md", "finding": "wrong-root"}


def test_a_copy_is_not_made_twice(workspace, put, person):
    put(f"arch/main/{TS}/a.md")
    services.copy_finding(workspace, f"arch/main/{TS}/a.md", caller=person)
    with pytest.raises(ArchivesError) as caught:
        services.copy_finding(workspace, f"arch/main/{TS}/a.md", caller=person)
    assert caught.value.code == "already-copied"


@pytest.mark.parametrize(
    ("path", "code"),
    [("archives/a.md", "no-target"), ("archives/main/PLAN.md", "no-finding"), ("/etc/passwd", "no-finding")],
)
def test_only_what_lint_offers_is_copied(workspace, put, person, path, code):
    put("archives/a.md")
    put("archives/main/PLAN.md")
    with pytest.raises(ArchivesError) as caught:
        services.copy_finding(workspace, path, caller=person)
    assert caught.value.code == code
