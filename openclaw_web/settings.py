"""Settings, all from the environment, with defaults that are safe on a fresh machine.

Every variable read here stands in the table of docs/settings.md; a test compares the two.
"""

from pathlib import Path

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from openclaw_web.paths import read_or_make_secret

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

# -- where things live
OPENCLAW_STATE_DIR = Path(env.str("OPENCLAW_STATE_DIR", "~/.openclaw")).expanduser().absolute()
# As text: empty means openclaw.json in the state dir, wherever that is.
OPENCLAW_CONFIG_PATH = env.str("OPENCLAW_CONFIG_PATH", "").strip()
DATA_DIR = Path(env.str("OPENCLAW_WEB_DATA_DIR", str(BASE_DIR / "var"))).expanduser().absolute()

# -- who may connect
DEBUG = env.bool("DEBUG", False)
LISTEN_HOST = env.str("OPENCLAW_WEB_HOST", "127.0.0.1")
LISTEN_PORT = env.int("OPENCLAW_WEB_PORT", 8000)
HTTPS = env.bool("HTTPS", False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=[])
PROXY_USER_HEADER = env.str("PROXY_USER_HEADER", "")
SECRET_KEY = env.str("SECRET_KEY", "") or read_or_make_secret(DATA_DIR / "secret_key")

INSTALLED_APPS = [
    "openclaw_web",
    "longrun",
    "workshop",
    "plans",
    "agents",
    "archives",
    "gateway",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "axes",
    "csp",
    "django_htmx",
    "django_q",
    "lucide",
    "template_partials",
]

MIDDLEWARE = [
    "gateway.middleware.request_id",
    "gateway.middleware.CompressPages",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gateway.middleware.proxy_sign_in",
    "gateway.middleware.reader",
    "gateway.middleware.no_nul",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "openclaw_web.urls"
ASGI_APPLICATION = "openclaw_web.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n", "django.templatetags.static"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "openclaw_web.frame.frame",
            ],
        },
    },
]

# -- database: SQLite beside us, or PostgreSQL by DATABASE_URL
DATABASES = {"default": env.db("DATABASE_URL", f"sqlite:///{DATA_DIR / 'openclaw-web.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        # A write transaction takes its lock at the start, so two writers wait for each other
        # instead of one failing when a read turns into a write.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;",
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"]["CONN_MAX_AGE"] = env.int("DATABASE_CONN_MAX_AGE", 60)
# The threads in which one web process answers pages and methods; each keeps a database connection.
WEB_THREADS = env.int("WEB_THREADS", 16)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    # Seen by web and cluster alike: Django-Q's cluster status lives here.
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "openclaw_web_cache",
    },
    # One process's own: rendered Markdown, parsed files.
    "local": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 2000},
    },
}

# -- background work (Django-Q2)
Q_TASK_SECONDS = env.int("Q_TASK_SECONDS", 1800)
if Q_TASK_SECONDS < 60:
    raise ImproperlyConfigured("Q_TASK_SECONDS must be at least 60")
Q_CLUSTER = {
    "name": "openclaw",
    "label": _("Background work"),
    "workers": env.int("Q_WORKERS", 2),
    "timeout": Q_TASK_SECONDS,
    # A task is handed out again only after it must have ended, and a failed one never by the broker:
    # whether something runs a second time is decided in our own tables. The clock runs from the moment
    # it is taken off the broker: it may wait there for two tasks before it (queue_limit) and then run.
    "retry": 3 * Q_TASK_SECONDS + 120,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "recycle": 200,
    "queue_limit": env.int("Q_WORKERS", 2),
    # Each finished task reads all kept ones (django_q.monitor.save_task), so few are kept.
    "save_limit": 200,
    "guard_cycle": 1,
    "poll": 0.5,  # with the clock's own half second, a plan starts within about two seconds
    "cache": "default",
    # Agents' turns take minutes to hours. They have a queue and workers of their own (`Q_CLUSTER_NAME=turns`), so
    # that the clock, keepalive and watchdog never wait behind them.
    "ALT_CLUSTERS": {
        "turns": {
            "workers": env.int("RUN_WORKERS", 4),
            "timeout": 86400 + 600,
            "retry": 3 * 86400,  # as above: it may wait for two turns of a day each
            "queue_limit": 4,
            "recycle": 50,
        }
    },
}
if Q_BROKER_URL := env.str("Q_BROKER_URL", ""):
    Q_CLUSTER["redis"] = Q_BROKER_URL
