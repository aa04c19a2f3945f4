from plans.models.clock import Tick
from plans.models.intakes import Intake
from plans.models.plans import ChangeRequest, Confirmation, Plan, Revision
from plans.models.runs import Run
from plans.models.schedules import Schedule

__all__ = ["ChangeRequest", "Confirmation", "Intake", "Plan", "Revision", "Run", "Schedule", "Tick"]
