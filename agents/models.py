"""What the dashboard itself knows about agents: those made here, and the last good roster of openclaw.json."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class MadeAgent(models.Model):
    """An agent made in the dashboard. One of the same id in openclaw.json goes before it."""

    agent_id = models.CharField(_("id"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=200)
    workspace = models.CharField(_("workspace"), max_length=1000, help_text=_("Absolute path of its folder."))
    description = models.CharField(_("description"), max_length=1000, blank=True)
    made_by = models.CharField(_("made by"), max_length=200)
    made_at = models.DateTimeField(_("made at"), auto_now_add=True)

    class Meta:
        verbose_name = _("agent made here")
        verbose_name_plural = _("agents made here")
        ordering = ["agent_id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(agent_id__regex=r"^[a-z0-9][a-z0-9_-]{0,63}$"), name="made_agent_id_is_normal"
            ),
            models.CheckConstraint(
                condition=Q(workspace__startswith="/"), name="made_agent_workspace_is_absolute"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GoodRoster(models.Model):
    """The last roster that could be read from one openclaw.json; shown while that file is broken.

    `agents`: a list of `{id, name, workspace, agent_dir, source, description, model}`, in the file's order.
    """

    source = models.CharField(_("file"), max_length=1000, unique=True)
    agents = models.JSONField(_("agents"))
    default_id = models.CharField(_("default agent"), max_length=64, blank=True)
    ownership = models.CharField(_("ownership"), max_length=16)
    selection_required = models.BooleanField(_("must be named"))
    session_scope = models.CharField(_("session scope"), max_length=40)
    read_at = models.DateTimeField(_("read at"))

    class Meta:
        verbose_name = _("last good roster")
        verbose_name_plural = _("last good rosters")

    def __str__(self) -> str:
        return self.source
