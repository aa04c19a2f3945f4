"""What an archive belongs to, told by the apps above: the session that made it, its plan, its runs.

`archives` may not import them, so each has a module `archive_links.py` (found when Django starts, as admin.py is)
that registers one function here.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from archives.protocol import is_fallback_id


@dataclass(frozen=True, slots=True)
class ArchiveLink:
    """One thing an archive belongs to. `label` is shown to people; `icon` is a Lucide name; without `url` no link."""

    kind: Literal["session", "plan", "run", "task"]
    label: str
    url: str = ""
    icon: str = "link"


Place = tuple[str, str]  # agent id, archive id
Provider = Callable[[str, str], list[ArchiveLink]]
Namer = Callable[[Collection[Place]], dict[Place, str]]
_providers: list[Provider] = []
_namers: list[Namer] = []


def provides_archive_links(provider: Provider) -> Provider:
    """Registers `provider(agent_id, archive_id) -> [ArchiveLink]`: a few rows, one or two queries at most."""
    _providers.append(provider)
    return provider


def provides_archive_names(namer: Namer) -> Namer:
    """Registers `namer(places)`: what people call those of the archives it knows, in a fixed number of queries."""
    _namers.append(namer)
    return namer


def names_of(places: Collection[Place]) -> dict[Place, str]:
    """What people call these archives, where an app above knows it."""
    return {place: name for namer in _namers for place, name in namer(places).items()} if places else {}


def links_of(agent_id: str, archive_id: str) -> list[ArchiveLink]:
    """Everything the apps above know about one archive."""
    links = [link for provider in _providers for link in provider(agent_id, archive_id)]
    # A fallback id was made without a session; that one may look like it must not link them.
    return [link for link in links if link.kind != "session"] if is_fallback_id(archive_id) else links
