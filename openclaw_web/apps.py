from django.apps import AppConfig


class OpenClawWebConfig(AppConfig):
    name = "openclaw_web"

    def ready(self) -> None:
        from openclaw_web import checks  # noqa: F401, PLC0415 (registered once the settings are there)
