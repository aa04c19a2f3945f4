from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LongRunConfig(AppConfig):
    name = "longrun"
    verbose_name = _("Long-run tasks")
