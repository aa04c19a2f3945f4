"""Extracts every string for people from code and templates into the apps' catalogues, and checks them.

Needs Babel and Django only, not gettext's own programs. See script/i18n for how to call it.
"""

import argparse
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.pofile import read_po, write_po
from compile_messages import compile_all
from django.conf import settings
from django.utils.translation import templatize

ROOT = Path(__file__).resolve().parent.parent
APPS = ("openclaw_web", "gateway", "archives", "agents", "plans", "workshop", "longrun")
LOCALE = "zh_Hans"
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
HEADER = (
    'msgid ""\nmsgstr ""\n"Language: zh_Hans\\n"\n"MIME-Version: 1.0\\n"\n'
    '"Content-Type: text/plain; charset=UTF-8\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n'
    '"Plural-Forms: nplurals=1; plural=0;\\n"\n\n'
)


def catalogue_path(app: str) -> Path:
    return ROOT / app / "locale" / LOCALE / "LC_MESSAGES" / "django.po"


def sources(app: str) -> Iterator[Path]:
    """The app's modules and templates; the project's also the templates that belong to no app."""
    yield from (
        path
        for path in sorted((ROOT / app).rglob("*.py"))
        if "migrations" not in path.relative_to(ROOT / app).parts
    )
    for suffix in ("*.html", "*.txt"):
        yield from sorted((ROOT / "templates" / app).rglob(suffix))
        if app == "openclaw_web":
            yield from sorted((ROOT / "templates").glob(suffix))
            yield from sorted((ROOT / "templates" / "admin").rglob(suffix))
            yield from sorted((ROOT / "templates" / "desk").rglob(suffix))


def extracted(app: str) -> Catalog:
    """What the sources of `app` hold today."""
    found = Catalog(locale=LOCALE, fuzzy=False)
    for path in sources(app):
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            # Django turns a template into something Python-like, but keeps its indentation.
            text = "\n".join(line.strip() for line in templatize(text, origin=str(path)).split("\n"))
        for _line, message, _comments, context in extract(
            "python", io.BytesIO(text.encode()), keywords=KEYWORDS
        ):
            found.add(message, context=context)
    return found


def stored(app: str) -> Catalog:
    path = catalogue_path(app)
    if not path.exists():
        return Catalog(locale=LOCALE)
    with path.open("rb") as file:
        return read_po(file, locale=LOCALE)


def merged(app: str, known: dict) -> Catalog:
    """Today's strings with their translations: the app's own, else what another app calls the same."""
    before, after = stored(app), extracted(app)
    for message in after:
        if not message.id:
            continue
        old = before.get(message.id, context=message.context)
        if old is not None and any(_texts(old)):
            message.string = old.string
            message.flags |= old.flags & {"fuzzy"}
        elif (message.id, message.context) in known:
            message.string = known[message.id, message.context]
    return after


def write(app: str, catalogue: Catalog) -> None:
    out = io.BytesIO()
    write_po(out, catalogue, width=100, no_location=True, omit_header=True, sort_output=True)
    path = catalogue_path(app)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + out.getvalue().decode().strip() + "\n", encoding="utf-8")


def problems(app: str) -> Iterator[str]:
    """One sentence for each string that is missing, unfinished, doubtful, left over or broken."""
    before, now = stored(app), extracted(app)
    wanted = {(message.id, message.context) for message in now if message.id}
    for message in before:
        if not message.id:
            continue
        name = f"{app}: {_first(message.id)!r}"
        if (message.id, message.context) not in wanted:
            yield f"{name} is no longer used"
        elif not all(_texts(message)):
            yield f"{name} is not translated"
        elif message.fuzzy:
            yield f"{name} is marked fuzzy"
        else:
            yield from (f"{name}: {error}" for error in broken(message, before))
    had = {(message.id, message.context) for message in before}
    yield from (f"{app}: {_first(text)!r} is not in the catalogue" for text, _context in wanted - had)


def broken(message, catalogue: Catalog) -> list:
    """What would raise or show a hole when the translation is filled in."""
    if not message.pluralizable:
        return list(message.check(catalogue))
    # Chinese has one form for both, so it may name whatever either of the two names.
    unknown = set().union(*map(_names, _texts(message))) - set().union(*map(_names, message.id))
    return [f"unknown placeholder {name}" for name in sorted(unknown)]


def _names(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)[a-z]|%[sd]|\{\w+\}", text))


def _texts(message) -> tuple:
    return tuple(message.string) if isinstance(message.string, (tuple, list)) else (message.string,)


def _first(text) -> str:
    return text[0] if isinstance(text, (tuple, list)) else text


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/i18n")
    parser.add_argument("app", nargs="*", help=f"default: all ({', '.join(APPS)})")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.app) - set(APPS):
        parser.error(f"no such app: {', '.join(sorted(unknown))}")
    settings.configure()  # templatize reads it; nothing of ours does
    apps = options.app or APPS
    if options.check:
        found = [problem for app in apps for problem in problems(app)]
        print("\n".join(found) or "Every string is translated.")
        return bool(found)
    if not options.compile:
        known = {
            (message.id, message.context): message.string
            for app in APPS
            for message in stored(app)
            if message.id and all(_texts(message)) and not message.fuzzy
        }
        for app in apps:
            write(app, merged(app, known))
            left = sum(1 for message in stored(app) if message.id and not all(_texts(message)))
            print(f"{app}: {len(stored(app))} strings, {left} without a translation")
    for path in compile_all(ROOT):
        print(f"compiled {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
