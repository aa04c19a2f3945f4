"""The demo world: what `manage.py demo` puts into an empty state dir, and how all of it is found again.

Each app has a `demo.py` with `build(world)` and `remove(world)`. Whatever is written is noted in the marker file
`openclaw-web-demo.jsonl` before it is written, so that a build that was cut off can be removed as well. Removing
deletes a file only while it is byte for byte what was made, and a folder only when it is empty.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from gateway.callers import Caller
from gateway.errors import AppError

MARKER = "openclaw-web-demo.jsonl"
_KIND = "openclaw-web demo"


class DemoError(AppError):
    """Codes: not_empty | not_demo | already | taken."""


@dataclass
class World:
    """One demo in the making, or one that is to be removed. `now` is the instant it is built around."""

    root: Path
    caller: Caller
    now: datetime
    made_root: bool = False
    files: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def write(self, relative: str, data: str | bytes) -> Path:
        """Makes one file below the state dir. Raises DemoError `taken` where something is in its place."""
        content = data.encode() if isinstance(data, str) else data
        path = self.root / relative
        self.folder(str(Path(relative).parent))
        if path.exists() or path.is_symlink():
            raise DemoError(_("%(path)s is there already.") % {"path": path}, code="taken")
        self._note_file(relative, content)
        with path.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        return path

    def folder(self, relative: str) -> Path:
        """Makes a folder and those above it, as far as they are not there."""
        path = self.root / relative
        for each in reversed([path, *path.parents]):
            if each.is_relative_to(self.root) and not each.exists():
                self._append({"folder": str(each.relative_to(self.root))})
                self.folders.append(str(each.relative_to(self.root)))
                each.mkdir(mode=0o755)
        return path

    def expect(self, path: Path, data: bytes) -> None:
        """Notes a file that a service is about to make, so that it is found even if the build is cut off."""
        self._note_file(str(path.relative_to(self.root)), data)

    def adopt(self, path: Path) -> None:
        """Notes what a service made during the build: a file, a link, or a folder with all that is in it.

        Folders above it that are not known yet were made by the service too: the state dir was empty before.
        """
        relative = str(path.relative_to(self.root))
        for above in reversed(Path(relative).parents[:-1]):
            if str(above) not in self.folders:
                self._append({"folder": str(above)})
                self.folders.append(str(above))
        if path.is_symlink():
            self._append({"link": relative, "to": str(path.readlink())})
            self.links[relative] = str(path.readlink())
        elif path.is_dir():
            if relative not in self.folders and relative != ".":
                self._append({"folder": relative})
                self.folders.append(relative)
            for below in sorted(path.iterdir()):
                self.adopt(below)
        elif path.is_file():
            self._note_file(relative, path.read_bytes())

    def note(self, kind: str, key: object) -> None:
        """Remembers what an app's `remove` must find again, such as the key of a row: `("plans.plan", pk)`."""
        self._append({"note": [kind, str(key)]})
        self.notes.append((kind, str(key)))

    def noted(self, kind: str) -> list[str]:
        return [key for known, key in self.notes if known == kind]

    def remove_files(self) -> list[Path]:
        """Deletes what was made and is unchanged; returns what was changed since, which stays."""
        changed = []
        for relative, target in self.links.items():
            link = self.root / relative
            if link.is_symlink() and str(link.readlink()) == target:
                link.unlink()
            elif link.is_symlink() or link.exists():
                changed.append(link)
        for relative, digest in reversed(self.files.items()):
            path = self.root / relative
            if path.is_symlink() or (path.exists() and not path.is_file()):
                changed.append(path)
            elif path.is_file():
                if hashlib.sha256(path.read_bytes()).hexdigest() == digest:
                    path.unlink()
                else:
                    changed.append(path)
        (self.root / MARKER).unlink()
        for relative in sorted(self.folders, key=lambda name: name.count("/"), reverse=True):
            _remove_if_empty(self.root / relative)
        if self.made_root:
            _remove_if_empty(self.root)
        return sorted(changed)

    def _note_file(self, relative: str, content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()
        if self.files.get(relative) != digest:
            self._append({"file": relative, "sha256": digest})
            self.files[relative] = digest

    def _append(self, line: dict[str, Any]) -> None:
        with (self.root / MARKER).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())


def begin_world(root: Path, *, caller: Caller, now: datetime) -> World:
    """A new world in an empty (or not yet existing) folder. Raises DemoError for any other."""
    if (root / MARKER).exists():
        raise DemoError(
            _("%(path)s holds a demo already; remove it first with: manage.py demo --remove")
            % {"path": root},
            code="already",
        )
    if root.is_symlink() or (root.exists() and (not root.is_dir() or any(root.iterdir()))):
        raise DemoError(
            _("%(path)s is not empty. A demo is only ever put into an empty state dir.") % {"path": root},
            code="not_empty",
        )
    made_root = not root.exists()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    world = World(root, caller, now, made_root=made_root)
    world._append({"kind": _KIND, "made_at": now.isoformat(), "made_root": made_root})
    return world


def open_world(root: Path, *, caller: Caller) -> World:
    """The demo that was made in a folder. Raises DemoError `not_demo` where there is none."""
    lines = list(_lines(root / MARKER))
    if not lines or lines[0].get("kind") != _KIND:
        raise DemoError(
            _("There is no demo in %(path)s, so nothing is removed.") % {"path": root}, code="not_demo"
        )
    made_at = datetime.fromisoformat(str(lines[0]["made_at"]))
    world = World(root, caller, made_at, made_root=bool(lines[0]["made_root"]))
    for line in lines[1:]:
        if "file" in line:
            world.files[line["file"]] = line["sha256"]
        elif "folder" in line:
            world.folders.append(line["folder"])
        elif "link" in line:
            world.links[line["link"]] = line["to"]
        elif "note" in line:
            world.notes.append((line["note"][0], line["note"][1]))
    _require_inside(root, [*world.files, *world.folders, *world.links])
    return world


def is_demo(root: Path) -> bool:
    """True where a state dir holds the demo world; pages say so."""
    return (root / MARKER).is_file()


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    """The marker's lines; one cut off at the end is passed over."""
    if not path.is_file() or path.is_symlink():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _require_inside(root: Path, names: Iterable[str]) -> None:
    """The marker lies where agents may write: a name in it that leads elsewhere is never followed."""
    real = root.resolve()
    for name in names:
        path = Path(os.path.normpath(root / name))
        if (
            Path(name).is_absolute()
            or not path.is_relative_to(root)
            or not path.parent.resolve().is_relative_to(real)
        ):
            raise DemoError(
                _("The marker names %(name)s, which is not in %(path)s; nothing is removed.")
                % {"name": name, "path": root},
                code="not_demo",
            )


def _remove_if_empty(path: Path) -> None:
    if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
        path.rmdir()
