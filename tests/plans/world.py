"""Small ways in which tests of the pages of plans change and read things."""

import re
from datetime import timedelta
from html import unescape

from django.utils import timezone

from plans.models import Plan, Run


def write_run(plan: Plan, outcome: str, *, ago: timedelta = timedelta(hours=1), **fields) -> Run:
    """A run of a confirmed plan that is over."""
    due = timezone.now() - ago
    return Run.objects.create(
        plan=plan,
        confirmation=plan.confirmations.first(),
        due_at=due,
        status=Run.Status.ENDED,
        outcome=outcome,
        started_at=fields.pop("started_at", due),
        ended_at=due + timedelta(seconds=90),
        **fields,
    )


def text_of(response) -> str:
    """The page as one line of text, without tags."""
    words = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S)
    return " ".join(unescape(words).split())
