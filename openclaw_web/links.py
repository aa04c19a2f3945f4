"""From a line of a ledger to the page of the thing it is about."""

from django.urls import NoReverseMatch, reverse

# noun of the kind or action -> (name of the address, which of subject and agent it takes)
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "agent": ("agents:agent", ("agent",)),
}


def link_to(kind: str, subject: str, agent_id: str) -> str:
    """The page for `kind` (`<noun>.<verb>`), or an empty string where there is none."""
    page = PAGES.get(kind.partition(".")[0])
    if page is None:
        return ""
    name, takes = page
    values = {"subject": subject, "agent": agent_id or subject}
    try:
        return reverse(name, args=[values[key] for key in takes])
    except NoReverseMatch:
        return ""
