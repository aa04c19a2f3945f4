from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """Somebody who signs in, and how they like to read. Roles are groups (`gateway.callers.ROLES`)."""

    class Theme(models.TextChoices):
        SYSTEM = "", _("like the system")
        LIGHT = "light", _("light")
        DARK = "dark", _("dark")

    language = models.CharField(_("language"), max_length=16, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True)
    theme = models.CharField(_("theme"), max_length=8, blank=True, choices=Theme, default=Theme.SYSTEM)

    class Meta(AbstractUser.Meta):  # type: ignore[name-defined]
        verbose_name = _("person")  # type: ignore[assignment]
        verbose_name_plural = _("people")  # type: ignore[assignment]


class SetupCode(models.Model):
    """The one-time code that lets the first administrator in. Only its hash is kept."""

    digest = models.CharField(_("SHA-256"), max_length=64, unique=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    tries = models.PositiveIntegerField(_("wrong tries since"), default=0)
    used_at = models.DateTimeField(_("used"), null=True, blank=True)

    class Meta:
        verbose_name = _("setup code")
        verbose_name_plural = _("setup codes")

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M}"
