"""Builds state folders as older versions, and a real OpenClaw, left them."""

import hashlib
import json
import sqlite3

from tests.workshop import recorded_cases as recorded
from workshop import bundle, drafts
from workshop.hashes import sha256
from workshop.names import utf8
from workshop.targets import tree_digest, tree_files

AT = "2026-01-02T03:04:05.678Z"


def record(
    proposal_id, *, skill_dir, kind="create", status="pending", body="# Old\n", draft="PROPOSAL.md", **more
):
    """A record as an older version kept it; returns it with the draft's bytes."""
    key = skill_dir.rpartition("/")[2]
    text = bundle.render_draft(bundle.read(body), name=key, description="old", version="v1", date=AT)
    target = {"skillName": key, "skillKey": key, "skillDir": skill_dir, "skillFile": f"{skill_dir}/SKILL.md"}
    made = {
        "schema": "openclaw.skill-workshop.proposal.v1",
        "id": proposal_id,
        "kind": kind,
        "status": status,
        "title": f"{kind.capitalize()} {key}",
        "description": "old",
        "createdAt": AT,
        "updatedAt": AT,
        "createdBy": "gateway",
        "proposedVersion": "v1",
        "draftFile": draft,
        "draftHash": sha256(utf8(text)),
        "target": target | more.pop("target", {}),
        "scan": drafts.scan_of(text, []) | {"scannedAt": AT},
    }
    return made | more, utf8(text)


def put_sidecar(state, made, draft, rollback=None):
    folder = state / "skill-workshop/proposals" / made["id"]
    folder.mkdir(parents=True)
    (folder / "proposal.json").write_text(json.dumps(made))
    if draft is not None:
        (folder / "PROPOSAL.md").write_bytes(draft)
    if rollback:
        (folder / "rollback.json").write_text(json.dumps(rollback))
    return folder


def put_skill(folder, body="# Old\n", **files):
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f'---\nname: "{folder.name}"\ndescription: "old"\n---\n\n{body}')
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def skill_bytes(draft):
    return utf8(bundle.render_skill(draft.decode()))


# -- the peer's database


def peer_database(state):
    """An empty `state/openclaw.sqlite` with the recorded columns of the Workshop's tables."""
    path = state / "state/openclaw.sqlite"
    path.parent.mkdir(exist_ok=True)
    tables = recorded.load("state-sqlite-tables")["response"]
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    for name in (*(n for n in tables if n.startswith("skill_")), "cron_jobs"):
        columns = [column.removesuffix(" PK") for column in tables[name]["columns"]]
        connection.execute(f"create table {name} ({', '.join(columns)})")
    connection.commit()
    return connection


def insert(connection, table, **row):
    marks = ", ".join("?" * len(row))
    connection.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))
    connection.commit()


def put_row(connection, made, *, owner="main", **columns):
    row = {
        "proposal_id": made["id"],
        "record_json": json.dumps(made, separators=(",", ":")),
        "owner_agent_id": owner,
        "kind": made["kind"],
        "status": made["status"],
        "created_at": made["createdAt"],
        "updated_at": made["updatedAt"],
        "draft_hash": made["draftHash"],
    }
    insert(connection, "skill_workshop_proposals", **row | columns)


def put_event(connection, made, number, kind, payload=None, revision="0" * 64):
    insert(
        connection,
        "skill_workshop_proposal_events",
        sequence=number,
        event_id=f"{number:08d}-0000-4000-8000-000000000000",
        proposal_id=made["id"],
        proposed_version="v1",
        revision_hash=revision,
        event_type=kind,
        occurred_at=AT,
        actor_json='{"type":"gateway"}',
        payload_json=json.dumps([1, payload, None]) if payload else None,
    )


def put_curator_state(connection, state):
    """The curator's state as the peer keeps it: one JSON text (read in its package, 2026.9.6)."""
    connection.execute(
        "create table if not exists config_machine_state "
        "(state_key text primary key, value_json text not null, updated_at_ms integer not null)"
    )
    text = state if isinstance(state, str) else json.dumps(state)
    connection.execute(
        "insert or replace into config_machine_state values ('skills.curatorState', ?, 1)", (text,)
    )
    connection.execute(
        "insert or replace into config_machine_state values ('other', '{\"token\": \"not ours\"}', 1)"
    )
    connection.commit()


# -- backups


def put_backup(state, workspace, backup_id, skills, results):
    """`skills`: folder → files saved; `results`: folder → live folder whose hash was recorded."""
    group = hashlib.sha256(str(workspace).encode()).hexdigest()[:16]
    folder = state / "skill-workshop/collection-backups" / group / backup_id
    for rel, text in skills.items():
        put_skill(folder / "workspace" / rel, text)
    manifest = {
        "schema": "openclaw.skill-collection-backup.v1",
        "id": backup_id,
        "createdAt": AT,
        "workspaceDir": str(workspace),
        "skillDirs": list(skills),
        "resultSkillDirs": list(results),
        "resultSkillHashes": {rel: tree_digest(tree_files(live)) for rel, live in results.items()},
    }
    (folder).mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


# -- looking at everything


def snapshot(folder):
    """Every name with its kind, mode, bytes and change time (locks left out)."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        if ".locks" in path.parts:
            continue
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path.relative_to(folder))] = (
            info.st_mode,
            data,
            info.st_mtime_ns if data is not None else 0,
        )
    return found
