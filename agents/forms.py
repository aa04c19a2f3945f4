"""What an administrator types about an agent. The rules are the services'; here are only words and widgets."""

from django import forms
from django.utils.translation import gettext_lazy as _


class AgentForm(forms.Form):
    """Name, place and purpose of an agent made in the dashboard."""

    name = forms.CharField(
        label=_("Name"), required=False, help_text=_("What people call it. Empty: its id."), max_length=400
    )
    workspace = forms.CharField(
        label=_("Workspace"),
        required=False,
        max_length=2000,
        help_text=_("The absolute path of its folder. Empty: a folder of its own in the state dir."),
    )
    description = forms.CharField(
        label=_("What it is for"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 3})
    )


class MakeAgentForm(AgentForm):
    """The same, with the id that stays for ever."""

    agent_id = forms.CharField(
        label=_("Id"),
        max_length=200,
        help_text=_("a–z, 0–9, - and _. It is part of session keys and paths and cannot be changed later."),
    )
    field_order = ["agent_id", "name", "workspace", "description"]


FIELD_OF_CODE = {
    "bad_id": "agent_id",
    "id_taken": "agent_id",
    "bad_name": "name",
    "bad_workspace": "workspace",
}
