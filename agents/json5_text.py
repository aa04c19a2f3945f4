"""JSON5, read in one pass, with the exact place and reason of a fault.

Why not the `json5` package: it is the farthest character its grammar tried that it reports (for `{a:1,,}` the
brace after the second comma), some faults have no place at all, and it takes up to 80 µs a token. The tests
compare this reader with it, value by value. Source: the JSON5 1.0 grammar (spec.json5.org).
"""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 24

_SPACE = re.compile(r"[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
_NUMBER = re.compile(
    r"[+-]?(?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<word>Infinity|NaN)"
    r"|(?P<decimal>(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))"
)
_PLAIN = {'"': re.compile(r'[^"\\\n\r]+'), "'": re.compile(r"[^'\\\n\r]+")}
_IDENTIFIER = re.compile(r"(?:[^\W\d]|[$_]|\\u[0-9a-fA-F]{4})(?:[\w$\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
_HEX = {"x": re.compile(r"[0-9a-fA-F]{2}"), "u": re.compile(r"[0-9a-fA-F]{4}")}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CONTINUATION = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}
_MAX_DIGITS = 300


class Json5Fault(ValueError):
    """Where (`index`) a text stops being JSON5 and what is `expected` there instead.

    `expected`: value | key | colon | comma | quote | escape | number | comment_end | end | shallower.
    """

    def __init__(self, expected: str, index: int) -> None:
        super().__init__(expected, index)
        self.expected = expected
        self.index = index


def loads(text: str) -> Any:
    """The value of a JSON5 text; of equal keys the last one stands. Raises Json5Fault."""
    return _Text(text).whole()


class _Text:
    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.depth = 0

    def whole(self) -> Any:
        value = self.value()
        if self.next():
            raise Json5Fault("end", self.index)
        return value

    def next(self) -> str:
        """The next character that is neither space nor comment; empty at the end."""
        text = self.text
        while self.index < len(text):
            space = _SPACE.match(text, self.index)
            if space:
                self.index = space.end()
            elif text.startswith("//", self.index):
                ends = [n for n in (text.find(mark, self.index) for mark in "\n\r\u2028\u2029") if n >= 0]
                self.index = min(ends, default=len(text))
            elif text.startswith("/*", self.index):
                after = text.find("*/", self.index + 2)
                if after < 0:
                    raise Json5Fault("comment_end", self.index)
                self.index = after + 2
            else:
                return text[self.index]
        return ""

    def value(self) -> Any:
        char = self.next()
        if char == "{":
            return self.object()
        if char == "[":
            return self.array()
        if char in _PLAIN:
            return self.string()
        if char and char in "+-.0123456789IN":
            return self.number()
        for word, value in _WORDS.items():
            if char == word[0] and self.text.startswith(word, self.index):
                self.index += len(word)
                self.no_more_word("value", self.index - len(word))
                return value
        raise Json5Fault("value", self.index)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Json5Fault("shallower", self.index)
        self.index += 1

    def leave(self) -> None:
        self.depth -= 1
        self.index += 1

    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.enter()
        while self.next() != "}":
            key = self.key()
            if self.next() != ":":
                raise Json5Fault("colon", self.index)
            self.index += 1
            found[key] = self.value()
            self.comma("}")
        self.leave()
        return found

    def array(self) -> list[Any]:
        found: list[Any] = []
        self.enter()
        while self.next() != "]":
            found.append(self.value())
            self.comma("]")
        self.leave()
        return found

    def comma(self, closing: str) -> None:
        char = self.next()
        if char == ",":
            self.index += 1
        elif char != closing:
            raise Json5Fault("comma", self.index)

    def key(self) -> str:
        if self.next() in _PLAIN:
            return self.string()
        match = _IDENTIFIER.match(self.text, self.index)
        if not match:
            raise Json5Fault("key", self.index)
        self.index = match.end()
        return re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), match[0])

    def number(self) -> int | float:
        match = _NUMBER.match(self.text, self.index)
        if not match:
            raise Json5Fault("number", self.index)
        start, self.index = self.index, match.end()
        self.no_more_word("number", start)
        digits = match[0].lstrip("+-")
        sign = -1 if match[0][0] == "-" else 1
        if match["hex"]:
            return sign * int(digits, 16)
        if match["word"]:
            return sign * float(digits.lower())
        # As in JavaScript a number too long to be counted is infinite, not refused.
        whole = digits.isdigit() and len(digits) <= _MAX_DIGITS
        return sign * (int(digits) if whole else float(digits))

    def no_more_word(self, expected: str, start: int) -> None:
        """`01`, `1x` and `nullify` are no values: nothing of a word may follow."""
        following = self.text[self.index : self.index + 1]
        if following and (following in "$_\\" or following.isalnum()):
            raise Json5Fault(expected, start)

    def string(self) -> str:
        start, quote = self.index, self.text[self.index]
        self.index += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN[quote].match(self.text, self.index)
            if plain:
                parts.append(plain[0])
                self.index = plain.end()
            char = self.text[self.index : self.index + 1]
            if char == quote:
                self.index += 1
                return _scalar("".join(parts))
            if char != "\\":
                raise Json5Fault("quote", start)
            parts.append(self.escape(start))

    def escape(self, start: int) -> str:
        at = self.index
        char = self.text[at + 1 : at + 2]
        continuation = _CONTINUATION.match(self.text, at + 1)
        if continuation:
            self.index = continuation.end()
            return ""
        if char in _HEX:
            digits = _HEX[char].match(self.text, at + 2)
            if not digits:
                raise Json5Fault("escape", at)
            self.index = digits.end()
            return chr(int(digits[0], 16))
        if not char:
            raise Json5Fault("quote", start)
        self.index = at + 2
        if char.isascii() and char.isdigit():
            if char != "0" or self.text[at + 2 : at + 3].isdigit():
                raise Json5Fault("escape", at)
            return "\0"
        return _ESCAPES.get(char, char)


def _scalar(text: str) -> str:
    """Surrogate pairs as the one character they mean; a lone one as U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
