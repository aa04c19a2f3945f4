"""Cards: archived files as they appear in an agent's messages and on the archive page.

What a card says about its file is read from the disk at that moment: the file may have gone since the message.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from urllib.parse import unquote

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from archives.blocks import read_blocks
from archives.errors import ArchivesError
from archives.kinds import BY_CODE, badge, inline_type, kind_of
from archives.models import ArchiveFile, Workspace
from archives.opening import open_file
from archives.protocol import ROOT, ArchivePath, parse_path
from archives.texts import note_text
from openclaw_web.markdown import render_markdown

# As nh3 writes it: no quote, bracket or ampersand stands bare inside an attribute.
_IMAGE = re.compile(r'(<img\b[^>]*?) src="([^"]*)"([^>]*>)')


@dataclass(frozen=True, slots=True)
class Card:
    """One file in a grid. `size` is None when the file is missing; then there are no addresses either."""

    agent_id: str
    path: ArchivePath
    size: int | None = None
    modified_at: datetime | None = None
    why: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def badge(self) -> str:
        return badge(self.path.name)

    @property
    def kind(self) -> str:
        return kind_of(self.path.name)

    @property
    def kind_label(self) -> str:
        return str(BY_CODE[self.kind].label)

    @property
    def is_missing(self) -> bool:
        return self.size is None

    @property
    def url(self) -> str:
        return self.address("file")

    @property
    def preview_url(self) -> str:
        return self.address("preview")

    @property
    def download_url(self) -> str:
        return self.address("download")

    @property
    def raw_url(self) -> str:
        return self.address("raw")

    @property
    def sandbox_url(self) -> str:
        return self.address("sandbox")

    def address(self, view: str) -> str:
        """The address of one of the file's views."""
        return reverse(f"archives:{view}", args=[self.agent_id, self.path.archive_id, self.path.subpath])


def card_of_row(file: ArchiveFile, agent_id: str) -> Card:
    """The card of an indexed file; asks nothing of disk or database."""
    return Card(agent_id, file.path, file.size, file.modified_at)


def cards_of_paths(agent_id: str, paths: Iterable[ArchivePath]) -> list[Card]:
    """Cards of files as they are on the disk now; what is not there, or not to be opened, is missing."""
    workspace = Workspace.objects.filter(agent_id=agent_id).first()
    if workspace is None:
        return [Card(agent_id, path, why=_("the agent has no known workspace")) for path in paths]
    cards = []
    for path in paths:
        try:
            with open_file(workspace.path, path) as handle:
                facts = os.fstat(handle.fileno())
            modified = datetime.fromtimestamp(facts.st_mtime, UTC)
            cards.append(Card(agent_id, path, facts.st_size, modified))
        except (ArchivesError, OSError, ValueError, OverflowError) as error:
            cards.append(Card(agent_id, path, why=str(error)))
    return cards


def render_agent_markdown(text: str, agent_id: str, *, beside: ArchivePath | None = None) -> SafeString:
    """An agent's Markdown, sanitised, with its conforming blocks as one grid of cards and quiet notes on the others.

    The text's parts carry `hx-disable`; put the result into the page as it is, not into another `hx-disable`.
    `beside` is the archived file the text comes from: its relative images are the files next to it.
    """
    reading = read_blocks(text)
    notes = [{"line": note.line, "text": note_text(note.code, note.detail)} for note in reading.notes]
    rendered = str(render_markdown(reading.text))
    if beside is not None:
        rendered = _IMAGE.sub(lambda found: _image(found, agent_id, beside), rendered)
    grid = ""
    if reading.cards:
        cards = cards_of_paths(agent_id, reading.cards)
        grid = render_to_string("archives/_grid.html", {"cards": cards})
    before, _token, after = _around(rendered, reading.token)
    told = render_to_string("archives/_notes.html", {"notes": notes}) if notes else ""
    return mark_safe(_part(before) + grid + _part(after) + told)  # noqa: S308 (made by our own templates)


def _image(found: re.Match[str], agent_id: str, beside: ArchivePath) -> str:
    """An image of the text: next to it on the disk, or one of this site; anything else keeps its words alone."""
    source = unquote(unescape(found[2]))
    if source.startswith("/"):
        return found[0]
    name = source.removeprefix("./")
    try:
        path = parse_path(name if name.startswith(f"{ROOT}/") else "/".join((*beside.folders, name)))
    except ArchivesError:
        return found[1] + found[3]
    if path.archive_id != beside.archive_id or not (inline_type(path.name) or "").startswith("image/"):
        return found[1] + found[3]
    return f'{found[1]} src="{escape(Card(agent_id, path).raw_url)}"{found[3]}'


def _around(rendered: str, token: str) -> tuple[str, str, str]:
    if not token:
        return rendered, "", ""
    paragraph = f"<p>{token}</p>"
    if paragraph in rendered:
        return rendered.partition(paragraph)
    # The text was too deep for the parser and is shown plain: the grid follows it.
    return rendered.replace(token, ""), "", ""


def _part(html: str) -> str:
    return format_html('<div class="prose" hx-disable>{}</div>', mark_safe(html)) if html.strip() else ""  # noqa: S308
