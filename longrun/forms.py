"""The actions of a task's page. What is allowed is decided by the services; these only ask."""

from dataclasses import replace
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from longrun.models import Boundary, LongTask
from longrun.services.tasks import Report

_LINES = {"rows": 2}


class ActionForm(forms.Form):
    """One action; `state` is what the task becomes, `report` what is said of it."""

    state = ""
    why = forms.CharField(label=_("Why"), required=False, max_length=2000, widget=forms.Textarea(_LINES))

    def report(self) -> Report:
        said = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        return Report(**said)


class WaitingForm(ActionForm):
    state = "waiting"
    waiting_kind = forms.ChoiceField(
        label=_("How it waits"),
        choices=[choice for choice in LongTask.WaitingKind.choices if choice[0]],
        widget=forms.RadioSelect,
        initial="external",
    )
    waiting_for = forms.CharField(label=_("What is awaited outside"), required=False, max_length=500)
    next_check = forms.CharField(
        label=_("Look again"),
        required=False,
        max_length=60,
        help_text=_("A checkpoint or wake-up: 10m, 2h30m, 明天9点, 2026-12-01 09:00."),
    )
    field_order = ("waiting_kind", "waiting_for", "next_check", "why")

    def report(self) -> Report:
        # What a person types is meant by the clock that the page shows them.
        return replace(super().report(), zone=timezone.get_current_timezone_name())


class BlockForm(ActionForm):
    state = "blocked"
    stuck_at = forms.CharField(label=_("Where is it stuck?"), max_length=2000)
    missing = forms.CharField(label=_("What is missing?"), max_length=2000)
    suggestion = forms.CharField(label=_("What do you suggest as the next step?"), max_length=2000)
    field_order = ("stuck_at", "missing", "suggestion", "why")


class HandoffForm(ActionForm):
    state = "handoff"
    boundary = forms.ModelChoiceField(
        label=_("Boundary"), queryset=Boundary.objects.all(), to_field_name="name", empty_label=None
    )
    field_order = ("boundary", "why")

    def report(self) -> Report:
        return Report(boundary=self.cleaned_data["boundary"].name, why=self.cleaned_data["why"])


class ResumeForm(ActionForm):
    state = "executing"
    note = forms.CharField(label=_("Next step"), required=False, max_length=2000)
    field_order = ("note", "why")


class DoneForm(ActionForm):
    state = "done"


FORMS: dict[str, type[ActionForm]] = {
    "waiting": WaitingForm,
    "blocked": BlockForm,
    "handoff": HandoffForm,
    "resume": ResumeForm,
    "done": DoneForm,
}


def action_forms(task: LongTask, failed: str = "", bound: ActionForm | None = None) -> dict[str, Any]:
    """A form for every action that this task can take now; `bound` is the one that was refused."""
    return {
        name: bound
        if name == failed and bound is not None
        else form(prefix=name, initial={"note": task.note})
        for name, form in FORMS.items()
    }
