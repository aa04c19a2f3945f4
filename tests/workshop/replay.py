"""Replays recorded exchanges against our methods and compares the answers.

The clock stands at the recorded instant, so drafts, and with them every hash, must come out equal to the byte.
Ids, event ids and the folder differ from run to run and are mapped; sentences are ours and only have to be there.
"""

import json
import re
from datetime import datetime
from typing import Any

import time_machine

from gateway.callers import SCOPES, Caller, command_caller
from tests.workshop import recorded_cases
from workshop import records
from workshop.desks import open_desk
from workshop.models import Event, Proposal, Rollback
from workshop.names import from_iso

DATES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
HASH = re.compile(r"[0-9a-f]{64}")
# Read at another moment than the record's own date, or counted over the whole recording.
LOOSE = {"scannedAt", "occurredAt", "startedAt", "completedAt", "sequence", "createdAtMs", "stateChangedAtMs"}
OURS = ("<auto", "<rule message", "<how many", "<text rendering")


class Replay:
    """One sequence of exchanges in one fresh state folder."""

    def __init__(self, rpc, state_dir):
        self.rpc = rpc
        self.state_dir = state_dir
        self.mapped: dict[str, str] = {}
        self.clock = from_iso("2026-11-30T15:33:40.000Z")
        self.exact = True
        self.loose = set(LOOSE)

    # -- asking

    def call(self, method: str, params: Any, at: datetime | None = None, caller=None) -> dict[str, Any]:
        self.clock = at or self.clock
        extra = {"caller": caller} if caller else {}
        with time_machine.travel(self.clock, tick=False):
            return self.rpc(method, self.ours(params), **extra)

    def play(self, name: str, *, params: Any = None, at: str = "", caller=None) -> dict[str, Any]:
        """Ask what was asked in the case `name` and compare; returns our answer. `params` are added to the
        recorded ones; `at` (`SS.mmm` of the recorded minute) is the time where the answer does not tell it."""
        case = recorded_cases.load(name)
        request, wanted = case["request"], case["response"]
        asked = {**(request.get("params") or {}), **(params or {})}
        when = second(at) if at else instant(wanted)
        answer = self.call(request["method"], asked, when, caller)
        self.compare(answer_of(wanted, answer), wanted, name)
        return answer

    def make(
        self, recorded_id: str = "", recorded_hash: str = "", *, at: str = "", **params: Any
    ) -> dict[str, Any]:
        """A proposal whose creation was not recorded; its id and hash stand for the recorded ones."""
        method = "skills.proposals.update" if "skillName" in params else "skills.proposals.create"
        answer = self.call(method, {"agentId": "main", **params}, second(at) if at else None)
        assert answer["ok"], answer
        if recorded_id:
            self.learn(recorded_id, answer["payload"]["record"]["id"])
        if recorded_hash:
            self.learn(recorded_hash, answer["payload"]["revisionHash"])
        return answer["payload"]

    def do(
        self, operation: str, proposal_id: str, *, at: str = "", agent: str = "main", **params: Any
    ) -> dict[str, Any]:
        """An operation that was not recorded as a case of its own, with the present hash where one is needed."""
        proposal = Proposal.objects.get(pk=self.mapped.get(proposal_id, proposal_id))
        needed = {"expectedRevisionHash": proposal.revision_hash} if operation in ("apply", "reject") else {}
        asked = {"agentId": agent, "proposalId": proposal.pk, **needed, **params}
        return self.call(f"skills.proposals.{operation}", asked, second(at) if at else None)

    @staticmethod
    def caller_with(*caps: str) -> Caller:
        return Caller(kind="token", label="client with caps", scopes=frozenset(SCOPES), caps=frozenset(caps))

    # -- ids and folders

    def learn(self, recorded: str, ours: str) -> None:
        assert self.mapped.setdefault(recorded, ours) == ours, f"{recorded} means two things"

    def ours(self, value: Any) -> Any:
        """Recorded ids, hashes and placeholders replaced by what they are here."""
        if isinstance(value, dict):
            return {key: self.ours(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.ours(item) for item in value]
        if isinstance(value, str):
            value = self.mapped.get(value, value)
            return value.replace("<state-dir>", str(self.state_dir))
        return value

    # -- comparing

    def compare(self, got: Any, wanted: Any, where: str) -> None:
        if isinstance(wanted, dict) and "$long_string" in wanted:
            long = wanted["$long_string"]
            assert isinstance(got, str), where
            assert (got[: len(long["head"])], got[-len(long["tail"]) :]) == (long["head"], long["tail"]), (
                where
            )
            assert len(got) == long["chars"], where
        elif isinstance(wanted, dict):
            assert isinstance(got, dict), f"{where}: {got!r}"
            # A sentence is ours; the recording only says what the peer's means.
            keys = set(wanted) - {"message_meaning", "updatedSession"}
            assert set(got) - {"message"} == keys - {"message"}, f"{where}: {sorted(got)} != {sorted(keys)}"
            for key in keys:
                self.compare_key(key, got.get(key), wanted[key], f"{where}/{key}")
        elif isinstance(wanted, list):
            assert isinstance(got, list), where
            assert len(got) == len(wanted), f"{where}: {got!r}"
            for number, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
                self.compare(ours, theirs, f"{where}/{number}")
        else:
            assert self.same(got, wanted), f"{where}: {got!r} != {wanted!r}"

    def compare_key(self, key: str, got: Any, wanted: Any, where: str) -> None:
        if key in self.loose or (isinstance(wanted, str) and wanted.startswith(OURS)):
            assert type(got) is type(wanted), f"{where}: {got!r}"
            assert got not in ("", None) or wanted in ("", None), where
        elif key == "message":
            assert got, where
        else:
            self.compare(got, wanted, where)

    def same(self, got: Any, wanted: Any) -> bool:
        if not isinstance(wanted, str) or not isinstance(got, str):
            return type(got) is type(wanted) and got == wanted
        got = got.replace(str(self.state_dir), "<state-dir>")
        if got == wanted or self.mapped.get(wanted) == got:
            return True
        if UUID.search(wanted):
            return UUID.sub("<uuid>", got) == UUID.sub("<uuid>", wanted)
        if re.fullmatch(r"[a-z0-9-]+-\d{8}-[0-9a-f]{10}", wanted) and got[:-10] == wanted[:-10]:
            self.learn(wanted, got)
            return True
        if self.exact:
            return False
        if HASH.fullmatch(wanted) and HASH.fullmatch(got):
            self.learn(wanted, got)
            return True
        return DATES.sub("<date>", got) == DATES.sub("<date>", wanted)

    # -- rows of the database

    def compare_rows(self, wanted: dict[str, Any], where: str) -> None:
        """Our rows in the form of the peer's tables."""
        for row in wanted["skill_workshop_proposals"]:
            proposal = Proposal.objects.get(pk=self.mapped[row["proposal_id"]])
            root = open_desk(proposal.agent_id, command_caller()).root
            record = records.shown(proposal, root, real_draft=True)
            self.compare(record, rows(row["record_json"]), f"{where}/record")
            assert list(record) == list(rows(row["record_json"])), f"{where}: order of keys"
            columns = {"owner_agent_id": proposal.agent_id, "status": proposal.status}
            columns |= {"status_reason": proposal.status_reason or None}
            self.compare_some(columns, row, where)
        self.compare(
            self.events(wanted), [event_row(row) for row in wanted["skill_workshop_proposal_events"]], where
        )
        for row in wanted["skill_workshop_proposal_rollbacks"]:
            self.compare_rollback(row, where)

    def compare_some(self, got: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
        for key, value in got.items():
            self.compare_key(key, value, wanted[key], f"{where}/{key}")

    def events(self, wanted: dict[str, Any]) -> list[dict[str, Any]]:
        ids = [self.mapped[row["proposal_id"]] for row in wanted["skill_workshop_proposals"]]
        return [
            {
                "sequence": event.sequence,
                "event_id": event.event_id,
                "event_type": event.type,
                "revision_hash": event.revision_hash,
                "actor": event.actor,
                "correlation_id": event.correlation_id or None,
                "payload": [event.payload, event.evaluation] if event.payload else None,
            }
            for event in Event.objects.filter(proposal_id__in=ids)
        ]

    def compare_rollback(self, row: dict[str, Any], where: str) -> None:
        rollback = Rollback.objects.get(pk=self.mapped[row["proposal_id"]])
        *support, skill = rollback.files.all()
        assert rollback.action == row["action"], where
        assert self.same(rollback.target_skill_file, row["target_skill_file"]), where
        assert (skill.previous_hash or None) == row["previous_content_hash"], where
        previous = bytes(skill.previous).decode() if skill.existed else None
        assert previous == row["previous_content"], where
        files = [
            {"path": file.path, "existed": file.existed}
            | (
                {"previousContent": bytes(file.previous).decode(), "previousContentHash": file.previous_hash}
                if file.existed
                else {}
            )
            for file in support
        ]
        self.compare(files, rows(row["support_files_json"]) or [], where)

    def tree(self, path) -> dict[str, Any]:
        """A folder in the form of the recording's trees."""
        entries = []
        for item in sorted(path.rglob("*")):
            mode = oct(item.stat().st_mode & 0o777)
            rel = item.relative_to(path).as_posix()
            if item.is_dir():
                entries.append({"path": rel, "mode": mode, "type": "dir"})
            else:
                entries.append({"path": rel, "mode": mode, "type": "file", "data": item.read_bytes()})
        return {"root_mode": oct(path.stat().st_mode & 0o777), "entries": entries}

    def compare_tree(self, path, wanted: dict[str, Any], where: str) -> None:
        """Names, modes, sizes and bytes."""
        import hashlib

        got = self.tree(path)
        assert got["root_mode"] == wanted["root_mode"], where
        ours = {entry["path"]: entry for entry in got["entries"]}
        theirs = {entry["path"]: entry for entry in wanted["entries"]}
        assert set(ours) == set(theirs), where
        for name, entry in theirs.items():
            assert (ours[name]["mode"], ours[name]["type"]) == (entry["mode"], entry["type"]), (
                f"{where}/{name}"
            )
            if entry["type"] == "file" and self.exact:
                assert hashlib.sha256(ours[name]["data"]).hexdigest() == entry["sha256"], f"{where}/{name}"


def second(at: str) -> datetime:
    return from_iso(f"2026-11-30T15:33:{at}Z")


def instant(response: Any) -> datetime | None:
    """The clock's time at which the recorded answer was made, as its draft or record says."""
    payload = response.get("payload", response) if isinstance(response, dict) else None
    if not isinstance(payload, dict):
        return None
    record = payload.get("record", payload)
    if isinstance(record, dict) and isinstance(record.get("updatedAt"), str) and "schema" in record:
        return from_iso(record["updatedAt"]) if "proposals" not in record else None
    content = payload.get("content")
    if isinstance(content, dict):
        content = content.get("$long_string", {}).get("head")
    if isinstance(content, str) and (found := re.search(r'^date: "([^"]*)"', content, re.MULTILINE)):
        return from_iso(found[1])
    return None


def answer_of(wanted: dict[str, Any], got: dict[str, Any]) -> dict[str, Any]:
    """Our answer in the shape in which the recording kept it: whole, or the parts of a creation."""
    if "payload" in wanted or not wanted.get("ok") or not got["ok"]:
        return got
    payload = got["payload"]
    record = payload.get("record", payload)
    parts: dict[str, Any] = {"ok": True, "error": None}
    if "record" in wanted:
        parts["record"] = {key: record[key] for key in wanted["record"] if key in record}
    if "target" in wanted:
        parts["target"] = {key: record["target"][key] for key in wanted["target"]}
    parts |= {"scan": record.get("scan"), "content": payload.get("content"), "status": record.get("status")}
    parts |= {"targetSkillFile": payload.get("targetSkillFile"), "statusReason": record.get("statusReason")}
    return {key: parts[key] for key in wanted}


def event_row(row: dict[str, Any]) -> dict[str, Any]:
    payload = rows(row["payload_json"])
    shown = {
        key: row[key] for key in ("sequence", "event_id", "event_type", "revision_hash", "correlation_id")
    }
    return {**shown, "actor": rows(row["actor_json"]), "payload": payload[1:] if payload else None}


def rows(value: Any) -> Any:
    """A recorded database value: compact JSON texts are read."""
    if isinstance(value, dict) and set(value) == {"$compact_json_text_of"}:
        return value["$compact_json_text_of"]
    return json.loads(value) if isinstance(value, str) else value
