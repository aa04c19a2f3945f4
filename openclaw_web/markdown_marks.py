"""What agents write beyond plain Markdown: struck words, task lists, front matter."""

import re
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import SimpleTagInlineProcessor
from markdown.treeprocessors import Treeprocessor

# No tilde inside: the search from each opening ends at the next one, so the time stays linear.
_STRUCK = r"(?<![~\\])(~~)(?=[^\s~])([^~\n]*[^\s~])~~(?!~)"
_FRONT = re.compile(r"\ufeff?---[ \t]*\n(?=[\w-]+[ \t]*:)((?:(?!---[ \t]*\n).*\n){1,200}?)---[ \t]*(?:\n|$)")
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


def fence_front_matter(text: str) -> str:
    """A text's leading YAML block as fenced code; any other text as it is."""
    found = _FRONT.match(text)
    if not found or "```" in found[1]:
        return text
    return f"```yaml\n{found[1]}```\n\n{text[found.end() :]}"


class Marks(Extension):
    """`~~struck~~` becomes `<del>`; list items that begin with `[ ]` or `[x]` begin with a box."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(SimpleTagInlineProcessor(_STRUCK, "del"), "struck", 75)
        md.treeprocessors.register(_Boxes(md), "boxes", 100)


class _Boxes(Treeprocessor):
    # Before the inline patterns (20), to which "[x] (y)" would be a link.
    def run(self, root: Element) -> None:
        for item in root.iter("li"):
            first = item if (item.text or "").strip() else next(iter(item), item)
            box = _BOXES.get((first.text or "")[:4])
            if box and first.tag in ("li", "p"):
                first.text = box + (first.text or "")[4:]
