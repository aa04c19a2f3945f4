"""The shipped skills, and installing them into a workspace."""

import ast
import json
import os
import re
import stat
import subprocess

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from ruamel.yaml import YAML

from archives.errors import PathRefused
from gateway.models import ApiToken
from gateway.tokens import digest_of
from longrun import bundle
from longrun.errors import LongRunError
from longrun.services.bundle import install_skills

SEED_SCRIPTS = {
    "task_state.py",
    "validate_task_start.py",
    "check_foreground_progress.py",
    "build_progress_update.py",
    "foreground_tick.py",
    "work_cycle_tick.py",
    "emit_foreground_due.py",
    "dispatch_foreground_due.py",
    "keepalive_tick.py",
    "emit_keepalive_resume.py",
    "run_keepalive_once.py",
    "watchdog.py",
    "run_watchdog_once.py",
    "recover_due_tasks.py",
    "emit_recovery_message.py",
    "build_sessions_send_payloads.py",
    "cleanup_state.py",
    "install_watchdog_cron.sh",
    "watchdog_loop.sh",
}
SCRIPTS = bundle.SHIPPED / "long-run-mode" / "scripts"


@pytest.fixture
def workspace(state_dir):
    folder = state_dir / "workspace"
    folder.mkdir()
    return folder


def files_of(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_script_of_the_seed_is_there_under_its_own_name_and_can_be_run():
    for name in SEED_SCRIPTS:
        assert (SCRIPTS / name).stat().st_mode & 0o111 == 0o111, name


def test_the_bundle_holds_no_state_no_log_no_cache_and_no_session_key():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "skills"],
        cwd=bundle.SHIPPED.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(listed) >= len(SEED_SCRIPTS) + 5
    assert {f"skills/{path}" for path in ("archive-protocol/SKILL.md", "schedule-plan/SKILL.md")} <= set(
        listed
    )
    for path in listed:
        assert not re.search(
            r"__pycache__|\.pyc$|\.log$|task-state\.json$|client\.json$|\.lock$|\.sqlite", path
        )
        text = (bundle.SHIPPED.parent / path).read_text(encoding="utf-8")
        assert "ocw_" not in text.replace("ocw_client", "")
        # The one key that is named stands as an example of a form, never as a default.
        assert set(re.findall(r"agent:\w+:\w+", text)) <= {"agent:main:main"}
        if path.endswith((".py", ".sh")):
            assert not re.search(r"agent:\w+:", text)
    assert set(bundle.shipped_files()) == set(listed)


def test_every_skill_has_a_name_and_a_description_that_fits():
    for name in ("long-run-mode", "archive-protocol", "schedule-plan"):
        _start, block, _body = (bundle.SHIPPED / name / "SKILL.md").read_text("utf-8").split("---\n", 2)
        found = YAML(typ="safe").load(block)
        assert found["name"] == name
        assert 0 < len(found["description"].encode()) <= 160


def test_the_scripts_need_the_standard_library_only():
    allowed = {
        "__future__",
        "argparse",
        "json",
        "os",
        "stat",
        "sys",
        "urllib",
        "pathlib",
        "typing",
        "ocw_client",
    }
    for path in SCRIPTS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, path.name


def test_installing_writes_every_file_with_its_mode_and_a_token_of_its_own(db, shell, workspace):
    done = install_skills("main", caller=shell, url="http://127.0.0.1:8000")
    assert {change.kind for change in done.changes} == {"new"}
    assert done.token == "made"
    script = workspace / "skills/long-run-mode/scripts/task_state.py"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    config = workspace / ".openclaw-web/client.json"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    found = json.loads(config.read_text())
    assert (found["url"], found["agent"]) == ("http://127.0.0.1:8000", "main")
    token = ApiToken.objects.get()
    assert (token.scopes, token.agent_ids, token.is_agent) == (["operator.write"], ["main"], True)
    assert (workspace / ".openclaw-web/.gitignore").read_text() == "*\n"


def test_installing_twice_changes_nothing(db, shell, workspace):
    install_skills("main", caller=shell)
    before = files_of(workspace)
    done = install_skills("main", caller=shell)
    assert {change.kind for change in done.changes} == {"same"}
    assert (done.token, ApiToken.objects.count()) == ("kept", 1)
    assert files_of(workspace) == before


def test_an_edited_file_is_shown_and_left_alone(db, shell, workspace):
    install_skills("main", caller=shell)
    edited = workspace / "skills/long-run-mode/SKILL.md"
    edited.write_text(edited.read_text() + "\nOur own rule.\n")
    done = install_skills("main", caller=shell)
    [kept] = done.kept
    assert kept.path == "skills/long-run-mode/SKILL.md"
    assert "-Our own rule." in kept.diff
    assert edited.read_text().endswith("Our own rule.\n")


