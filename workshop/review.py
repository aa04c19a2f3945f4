"""What a reviewer should see before deciding, and what an apply asks a second yes for (reports rows 1, 9)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web.linematch import matching_runs
from workshop import bundle, masks, safefiles, sentences, supportpaths, targets
from workshop.desks import Desk
from workshop.errors import FileProblem
from workshop.models import Proposal
from workshop.names import utf8
from workshop.store import Bundle

# An update that keeps less than this share of the live lines is asked about twice.
KEPT_SHARE = 0.3
MIN_LIVE_LINES = 6


@dataclass(frozen=True, slots=True)
class Notice:
    """`code` is stable, `risk` asks for a second yes at apply, `path` the file it is about (empty: the whole);
    what `blocks` cannot be applied at all."""

    code: str
    sentence: str
    risk: bool = False
    path: str = ""
    blocks: bool = False


def warnings(desk: Desk, proposal: Proposal, stored: Bundle) -> list[Notice]:
    """Everything worth a look that is no scan finding."""
    found = [*_draft_warnings(stored), *_path_warnings(stored)]
    if proposal.kind == Proposal.Kind.UPDATE:
        found += [*_mask_warnings(desk, proposal, stored), *_loss_warnings(desk, proposal, stored)]
    return found


def _mask_warnings(desk: Desk, proposal: Proposal, stored: Bundle) -> list[Notice]:
    """Files in which a mask would replace a real value."""
    texts = [(bundle.SKILL_NAME, bundle.render_skill(stored.text))]
    texts += [(file.path, file.text) for file in stored.support]
    found = []
    for path, text in texts:
        if not masks.MASK.search(text):
            continue
        lines = masks.lines_masked(_live_text(desk, f"{proposal.target_dir}/{path}"), text)
        if lines:
            sentence = _(
                "Line %(line)s of %(path)s would replace a value by the mask that hid it. Leave the line as it "
                "stands, or name a variable."
            ) % {"line": lines[0], "path": path}
            found.append(Notice("mask-written-back", sentence, path=path, blocks=True))
    return found


def _live_text(desk: Desk, rel: str) -> str:
    """A live file's text; empty where there is none to be read."""
    try:
        found = safefiles.read_file(desk.root.resolve(), rel, limit=targets.MAX_LIVE_BYTES, links=None)
    except (FileProblem, FileNotFoundError):
        return ""
    return found.data.decode(errors="replace")


def require_no_masks(desk: Desk, proposal: Proposal, stored: Bundle) -> None:
    """Refuse to write a mask over a real value, whoever says yes to it. Raises WorkshopError `mask-written-back`."""
    if proposal.kind == Proposal.Kind.UPDATE:
        for notice in _mask_warnings(desk, proposal, stored):
            raise sentences.refuse(notice.code, notice.sentence)


def _draft_warnings(stored: Bundle) -> list[Notice]:
    found = []
    source = bundle.read(stored.text)
    problem = bundle.draft_problem(stored.text)
    if problem:
        found.append(Notice(f"draft-{problem}", sentences.draft_problem(problem).message))
    if source.values.repaired:
        found.append(
            Notice(
                "unquoted-value",
                _("Line %(line)s holds “: ” without quotes. Better: %(better)s")
                % {"line": source.values.repaired.line, "better": source.values.repaired.suggestion},
            )
        )
    if not source.body.strip():
        found.append(
            Notice("empty-body", _("The skill would have no text besides its description."), risk=True)
        )
    if "\0" in stored.text:
        found.append(Notice("nul", _("The text holds NUL characters, which most editors cannot show.")))
    return found


def _path_warnings(stored: Bundle) -> list[Notice]:
    texts = {
        "same-but-for-case": _(
            "“%(path)s” and “%(other)s” differ only by case or accents: a disk that ignores that keeps only one."
        ),
        "control-character": _("The name “%(path)s” holds a line break or another invisible character."),
        "direction-character": _(
            "The name “%(path)s” holds a character that turns the direction of reading."
        ),
    }
    return [
        Notice(
            code, texts[code] % {"path": path.encode("unicode_escape").decode(), "other": other}, path=path
        )
        for code, path, other in supportpaths.warnings_for(file.path for file in stored.support)
    ]


def _loss_warnings(desk: Desk, proposal: Proposal, stored: Bundle) -> list[Notice]:
    live_text = _live_text(desk, targets.skill_file(proposal.target_dir))
    before = [line for line in bundle.read(live_text).body.splitlines() if line.strip()]
    after = [line for line in bundle.read(stored.text).body.splitlines() if line.strip()]
    if len(before) < MIN_LIVE_LINES:
        return []
    kept = kept_share(before, after)
    if kept >= KEPT_SHARE:
        return []
    return [
        Notice(
            "drops-most",
            _("Only %(percent)s %% of the live skill's lines remain; %(gone)s of %(all)s would go.")
            % {"percent": round(100 * kept), "gone": round(len(before) * (1 - kept)), "all": len(before)},
            risk=True,
        )
    ]


def kept_share(before: Sequence[str], after: Sequence[str]) -> float:
    """The share of `before`'s lines that stand, in order, in `after`; bounded in time for large texts."""
    return sum(length for _old, _new, length in matching_runs(before, after)) / len(before)


def require_no_risks(desk: Desk, proposal: Proposal, stored: Bundle) -> None:
    """Raises WorkshopError `needs-acknowledgement` with the first risk's sentence."""
    risks = [warning for warning in warnings(desk, proposal, stored) if warning.risk]
    if risks:
        error = sentences.refuse(
            "needs-acknowledgement", _("%(risk)s Confirm that this is meant.") % {"risk": risks[0].sentence}
        )
        error.facts = {"risks": [risk.code for risk in risks]}
        raise error


def require_no_merge(desk: Desk, paths: Sequence[str]) -> None:
    """Refuse to write two files which this disk would make one. Raises WorkshopError `files-would-merge`."""
    for code, path, other in supportpaths.warnings_for(paths):
        if code == "same-but-for-case" and merges(desk.root, path, other):
            raise sentences.refuse(
                "files-would-merge",
                _("This disk would make one file of “%(path)s” and “%(other)s”. Rename one of them.")
                % {"path": path, "other": other},
            )


def merges(root: Path, path: str, other: str) -> bool:
    """Whether the disk below `root` takes two names for one: tried out, with both names, in a folder of its
    own beside the skills. `other` differs from the beginning of `path` in its last part."""
    folder = root
    while not folder.is_dir():
        folder = folder.parent
    names = {path.split("/")[other.count("/")], other.rpartition("/")[2]}
    with tempfile.TemporaryDirectory(prefix=".probe-", dir=folder) as probe:
        for name in names:
            (Path(probe) / utf8(name).decode()).touch()
        return len(list(Path(probe).iterdir())) < len(names)
