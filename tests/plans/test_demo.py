"""The demo's plans come and go without a trace."""

import pytest

from gateway.callers import command_caller
from gateway.models import User
from openclaw_web.demo import build_demo, remove_demo
from plans.models import Confirmation, Intake, Plan, Revision, Run, Schedule


@pytest.mark.django_db
def test_the_demo_has_plans_at_each_stage_and_can_be_taken_away(tmp_path, settings):
    root = tmp_path / "demo"
    settings.OPENCLAW_STATE_DIR = root
    build_demo(root, caller=command_caller())
    states = set(Plan.objects.values_list("state", flat=True))
    assert {"awaiting", "active", "held", "changes"} <= states
    assert Run.objects.filter(outcome="held").count() == 1 and Intake.objects.count() == 1
    assert not Schedule.objects.filter(plan__state="held", next_due_at__isnull=False).exists()
    remove_demo(root, caller=command_caller())
    for model in (Plan, Revision, Confirmation, Schedule, Run, Intake):
        assert model.objects.count() == 0
    assert not User.objects.filter(username="demo-reviewer").exists()
    assert not root.exists()
