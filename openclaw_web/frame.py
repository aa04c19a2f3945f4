"""What every page's frame shows: rail, agent switch, background health, and how its reader likes to read."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import get_language_bidi
from django.utils.translation import gettext as _

from gateway.callers import role_of
from gateway.clusters import cluster_state
from openclaw_web import __version__
from openclaw_web.inbox import agent_choices, waiting_counts
from openclaw_web.preferences import KEYS_COOKIE, THEME_COOKIE


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context for templates/base.html; a stranger gets only the language and theme switches."""
    context: dict[str, Any] = {"reading": Reading(request)}
    if role := role_of(getattr(request, "user", None)):
        context |= {"role": role, "agent_id": getattr(request, "agent_id", ""), "frame": Frame(request, role)}
    return context


class Reading:
    """Language, theme and keys of whoever looks. Nothing here asks the database."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.languages = settings.LANGUAGES

    @property
    def theme(self) -> str:
        cookie = self.request.COOKIES.get(THEME_COOKIE)
        theme = getattr(getattr(self.request, "user", None), "theme", "") if cookie is None else cookie
        return theme if theme in ("light", "dark") else ""

    @property
    def keys(self) -> str:
        return "off" if self.request.COOKIES.get(KEYS_COOKIE) == "off" else "on"

    @property
    def direction(self) -> str:
        return "rtl" if get_language_bidi() else "ltr"

    @property
    def language_name(self) -> str:
        return dict(settings.LANGUAGES).get(getattr(self.request, "LANGUAGE_CODE", ""), "English")

    @property
    def here(self) -> str:
        # Coming back by POST-and-redirect is only right for a page that was read.
        return self.request.get_full_path() if self.request.method == "GET" else self.request.path


@dataclass(frozen=True)
class Room:
    """One line of the rail. `spare`: behind "More" on a phone. `current`: the value of aria-current."""

    label: str
    url: str
    icon: str
    count: int = 0
    spare: bool = False
    current: str = ""


class Frame:
    """Rail, agent switch and background health. Read by the template when a whole page is rendered only."""

    version = f"OpenClaw Web {__version__}"

    def __init__(self, request: HttpRequest, role: str) -> None:
        self.request = request
        self.role = role

    @cached_property
    def rail(self) -> list[Room]:
        home = reverse("home")
        counts = waiting_counts(getattr(self.request, "agent_id", "") or None)
        rooms = (
            ("", _("Inbox"), "inbox", False),
            ("plans/", _("Plans"), "clipboard-check", False),
            ("workshop/", _("Workshop"), "hammer", False),
            ("archives/", _("Archives"), "archive", False),
            ("tasks/", _("Tasks"), "timer", False),
            ("agents/", _("Agents"), "bot", True),
            ("activity/", _("Activity"), "activity", True),
        )
        return [
            Room(label, home + path, name, counts.get(path, 0), spare, self._current(home + path, home))
            for path, label, name, spare in rooms
        ]

    def _current(self, url: str, home: str) -> str:
        here = self.request.path
        if here == url:
            return "page"
        return "true" if url != home and here.startswith(url) else ""

    @cached_property
    def agents(self) -> list[tuple[str, str]]:
        return agent_choices()

    @cached_property
    def agent_name(self) -> str:
        chosen = getattr(self.request, "agent_id", "")
        return dict(self.agents).get(chosen, chosen) or _("All agents")

    @cached_property
    def background(self) -> dict[str, str]:
        state = cluster_state()
        return {"tone": state.tone, "word": state.word, "brief": state.brief, "why": state.sentence}

    @property
    def role_name(self) -> str:
        return {
            "viewer": _("viewer"),
            "reviewer": _("reviewer"),
            "administrator": _("administrator"),
        }[self.role]
