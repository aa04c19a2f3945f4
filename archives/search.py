"""Finding files by name, indexed, on SQLite (FTS5) and PostgreSQL (a GIN index), in Chinese and in words.

Both engines see the same plain ASCII tokens, made here: words of a name, and for scripts written without
spaces every pair of neighbouring characters, so that 报告 is found inside 竞品报告. Trigram indexes were the road
not taken: they cannot answer two characters, which is the usual length of a Chinese search word.
"""

import re
import unicodedata

from django.db import connection

SEARCH_TABLE = "archives_name_search"
FILE_TABLE = "archives_archivefile"
MANY = 2000
MAX_WORDS = 8

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def make_search_text(name: str, archive_id: str) -> str:
    """The tokens of a file, each with a space before it, for `ArchiveFile.search_text`."""
    tokens: dict[str, None] = {}
    for text in (name, archive_id):
        for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
            for token in _tokens_of(word):
                tokens[token] = None
    return "".join(f" {token}" for token in tokens)


def query_tokens(query: str) -> list[str]:
    """What a typed query asks for: each token must begin one of the file's tokens. Empty when it asks nothing."""
    wanted: dict[str, None] = {}
    for word in _WORD.findall(unicodedata.normalize("NFKC", query))[:MAX_WORDS]:
        for run in _runs(word.casefold()):
            if run[0].isascii():
                wanted["x" + run] = None
            else:
                pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
                wanted.update(dict.fromkeys(_code(pair) for pair in pairs))
    return list(wanted)[: MAX_WORDS * 2]


def matching_ids(tokens: list[str]) -> list[int] | None:
    """Ids of the files that have all tokens, from the full-text index; None when there are more than MANY."""
    if connection.vendor == "sqlite":
        sql = f"SELECT rowid FROM {SEARCH_TABLE} WHERE {SEARCH_TABLE} MATCH %s LIMIT %s"  # noqa: S608
        wanted = " AND ".join(f'"{token}"*' for token in tokens)
    else:
        sql = (
            f"SELECT id FROM {FILE_TABLE} "  # noqa: S608
            "WHERE to_tsvector('simple', search_text) @@ to_tsquery('simple', %s) LIMIT %s"
        )
        wanted = " & ".join(f"{token}:*" for token in tokens)
    with connection.cursor() as cursor:
        cursor.execute(sql, [wanted, MANY + 1])
        ids = [row[0] for row in cursor.fetchall()]
    return ids if len(ids) <= MANY else None


def _tokens_of(word: str) -> list[str]:
    found = [word, *_CAMEL.split(word)]
    tokens = []
    for part in found:
        for run in _runs(part.casefold()):
            if run[0].isascii():
                tokens.append("x" + run)
            else:
                tokens += [_code(run[at : at + 2]) for at in range(len(run))]
    return tokens


def _runs(word: str) -> list[str]:
    """A word cut where ASCII and other scripts meet."""
    return re.findall(r"[\x00-\x7f]+|[^\x00-\x7f]+", word)


def _code(chars: str) -> str:
    # ASCII alone, beginning with a letter: no tokenizer or locale can then see it differently.
    return "x" + "".join(f"u{ord(char):05x}" for char in chars)
