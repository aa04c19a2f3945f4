"""The sentences behind codes: what lint found, and how a block in a message breaks the protocol."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# code -> (what it is, why it matters or what to do)
FINDINGS: dict[str, tuple[Promise, Promise]] = {
    "wrong-root": (
        _("Wrong first folder"),
        _("The first segment must be exactly “archives”. Nothing under another name is shown or run."),
    ),
    "outside-bucket": (
        _("Straight under its archive"),
        _("Only PLAN.md lies there; every other file belongs in a bucket named by its time."),
    ),
    "no-archive": (
        _("In no archive"),
        _("The file lies directly in archives/. Which session it belongs to cannot be known."),
    ),
    "bad-timestamp": (
        _("Wrong bucket name"),
        _("A bucket is named YYYY-MM-DD-HH-MM-SS, a real time without spaces or colons."),
    ),
    "plan-in-bucket": (_("PLAN.md inside a bucket"), _("The plan lies at the root of its archive, once.")),
    "nested": (_("Too deep"), _("A file lies straight in its bucket; folders inside buckets are not shown.")),
    "bad-id": (_("Unusable archive name"), _("An ARCHIVE_ID is one safe folder name of at most 128 bytes.")),
    "bad-name": (
        _("Unusable file name"),
        _("The name is not UTF-8, has control characters, or marks that reorder it on screen."),
    ),
    "not-nfc": (
        _("Decomposed Unicode name"),
        _("Names are written composed (NFC), or they are not found again."),
    ),
    "case": (
        _("Differs only by case"),
        _("On many systems the two names are one file, and one of the two would be lost."),
    ),
    "empty": (_("Empty file"), _("An archived file with no content cannot have been read back.")),
    "symlink": (_("Symlink"), _("Archives are never read through links; the file itself belongs here.")),
    "symlink-out": (
        _("Symlink out of the workspace"),
        _("It is not followed, listed or served. Remove it if you did not make it."),
    ),
    "special": (_("No regular file"), _("Pipes, sockets and devices are not opened.")),
}

NOTES: dict[str, Promise] = {
    "naked": _("it stands in the text without a ```json fence"),
    "no-tag": _("its fence has no language tag; it must be json"),
    "other-tag": _("its fence is tagged “%(detail)s”; it must be json"),
    "fence": _("its fence opens with “%(detail)s”; it must be exactly three backticks"),
    "unclosed": _("its fence is not closed"),
    "invalid-json": _("its body is not valid JSON (%(detail)s)"),
    "not-an-object": _("its body must be one JSON object"),
    "field": _("its field %(detail)s is missing or wrong"),
    "escapes": _("its path “%(detail)s” leaves the archive"),
    "off-track": _("its path “%(detail)s” is on neither track of the protocol"),
    "name-differs": _("its name “%(detail)s” is not the name of its file"),
    "too-many": _("the message already has 500 cards"),
}


def note_text(code: str, detail: str) -> str:
    """How a block breaks the protocol, in words."""
    text = str(NOTES[code])
    return text % {"detail": detail} if "%(detail)s" in text else text
