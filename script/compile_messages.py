"""Compiles every app's django.po that is newer than its django.mo; needs Babel only."""

import sys
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parent.parent


def compile_all(root: Path) -> list[Path]:
    """Compiles what is out of date below `root`; returns the catalogues it wrote."""
    written = []
    for po in sorted(root.glob("*/locale/*/LC_MESSAGES/django.po")):
        mo = po.with_suffix(".mo")
        if mo.exists() and mo.stat().st_mtime >= po.stat().st_mtime:
            continue
        with po.open("rb") as file:
            catalogue = read_po(file, locale=po.parent.parent.name)
        draft = mo.with_suffix(".mo.new")
        with draft.open("wb") as file:
            write_mo(file, catalogue)
        draft.replace(mo)
        written.append(mo)
    return written


if __name__ == "__main__":
    for path in compile_all(ROOT):
        print(f"compiled {path.relative_to(ROOT)}", file=sys.stderr)