else:
    Q_CLUSTER["orm"] = "default"

# -- messages to sessions (gateway.deliveries)
OPENCLAW_BIN = env.str("OPENCLAW_BIN", "openclaw")
RUNNER = env.str("RUNNER", "")  # empty: the first that is ready
RUNNER_COMMAND = env.str(
    "RUNNER_COMMAND",
    "{openclaw} agent --agent {agent} --session-key {session} --message {message} --timeout {timeout} --json",
)
DELIVERY_TIMEOUT_SECONDS = env.int("DELIVERY_TIMEOUT_SECONDS", 30)
DELIVERY_COOLDOWN_SECONDS = env.int("DELIVERY_COOLDOWN_SECONDS", 120)

# -- what is kept for how long (gateway.retention)
EVENT_DAYS = env.int("EVENT_DAYS", 90)
AUDIT_DAYS = env.int("AUDIT_DAYS", 730)
RUN_DAYS = env.int("RUN_DAYS", 400)

# -- Workshop
# Programs that judge a proposal: [{"id": "lint", "command": ["skill-lint", "--json"], "timeout": 60}]
WORKSHOP_EVALUATORS = env.json("WORKSHOP_EVALUATORS", default=[])
# How many generations of a decided proposal stay on the disk beside the last one; 0 keeps all of them.
WORKSHOP_KEEP_GENERATIONS = env.int("WORKSHOP_KEEP_GENERATIONS", 0)
# Off: an update is bound to SKILL.md and the files it names only, as a real OpenClaw binds it.
WORKSHOP_BIND_WHOLE_TARGET = env.bool("WORKSHOP_BIND_WHOLE_TARGET", True)

# -- long-run tasks (longrun)
LONG_RUN_MODE_AUTO_RESUME = env.bool("LONG_RUN_MODE_AUTO_RESUME", False)
OPENCLAW_SESSIONS_FILE = env.str("OPENCLAW_SESSIONS_FILE", "")

# -- people
AUTH_USER_MODEL = "gateway.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "signin"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "signin"
SESSION_COOKIE_AGE = env.int("SESSION_HOURS", 24 * 7) * 3600
SESSION_COOKIE_NAME = "openclaw_web_session"
SESSION_COOKIE_SAMESITE = "Lax"
AXES_FAILURE_LIMIT = env.int("SIGNIN_FAILURE_LIMIT", 6)
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "gateway.signin.locked_out"
AXES_CLIENT_IP_CALLABLE = "gateway.callers.client_address"
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False  # the audit trail shows sign-ins

# -- the browser's rules
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 30 * 86400 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS and TRUSTED_PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "openclaw_web.errors.csrf_failure"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

# -- language and time: stored in UTC; shown in the reader's zone
LANGUAGE_CODE = env.str("DEFAULT_LANGUAGE", "en")
LANGUAGES = [("zh-hans", "中文"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "openclaw_web" / "locale"]
FORMAT_MODULE_PATH = ["openclaw_web.formats"]
USE_TZ = True
TIME_ZONE = "UTC"  # Django-Q computes with this clock; never a zone with a repeated hour
READER_TIME_ZONE = env.str("READER_TIME_ZONE", "UTC")

# -- files sent to browsers
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# -- logs: lines on standard error, each with its request id
LOG_JSON = env.bool("LOG_JSON", False)
LOG_LEVEL = env.str("LOG_LEVEL", "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "openclaw_web.logs.RequestIdFilter"}},
    "formatters": {
        "line": {"()": "openclaw_web.logs.LineFormatter"},
        "json": {"()": "openclaw_web.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["request_id"],
            "formatter": "json" if LOG_JSON else "line",
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.server": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        # Its INFO lines tell of every task and would bury the one line with the setup code.
        "django-q": {"handlers": [], "level": "WARNING", "propagate": True},
        "axes": {"level": "WARNING"},
    },
}
