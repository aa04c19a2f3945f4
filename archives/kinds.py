"""File types: how a name's ending decides what a preview does, and which Content-Type a response has."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Kind:
    """`code` is stored in the index; `icon` is a Lucide name."""

    code: str
    label: Promise | str
    icon: str


KINDS = (
    Kind("markdown", "Markdown", "file-text"),
    Kind("json", "JSON", "file-json"),
    Kind("table", _("Table"), "file-spreadsheet"),
    Kind("text", _("Text and code"), "file-code"),
    Kind("image", _("Image"), "file-image"),
    Kind("pdf", "PDF", "file-text"),
    Kind("audio", _("Audio"), "file-audio"),
    Kind("video", _("Video"), "file-video"),
    Kind("web", _("Web page"), "globe"),
    Kind("other", _("Other"), "file"),
)
BY_CODE = {kind.code: kind for kind in KINDS}

# Only what browsers show without running anything of it; SVG and HTML are "web".
_MEDIA = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "bmp": "image/bmp", "ico": "image/x-icon",
    "pdf": "application/pdf",
    "mp3": "audio/mpeg", "wav": "audio/wav", "ogg": "audio/ogg", "oga": "audio/ogg", "m4a": "audio/mp4",
    "flac": "audio/flac", "opus": "audio/ogg", "aac": "audio/aac",
    "mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime", "ogv": "video/ogg", "m4v": "video/mp4",
}  # fmt: skip
_WEB = {"html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "svg": "image/svg+xml"}
_TEXT = {
    "txt", "log", "text", "ndjson", "jsonl", "yaml", "yml", "toml", "ini", "cfg", "conf", "env",
    "properties", "xml", "xsl", "sql", "sh", "bash", "zsh", "fish", "ps1", "bat", "py", "pyi",
    "rb", "php", "pl", "lua", "r", "jl", "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "svelte",
    "css", "scss", "less", "go", "rs", "java", "kt", "kts", "scala", "swift", "c", "h", "cc",
    "cpp", "hpp", "cs", "m", "mm", "dart", "ex", "exs", "erl", "hs", "clj", "tf", "proto",
    "graphql", "gql", "diff", "patch", "rst", "adoc", "tex", "bib", "srt", "vtt", "ics", "vcf",
    "dockerfile", "makefile", "gitignore", "lock",
}  # fmt: skip
_OTHERS = {
    "md": "markdown",
    "markdown": "markdown",
    "json": "json",
    "csv": "table",
    "tsv": "table",
    "pdf": "pdf",
}
_BARE_TEXT = frozenset({"makefile", "dockerfile", "license", "readme", "changelog"})


def extension(name: str) -> str:
    """The lower-case ending of a name without its dot; "" when there is none."""
    stem, dot, ending = name.rpartition(".")
    return ending.lower() if dot and stem else ""


def kind_of(name: str) -> str:
    """The code of a file's type, by its name alone."""
    ending = extension(name)
    if ending in _OTHERS:
        return _OTHERS[ending]
    if ending in _MEDIA:
        return _MEDIA[ending].split("/", 1)[0]
    if ending in _WEB:
        return "web"
    return "text" if ending in _TEXT or name.lower() in _BARE_TEXT else "other"


def inline_type(name: str) -> str | None:
    """The Content-Type a file may be shown with inside a page; None for what is only ever downloaded."""
    ending = extension(name)
    if ending in _MEDIA:
        return _MEDIA[ending]
    return "text/plain; charset=utf-8" if kind_of(name) in ("markdown", "json", "table", "text") else None


def sandbox_type(name: str) -> str | None:
    """The Content-Type of HTML and SVG, which are served into a sandboxed frame only."""
    return _WEB.get(extension(name))


def badge(name: str) -> str:
    """The short word on a file's icon: its ending in capitals, at most four letters."""
    return extension(name)[:4].upper() or "—"
