"""Many confirmed and scheduled plans, written row by row in the only order the database allows."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from gateway.models import User
from plans.models import Confirmation, Plan, Revision, Schedule
from plans.planfile_write import task_message


def make_crowd(
    count: int, person: User, *, now: datetime, due_at: Callable[[int], datetime], agent_id: str = "main"
) -> None:
    """`count` active plans of one agent, each due every day; `due_at(number)` is its next due instant."""
    digest, written, yes = "a" * 64, now - timedelta(days=2), now - timedelta(days=1)
    with transaction.atomic():
        plans = Plan.objects.bulk_create(
            (
                Plan(agent_id=agent_id, archive_id=f"crowd-{n}", task_id=str(uuid.uuid4()), name=f"Plan {n}")
                for n in range(count)
            ),
            batch_size=500,
        )
        revisions = Revision.objects.bulk_create(
            (
                Revision(
                    plan=plan, number=1, content=b"x", text="x", file_digest=digest, origin="disk", made_by="crowd",
                    created_at=written,
                )
                for plan in plans
            ),
            batch_size=500,
        )  # fmt: skip
        confirmations = Confirmation.objects.bulk_create(
            (
                Confirmation(
                    plan=plan,
                    revision=revision,
                    digest=digest,
                    person=person,
                    request_id="yes",
                    confirmed_at=yes,
                )
                for plan, revision in zip(plans, revisions, strict=True)
            ),
            batch_size=500,
        )
        Schedule.objects.bulk_create(
            (
                Schedule(
                    plan=plan, confirmation=confirmation, kind="cron", zone="Asia/Shanghai", next_due_at=due_at(n),
                    expr=f"{due_at(n).minute} {(due_at(n).hour + 8) % 24} * * *",
                    message=task_message(plan.archive_id, plan.task_id),
                )
                for n, (plan, confirmation) in enumerate(zip(plans, confirmations, strict=True))
            ),
            batch_size=500,
        )  # fmt: skip
        for plan, revision in zip(plans, revisions, strict=True):
            plan.current, plan.state = revision, Plan.State.ACTIVE
        Plan.objects.bulk_update(plans, ["current", "state"], batch_size=250)
