from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class GatewayConfig(AppConfig):
    name = "gateway"
    verbose_name = _("Gateway")

    def ready(self) -> None:
        # Each app's methods and schedules, the way admin.py is found; gateway itself knows none of the apps.
        autodiscover_modules("rpc", "tasks")
