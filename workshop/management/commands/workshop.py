"""`manage.py workshop …`: the peer's `openclaw skills workshop …`, with its flags (contract §6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from agents.roster import load_roster
from gateway.callers import command_caller
from gateway.errors import AppError
from workshop import records, sentences
from workshop.desks import load_proposal, open_desk
from workshop.draftdir import read_draft_dir, read_draft_file
from workshop.ledger import CLI
from workshop.models import Proposal
from workshop.queries import wire
from workshop.services import decisions, evaluations, proposals, revisions, rollbacks


class Command(BaseCommand):
    help = "Proposes, reviews and applies skills from the shell."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        common = CommandParser(add_help=False)
        common.add_argument("--agent", help="the agent; left out inside an agent's workspace")
        common.add_argument("--json", action="store_true", help="print one JSON object")
        draft = CommandParser(add_help=False)
        draft.add_argument("--proposal", type=Path, help="a draft file")
        draft.add_argument("--proposal-dir", type=Path, help="a folder with PROPOSAL.md and support files")
        draft.add_argument("--goal")
        draft.add_argument("--evidence")
        actions.add_parser("list", parents=[common])
        made = actions.add_parser("propose-create", parents=[common, draft])
        made.add_argument("--name", required=True)
        made.add_argument("--description", required=True)
        update = actions.add_parser("propose-update", parents=[common, draft])
        update.add_argument("skill")
        update.add_argument("--description")
        revise = actions.add_parser("revise", parents=[common, draft])
        revise.add_argument("--description")
        for name in ("inspect", "evaluate", "apply", "reject", "quarantine", "rollback"):
            actions.add_parser(name, parents=[common])
        for name, action in actions.choices.items():
            if name in ("revise", "inspect", "evaluate", "apply", "reject", "quarantine", "rollback"):
                action.add_argument("id")
            if name in ("revise", "evaluate", "apply", "reject", "quarantine"):
                action.add_argument("--correlation-id")
                action.add_argument(
                    "--expected-revision-hash", help="refuse when it is another revision by now"
                )
            if name in ("apply", "reject", "quarantine", "rollback"):
                action.add_argument("--reason")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            answer = ACTIONS[action](_agent(options["agent"]), options)
        except AppError as error:
            if options["json"]:
                told = {"type": "cli_error", "message": error.message}
                self.stdout.write(json.dumps({"ok": False, "error": told}, ensure_ascii=False, indent=2))
            self.stderr.write(error.message)
            raise SystemExit(1) from error
        self.stdout.write(json.dumps(answer, indent=2) if options["json"] else _words(answer))


def _agent(given: str | None) -> str | None:
    """The agent named, else the one in whose workspace the shell stands, else the only one."""
    if given is not None:
        return given
    here = Path.cwd()
    for agent in load_roster().agents:
        if here.is_relative_to(agent.workspace.resolve()):
            return agent.id
    return None


def _draft(options: dict[str, Any], *, needed: bool = True) -> dict[str, Any]:
    """`content` and `support_files` from the draft options."""
    file, folder = options["proposal"], options["proposal_dir"]
    if file and folder:
        raise sentences.refuse("both-drafts", _("Give either --proposal or --proposal-dir."))
    if file:
        return {"content": read_draft_file(file.absolute())}
    if folder:
        content, support = read_draft_dir(folder.absolute())
        return {"content": content, "support_files": support}
    if needed:
        raise sentences.refuse("no-draft", _("Give the draft with --proposal or --proposal-dir."))
    return {}


def _texts(options: dict[str, Any]) -> dict[str, Any]:
    return {"goal": options["goal"], "evidence": options["evidence"], "caller": command_caller(), "door": CLI}


def _whole(made: Proposal) -> dict[str, Any]:
    return {"record": _record(made), "revisionHash": made.revision_hash, "content": made.draft_text}


def _record(proposal: Proposal, *, real_draft: bool = True) -> dict[str, Any]:
    root = open_desk(proposal.agent_id, command_caller()).root
    return records.shown(proposal, root, real_draft=real_draft)


def _list(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    found = wire.manifest(open_desk(agent, command_caller()))
    return {key: value for key, value in found.items() if key != "installedSkills"}


def _inspect(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    return wire.inspect(open_desk(agent, command_caller()), options["id"], real_draft=True)


def _propose_create(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    words = {"name": options["name"], "description": options["description"]}
    return _whole(proposals.create_proposal(agent, **words, **_draft(options), **_texts(options)))


def _propose_update(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    words = {"skill_name": options["skill"], "description": options["description"]}
    return _whole(proposals.propose_update(agent, **words, **_draft(options), **_texts(options)))


def _revise(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    made = revisions.revise_proposal(
        agent,
        options["id"],
        description=options["description"],
        expected_revision_hash=options["expected_revision_hash"],
        correlation_id=options["correlation_id"],
        **_draft(options, needed=False),
        **_texts(options),
    )
    return _whole(made)


def _evaluate(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    proposal, evaluation = evaluations.evaluate_proposal(
        agent,
        options["id"],
        expected_revision_hash=options["expected_revision_hash"],
        correlation_id=options["correlation_id"],
        caller=command_caller(),
    )
    return {"record": _record(proposal, real_draft=False), "evaluation": evaluation}


def _present_hash(agent: str | None, options: dict[str, Any]) -> str:
    given = options["expected_revision_hash"]
    return given or load_proposal(open_desk(agent, command_caller()), options["id"]).revision_hash


def _apply(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    proposal = decisions.apply_proposal(
        agent,
        options["id"],
        expected_revision_hash=_present_hash(agent, options),
        correlation_id=options["correlation_id"],
        reason=options["reason"],
        acknowledged=True,
        caller=command_caller(),
    )
    record = _record(proposal, real_draft=False)
    return {"record": record, "targetSkillFile": record["target"]["skillFile"]}


def _close(agent: str | None, options: dict[str, Any], decide: Any) -> dict[str, Any]:
    proposal = decide(
        agent,
        options["id"],
        expected_revision_hash=_present_hash(agent, options),
        correlation_id=options["correlation_id"],
        reason=options["reason"],
        caller=command_caller(),
        door=CLI,
    )
    return _record(proposal)


def _rollback(agent: str | None, options: dict[str, Any]) -> dict[str, Any]:
    proposal = rollbacks.roll_back_proposal(
        agent, options["id"], reason=options["reason"], caller=command_caller(), door=CLI
    )
    return _record(proposal)


ACTIONS = {
    "list": _list,
    "inspect": _inspect,
    "propose-create": _propose_create,
    "propose-update": _propose_update,
    "revise": _revise,
    "evaluate": _evaluate,
    "apply": _apply,
    "reject": lambda agent, options: _close(agent, options, decisions.reject_proposal),
    "quarantine": lambda agent, options: _close(agent, options, decisions.quarantine_proposal),
    "rollback": _rollback,
}


def _words(answer: dict[str, Any]) -> str:
    """The answer for a person: one line a proposal, or the draft."""
    if "proposals" in answer:
        lines = [f"{e['status']:<12} {e['kind']:<7} {e['id']}  {e['title']!r}" for e in answer["proposals"]]
        return "\n".join(lines) or _("No proposals.")
    record = answer.get("record", answer)
    head = f"{record['status']} {record['id']} {record['proposedVersion']} {answer.get('revisionHash', '')}".rstrip()
    return f"{head}\n\n{answer['content']}" if "content" in answer else head
