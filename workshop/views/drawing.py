"""Differences of files as the desk draws them, for a proposal, a pair of versions or a live skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from openclaw_web.desk import Talk
from openclaw_web.diffview import FileDiff, file_diff
from workshop.bundle import DRAFT_NAME, SKILL_NAME, render_skill
from workshop.queries.desk import View
from workshop.queries.files import FilePair, OldBundle, generation_pairs
from workshop.views.shown import Place, Writing, may_remark, talks_of

SPLIT_COOKIE = "diff_view"


def wants_split(request: HttpRequest) -> bool:
    asked = request.GET.get("view") or request.COOKIES.get(SPLIT_COOKIE, "")
    return asked == "split"


def draw_files(
    pairs: Sequence[FilePair],
    *,
    request: HttpRequest,
    view: View | None = None,
    here: str = "",
    writing: Writing | None = None,
    talk: bool = True,
) -> list[FileDiff]:
    """The difference of every file as rows; with `view` and `talk`, lines lead to remarks and show them."""
    place, split = Place.of(request), wants_split(request)
    rows_from, rows_file = _number(request, "rows"), _number(request, "file")
    may = view is not None and talk and may_remark(request, view)
    drawn = []
    for index, pair in enumerate(pairs):
        talks: Mapping[int, Talk] = {}
        if view is not None and talk:
            open_at = place.line if place and place.file == str(index) else None
            most = (text_after(view, pair) or "").count("\n") + 1
            most_old = pair.before.count("\n") + 1 if pair.before and not pair.binary else 0
            talks = talks_of(
                view, pair.path, here, form_at=open_at, most=most, most_old=most_old, writing=writing, may=may
            )
        file = file_diff(
            pair.path,
            None if pair.binary else pair.before,
            text_after(view, pair),
            split=split,
            talks=talks,
            line_url=f"?at={index}:" if may else "",
            old_line_url=f"?at={index}:-" if may else "",
            from_row=rows_from if index == rows_file else 0,
            index=index,
            extra={"warning": _("what stands there now is not text, so it is not shown")}
            if pair.binary
            else {},
        )
        # Bytes that are no text cannot be compared line by line; that they are replaced is still so.
        drawn.append(replace(file, state="changed") if pair.binary and pair.before is not None else file)
    return drawn


def text_after(view: View | None, pair: FilePair) -> str | None:
    """The new text of a file. A pair whose live side is not text holds neither, so the bundle is asked."""
    if not pair.binary or view is None or view.bundle is None:
        return pair.after
    return next((file.text for file in view.bundle.support if file.path == pair.path), pair.after)


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def summary_of(files: Sequence[FileDiff]) -> list[dict[str, Any]]:
    """One line a file for the head: what applying writes."""
    return [
        {"path": file.path, "state": file.state, "added": file.added, "removed": file.removed}
        for file in files
        if file.state != "same"
    ]


def version_pairs(old: OldBundle, new: OldBundle) -> list[FilePair]:
    """The difference of two generations as applying would write them: SKILL.md without the draft's own keys,
    which differ every time. Empty where one of them cannot be read."""
    if old.bundle is None or new.bundle is None:
        return []
    before, after = render_skill(old.bundle.text), render_skill(new.bundle.text)
    support = [pair for pair in generation_pairs(old, new) if pair.path != DRAFT_NAME]
    return [FilePair(SKILL_NAME, before, after), *support]
