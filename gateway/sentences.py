"""Sentences that are stored, and told again in the language of whoever reads them.

A worker has no reader, and what one person did in Chinese is read by others in English. So the English sentence is
stored, whole and readable in the admin and over the wire; `tell` recognises it by its pattern and says it in the
active language. What no pattern fits (a peer's or a person's own words) is told as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

_MARK = re.compile(r"%\((\w+)\)([sd])")


class Stored:
    """A set of sentences with marks (`%(who)s`, `%(count)d`); values named in `again` are sentences themselves."""

    def __init__(self, sentences: Sequence[str], *, again: Sequence[str] = ()) -> None:
        self.sentences = tuple(sentences)
        self.again = frozenset(again)

    def kept(self, sentence: str, **values: object) -> str:
        """The English sentence to store. It must be one of the set, or readers get it in English only."""
        if sentence not in self.sentences:
            raise ValueError(f"not among the sentences that can be told again: {sentence}")
        return sentence % values if values else sentence

    def tell(self, stored: str) -> str | None:
        """A stored sentence in the active language; None where it is none of the set."""
        for sentence, pattern in self._patterns:
            match = pattern.fullmatch(stored)
            if match:
                values = {
                    name: self._value(name, kind, match[name]) for name, kind in _MARK.findall(sentence)
                }
                return _(sentence) % values if values else _(sentence)
        return None

    def _value(self, name: str, kind: str, text: str) -> object:
        if kind == "d":
            return int(text)
        return (self.tell(text) or text) if name in self.again else text

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        return list(self._made())

    def _made(self) -> Iterator[tuple[str, re.Pattern[str]]]:
        for sentence in self.sentences:
            parts = _MARK.split(sentence)
            regex = re.escape(parts[0])
            for name, kind, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
                regex += rf"(?P<{name}>{'-?[0-9]+' if kind == 'd' else '.*?'})" + re.escape(after)
            yield sentence, re.compile(regex, re.DOTALL)


# Why a message was not delivered, as far as it is we who say so.
DELIVERY = Stored(
    (
        gettext_noop("No answer within %(seconds)s seconds; it may still arrive."),
        gettext_noop("The program could not be started: %(why)s"),
        gettext_noop("The program was ended by signal %(signal)s."),
        gettext_noop("The program ended with status %(status)s."),
    )
)
