"""Django merges all apps' catalogues: one English word must not become two Chinese ones by accident."""

from pathlib import Path

from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]


def test_the_same_words_are_translated_alike_in_every_app():
    seen: dict[tuple[str, str], dict[str, list[str]]] = {}
    for path in ROOT.glob("*/locale/zh_Hans/LC_MESSAGES/django.po"):
        with path.open("rb") as file:
            for message in read_po(file, locale="zh_Hans"):
                if message.id:
                    key = (str(message.id), message.context or "")
                    seen.setdefault(key, {}).setdefault(str(message.string), []).append(path.parts[-5])
    assert len(seen) > 500
    # Where the meaning differs, give the English a context (pgettext, {% translate … context … %}).
    assert {key: words for key, words in seen.items() if len(words) > 1} == {}
