"""What uvicorn serves."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
application = get_asgi_application()

from openclaw_web.checks import insecure_reasons  # noqa: E402 (the settings must be set up first)

if reasons := insecure_reasons(settings):
    raise ImproperlyConfigured("Not started, because it would be insecure: " + " ".join(reasons))
