"""What a credential looks like where somebody wrote it out. Imports no app, so every app may use it.

Only forms that mean nothing else are known: keys of large services and this dashboard's own tokens.
"""

import re

TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|xox[baprs]-[A-Za-z0-9-]{20,}"
    r"|AIza[A-Za-z0-9_-]{35}"
    r"|ocw_[A-Za-z0-9_-]{40,}"
    r")"
)
# One of these, in lower case, stands in every text that `TOKENS` finds something in.
BEGINNINGS = ("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "aiza", "ocw_")
_SHOWN = 4


def masked(text: str) -> str:
    """`text` with every credential cut to its first four characters: for logs, and for sentences that repeat
    what somebody typed. Never for a text that is saved again."""
    return TOKENS.sub(lambda match: f"{match[0][:_SHOWN]}•••", text)
