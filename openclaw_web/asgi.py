"""What uvicorn serves."""

import os

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
django.setup(set_prefix=False)

from openclaw_web.checks import insecure_reasons  # noqa: E402 (the settings must be set up first)
from openclaw_web.handler import serve_here  # noqa: E402

if reasons := insecure_reasons(settings):
    raise ImproperlyConfigured("Not started, because it would be insecure: " + " ".join(reasons))
application = serve_here()
