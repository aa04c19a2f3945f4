from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class ArchivesConfig(AppConfig):
    name = "archives"
    verbose_name = _("Archives")

    def ready(self) -> None:
        # What an archive belongs to is told by the apps above: see archives.links.
        autodiscover_modules("archive_links")
