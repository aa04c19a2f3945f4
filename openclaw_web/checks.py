"""What must be true before anybody beyond this machine can connect."""

import ipaddress
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


def is_loopback(host: str) -> bool:
    """True for `localhost` and every address of 127.0.0.0/8 and ::1."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def insecure_reasons(config: Any) -> list[str]:
    """Sentences that say why listening on `config.LISTEN_HOST` is not safe; empty where it is."""
    if is_loopback(config.LISTEN_HOST):
        return []
    beyond = f"OPENCLAW_WEB_HOST is {config.LISTEN_HOST}, so other machines can connect, but"
    reasons = []
    if config.DEBUG:
        reasons.append(f"{beyond} DEBUG is on, which shows source code and settings to anyone.")
    if not config.HTTPS:
        reasons.append(f"{beyond} HTTPS is off: put a TLS proxy in front and set HTTPS=1.")
    if "*" in config.ALLOWED_HOSTS or all(is_loopback(host) for host in config.ALLOWED_HOSTS):
        reasons.append(f"{beyond} ALLOWED_HOSTS does not name the host names people will use.")
    if len(config.SECRET_KEY) < 50 or len(set(config.SECRET_KEY)) < 5:
        reasons.append(f"{beyond} SECRET_KEY is shorter than 50 characters or easy to guess.")
    return reasons


@register
def check_exposure(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The same reasons as a system check, for `manage.py check`."""
    return [Error(reason, id="openclaw_web.E001") for reason in insecure_reasons(settings)]