def test_an_edited_file_is_replaced_only_with_overwrite_and_still_shown(db, shell, workspace):
    install_skills("main", caller=shell)
    edited = workspace / "skills/long-run-mode/SKILL.md"
    edited.write_text("mine")
    done = install_skills("main", caller=shell, overwrite=True)
    assert done.kept == []
    assert [change.path for change in done.changes if change.diff] == ["skills/long-run-mode/SKILL.md"]
    assert edited.read_bytes() == (bundle.SHIPPED / "long-run-mode/SKILL.md").read_bytes()


def test_the_command_shows_the_difference_and_ends_with_status_one(db, shell, workspace, capsys):
    install_skills("main", caller=shell)
    (workspace / "skills/schedule-plan/SKILL.md").write_text("mine\n")
    with pytest.raises(CommandError) as ended:
        call_command("skills", "install", "--agent", "main")
    assert ended.value.returncode == 1
    assert "-mine" in capsys.readouterr().out


def test_an_unedited_older_file_is_brought_up_to_date(db, shell, workspace):
    install_skills("main", caller=shell)
    old = workspace / "skills/long-run-mode/SKILL.md"
    old.write_text("an older version")
    hashes = bundle.read_manifest(workspace) | {
        "skills/long-run-mode/SKILL.md": bundle.digest(b"an older version")
    }
    bundle.write_manifest(workspace, hashes)
    done = install_skills("main", caller=shell)
    assert [change.kind for change in done.changes if change.kind != "same"] == ["update"]
    assert old.read_bytes() == (bundle.SHIPPED / "long-run-mode/SKILL.md").read_bytes()


def test_a_file_that_is_not_shipped_any_more_goes_unless_it_was_edited(db, shell, workspace):
    install_skills("main", caller=shell)
    folder = workspace / "skills/long-run-mode/scripts"
    (folder / "gone.py").write_text("old")
    (folder / "mine.py").write_text("edited since")
    prefix = "skills/long-run-mode/scripts"
    hashes = {f"{prefix}/gone.py": bundle.digest(b"old"), f"{prefix}/mine.py": bundle.digest(b"as it was")}
    bundle.write_manifest(workspace, bundle.read_manifest(workspace) | hashes)
    install_skills("main", caller=shell)
    assert not (folder / "gone.py").exists()
    assert (folder / "mine.py").exists()


def test_a_revoked_token_is_replaced(db, shell, workspace):
    install_skills("main", caller=shell)
    ApiToken.objects.update(revoked_at=timezone.now())
    assert install_skills("main", caller=shell).token == "made"
    assert ApiToken.objects.usable().count() == 1


def test_a_token_bound_to_a_session_is_made_once_and_the_one_before_ends(db, shell, workspace):
    install_skills("main", caller=shell)
    first = ApiToken.objects.get()
    for expected in ("made", "kept"):
        done = install_skills("main", caller=shell, session_key="agent:main:main")
        assert done.token == expected
    assert install_skills("main", caller=shell).token == "kept"
    [usable] = ApiToken.objects.usable()
    assert (usable.session_key, usable.pk != first.pk) == ("agent:main:main", True)
    written = json.loads((workspace / ".openclaw-web/client.json").read_text())["token"]
    assert usable.digest == digest_of(written)


def test_what_a_killed_installation_left_goes_with_the_next_one(db, shell, workspace):
    install_skills("main", caller=shell)
    left = [
        workspace / folder / ".ocw-00.tmp" for folder in ("skills/long-run-mode/scripts", ".openclaw-web")
    ]
    for draft in left:
        draft.write_text("half")
    fresh = workspace / "skills/archive-protocol/.ocw-01.tmp"
    fresh.write_text("being written")
    for draft in left:
        os.utime(draft, (1000, 1000))
    install_skills("main", caller=shell)
    assert [draft.exists() for draft in (*left, fresh)] == [False, False, True]


def test_a_symlink_on_the_way_is_refused_and_nothing_is_written_outside(db, shell, workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "skills").symlink_to(outside)
    with pytest.raises(PathRefused):
        install_skills("main", caller=shell)
    assert list(outside.iterdir()) == []


def test_a_workspace_that_is_not_there_is_said_by_name(db, shell, state_dir):
    (state_dir / "openclaw.json").write_text('{"agents": {"entries": {"main": {}}}}')
    with pytest.raises(LongRunError) as refused:
        install_skills("main", caller=shell)
    assert refused.value.code == "WORKSPACE_MISSING"
    assert str(state_dir / "workspace") in refused.value.message
