from django.db import models
from django.utils.translation import gettext_lazy as _


class Tick(models.Model):
    """The one row that remembers when the clock of plans last ticked: a longer silence means it was off."""

    at = models.DateTimeField(_("last tick"))

    class Meta:
        verbose_name = _("clock of plans")
        verbose_name_plural = _("clock of plans")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"
