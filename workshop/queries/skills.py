"""Live skills for the pages: members and non-members of every agent, with use and origin. Writes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from gateway.callers import Caller
from openclaw_web.paths import state_dir
from workshop import bundle, live, sentences, targets
from workshop.desks import Desk, open_desk
from workshop.errors import FileProblem
from workshop.locks import lock_name
from workshop.models import Generation, Proposal, RollbackFile, SkillUsage
from workshop.queries.desk import visible_agents
from workshop.queries.files import FilePair, generation_bundle
from workshop.services import livefiles


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A live skill. `origin`: the last applied proposal of its folder (None: made by hand). `changed`: its
    SKILL.md is not what that proposal wrote. `use_count` 0 and `last_used_at` None mean "not recorded"."""

    desk: Desk
    skill: live.Skill
    path: str
    use_count: int
    last_used_at: datetime | None
    origin: Proposal | None
    changed: bool

    @property
    def changed_at(self) -> datetime:
        return datetime.fromtimestamp(self.skill.changed_at, UTC)


@dataclass(frozen=True, slots=True)
class Invalid:
    """What lies in a Workshop folder and is not a member, in words."""

    desk: Desk
    item: live.Invalid
    sentence: str


@dataclass(frozen=True, slots=True)
class Collection:
    """What the skills page shows. `problems`: `(desk, sentence)` of folders that could not be read."""

    skills: list[SkillRow]
    invalid: list[Invalid]
    problems: list[tuple[Desk, str]]
    folders: list[str]


def collection(caller: Caller, agent_id: str | None) -> Collection:
    """All skills of one agent or of all; those changed since they were applied first, then by name. Three
    queries however many there are."""
    found: list[tuple[Desk, live.Skill]] = []
    invalid: list[Invalid] = []
    problems: list[tuple[Desk, str]] = []
    desks = [Desk(agent, state_dir()) for agent in visible_agents(caller, agent_id)]
    for desk in desks:
        try:
            inventory = live.read_inventory(desk.root)
        except FileProblem as problem:
            problems.append((desk, sentences.file_problem(problem, what="live").message))
            continue
        found += [(desk, skill) for skill in inventory.skills]
        invalid += [Invalid(desk, item, invalid_sentence(item)) for item in inventory.invalid]
    skills = _rows(found)
    skills.sort(key=lambda row: not row.changed)
    return Collection(skills, invalid, problems, [str(desk.root) for desk in desks])


def _rows(found: list[tuple[Desk, live.Skill]]) -> list[SkillRow]:
    hashes = {lock_name(desk.id, skill.dir) for desk, skill in found}
    # The newest applied proposal of each folder, picked by the database: a long history stays there.
    newest = Window(
        RowNumber(), partition_by=F("target_hash"), order_by=[F("applied_at").desc(), F("id").desc()]
    )
    applied = Proposal.objects.filter(target_hash__in=hashes, status=Proposal.Status.APPLIED)
    picked = applied.annotate(place=newest).filter(place=1).order_by()
    origins = {item.target_hash: item for item in picked.defer("record_json", "target_tree_json")}
    written = dict(
        RollbackFile.objects.filter(
            rollback_id__in=[item.pk for item in origins.values()], path=bundle.SKILL_NAME
        ).values_list("rollback_id", "written_hash")
    )
    usage = {row.skill_file: row for row in SkillUsage.objects.all()}
    rows = []
    for desk, skill in found:
        origin = origins.get(lock_name(desk.id, skill.dir))
        used = usage.get(f"{desk.root.resolve()}/{skill.file}")
        last = datetime.fromtimestamp(used.last_used_at_ms / 1000, UTC) if used else None
        changed = bool(origin and written.get(origin.pk, skill.sha256) != skill.sha256)
        rows.append(
            SkillRow(
                desk, skill, f"{desk.root}/{skill.file}", used.use_count if used else 0, last, origin, changed
            )
        )
    return rows


def invalid_sentence(item: live.Invalid) -> str:
    """Why a folder is not a member, and what to do about it."""
    facts = {"line": item.line, "detail": item.detail, "limit": live.MAX_SKILL_FILE_BYTES}
    return {
        "symlink": _("Skipped: resolves to %(detail)s."),
        "not-regular": _("Skipped: SKILL.md is not a regular file; put a plain text file there."),
        "no-permission": _(
            "SKILL.md or its folder may not be read by the account this site runs as; let it read them."
        ),
        "missing": _("SKILL.md vanished while it was read."),
        "too-large": _("SKILL.md has more than %(limit)s bytes; move parts into other files."),
        "not-utf8": _("SKILL.md is not UTF-8 from line %(line)s on; save it as UTF-8."),
        "no-block": _(
            "SKILL.md has no block between two lines of --- at its start; begin with one that has a description."
        ),
        "invalid-yaml": _("The block of keys cannot be read at line %(line)s: %(detail)s."),
        "no-description": _("The block of keys has no description; add one line “description: …”."),
        "over-limit": _("Left out: a folder holds %(detail)s skills at most."),
    }[item.code] % facts


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a live skill: `text` None when it is not UTF-8 or could not be read (`problem` says)."""

    path: str
    size: int
    text: str | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SkillPage:
    """One skill with its files, its history and the difference to what was applied last."""

    row: SkillRow
    files: list[SkillFile]
    history: list[Proposal]
    difference: list[FilePair]


def skill_page(agent_id: str, folder: str, caller: Caller) -> SkillPage:
    """`folder` is the skill's folder relative to `workshop-skills`. Raises WorkshopError `no-skill`."""
    desk = open_desk(agent_id, caller)
    try:
        skill = next((item for item in live.read_inventory(desk.root).skills if item.dir == folder), None)
    except FileProblem as problem:
        raise sentences.file_problem(problem, what="live") from problem
    if skill is None:
        raise sentences.no_skill(folder)
    row = _rows([(desk, skill)])[0]
    history = Proposal.objects.filter(target_hash=lock_name(desk.id, folder)).newest_first()
    return SkillPage(row, _files(desk, folder), list(history[:100]), _difference(row))


def _files(desk: Desk, folder: str) -> list[SkillFile]:
    found = []
    names = targets.tree_hashes(desk.root, folder)
    for path in sorted(names, key=lambda name: (name != bundle.SKILL_NAME, name)):
        try:
            data = livefiles.read_live(desk, f"{folder}/{path}")
        except FileProblem as problem:
            found.append(SkillFile(path, 0, None, sentences.file_problem(problem, what="live").message))
            continue
        try:
            found.append(SkillFile(path, len(data), data.decode()))
        except UnicodeDecodeError:
            found.append(SkillFile(path, len(data), None, _("Not a UTF-8 text.")))
    return found


def _difference(row: SkillRow) -> list[FilePair]:
    """What was applied last against what stands there now; empty when they are equal or nothing was."""
    if row.origin is None or not row.changed:
        return []
    active = Generation.objects.filter(proposal=row.origin, uuid=row.origin.generation).first()
    stored = generation_bundle(row.desk, active).bundle if active else None
    if stored is None:
        return []
    applied = dict(livefiles.plan(row.desk, row.origin, stored))[bundle.SKILL_NAME].decode(errors="replace")
    present = livefiles.read_live(row.desk, row.skill.file).decode(errors="replace")
    return [FilePair(bundle.SKILL_NAME, applied, present)]
