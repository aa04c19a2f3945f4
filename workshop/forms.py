"""The form of a proposal: what was typed and uploaded, read once, kept whatever goes wrong.

Nothing is decided here: limits and paths are the service's (`drafts`, `supportpaths`); this only asks it early
enough to put each message beside the file it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from gateway.errors import AppError
from openclaw_web.credentials import masked
from workshop import bundle, drafts, sentences, supportpaths
from workshop.config import rules_of
from workshop.names import trim
from workshop.supportpaths import MAX_FILE_BYTES, ROOTS

MAX_ROWS = 200


@dataclass(slots=True)
class FileRow:
    """One support file in the form. `crlf`: its line ends were CRLF, and a text area would lose that."""

    path: str
    content: str
    crlf: bool = False
    problem: str = ""

    @property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "replace"))

    @property
    def titled(self) -> str:
        """The path for a heading; its field keeps what was typed."""
        return masked(self.path)

    @property
    def text(self) -> str:
        return self.content.replace("\n", "\r\n") if self.crlf else self.content

    @classmethod
    def of(cls, path: str, text: str) -> FileRow:
        """A row for `text` as it is on the disk; mixed line ends are kept as they are."""
        crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
        return cls(path, text.replace("\r\n", "\n") if crlf else text, crlf)


@dataclass(slots=True)
class ProposalForm:
    """What the form holds. `errors` by field name; `refusal` is about the whole."""

    agent_id: str = ""
    kind: str = "create"
    name: str = ""
    description: str = ""
    content: str = ""
    goal: str = ""
    evidence: str = ""
    folder: str = "references"
    files: list[FileRow] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    refusal: str = ""
    refusal_code: str = ""

    @property
    def support(self) -> list[dict[str, str]]:
        return [{"path": row.path, "content": row.text} for row in self.files]

    @property
    def total(self) -> int:
        return sum(row.size for row in self.files)

    @classmethod
    def posted(cls, data: QueryDict, uploads: MultiValueDict[str, UploadedFile]) -> ProposalForm:
        """Read a POST: the fields, the rows of files that were there, and what was added."""
        form = cls(
            agent_id=data.get("agent", ""),
            kind="update" if data.get("kind") == "update" else "create",
            name=data.get("name", ""),
            description=data.get("description", ""),
            content=_lf(data.get("content", "")),
            goal=_lf(data.get("goal", "")),
            evidence=_lf(data.get("evidence", "")),
            folder=data.get("folder") if data.get("folder") in ROOTS else "references",  # type: ignore[arg-type]
        )
        dropped, crlf = set(data.getlist("drop")), set(data.getlist("crlf"))
        rows = zip(data.getlist("path"), data.getlist("file_content"), strict=False)
        for at, (path, content) in enumerate(list(rows)[:MAX_ROWS]):
            if str(at) not in dropped and (path.strip() or content):
                form.files.append(FileRow(path, _lf(content), str(at) in crlf))
        form.add_uploads(uploads.getlist("uploads"), [])
        form.add_uploads(uploads.getlist("tree"), data.get("tree_paths", "").splitlines())
        return form

    def add_uploads(self, uploads: Iterable[UploadedFile], paths: list[str]) -> None:
        """Uploaded files become rows. A browser tells folders only through `paths` (filled by our script);
        without, a file goes into the chosen folder."""
        for at, upload in enumerate(list(uploads)[:MAX_ROWS]):
            path = _place(paths[at] if at < len(paths) else "", upload.name or "", self.folder)
            if (upload.size or 0) > MAX_FILE_BYTES:
                refusal = supportpaths.Refusal("file-too-large", path, upload.size or 0, MAX_FILE_BYTES)
                self.files.append(FileRow(path, "", problem=sentences.support_refusal(refusal)))
                continue
            try:
                row = FileRow.of(path, upload.read().decode())
            except UnicodeDecodeError as error:
                row = FileRow(path, "", problem=_not_utf8(path, error.start))
            self.files = [kept for kept in self.files if kept.path != path]
            self.files.append(row)

    def check_files(self) -> bool:
        """Put the service's messages beside the files. True where there are none."""
        problems: dict[str, str] = {}
        for refusal in supportpaths.validate(self.support)[1]:
            problems.setdefault(refusal.path, sentences.support_refusal(refusal))
        for row in self.files:
            row.problem = row.problem or problems.pop(row.path.strip(), "")
        if problems:
            self.errors["files"] = " ".join(problems.values())
        return not problems and not any(row.problem for row in self.files)

    def check(self) -> bool:
        """Everything that can be told without writing, all at once. True where nothing stands against it."""
        checks: list[Callable[[], object]] = [
            lambda: drafts.check_description(trim(self.description)),
            lambda: drafts.check_content(self.content, rules_of(self.agent_id)),
            lambda: drafts.check_words(**self._written()),
        ]
        for one in checks:
            try:
                one()
            except AppError as error:
                self.refuse(error)
        return self.check_files() and not self.errors

    def _written(self) -> dict[str, str]:
        """Everything in which no credential may stand, by the service's name of the place."""
        files = {row.path.strip(): row.text for row in self.files}
        fields = {
            place: getattr(self, field) for place, field in _PLACES.items() if place != "skill-description"
        }
        return {"support-file-path": "\n".join(files), **files, **fields}

    def refuse(self, error: AppError) -> None:
        """Show a service's refusal beside its field, else above the form."""
        place = getattr(error, "facts", {}).get("place", "")
        where = _FIELDS.get(error.code) or _PLACES.get(place)
        for row in self.files:
            if place and row.path.strip() == place:
                row.problem = error.message
        for problem in getattr(error, "problems", None) or []:
            for row in self.files:
                if row.path.strip() == problem["path"]:
                    row.problem = problem["message"]
        if where:
            self.errors[where] = error.message
        else:
            self.refusal, self.refusal_code = error.message, error.code


_PLACES = {
    "skill-name": "name",
    "description": "description",
    "skill-description": "content",
    bundle.DRAFT_NAME: "content",
    "goal": "goal",
    "evidence": "evidence",
}
_FIELDS = {
    "name-blank": "name",
    "name-without-key": "name",
    "target-exists": "name",
    "no-skill": "name",
    "description-blank": "description",
    "description-too-long": "description",
    "content-too-long": "content",
}


def _lf(text: str) -> str:
    """Browsers send CRLF from text areas whatever was typed."""
    return text.replace("\r\n", "\n")


def _not_utf8(path: str, byte: int) -> str:
    return _("“%(path)s” is not UTF-8 text (byte %(byte)s). Save it as UTF-8, or leave it out.") % {
        "path": path,
        "byte": byte + 1,
    }


def _place(path: str, name: str, folder: str) -> str:
    """Where an uploaded file goes: from the known folder in its path on, else into `folder`."""
    parts = [part for part in (path or name).split("/") if part]
    for at, part in enumerate(parts[:-1]):
        if part in ROOTS:
            return "/".join(parts[at:])
    # The outermost folder of an uploaded tree is the folder's own name.
    inner = parts[1:] if len(parts) > 1 else parts
    return "/".join([folder, *(inner or [name])])
