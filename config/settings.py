"""The installation, read from the environment; every setting has a safe default for one machine."""

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from environs import Env
from kombu import Exchange, Queue

from config import embedded, environment, logs
from config.servers import CannotStart

django_stubs_ext.monkeypatch()  # lets classes of Django be written with their type, as in ModelAdmin[User]

BASE_DIR = Path(__file__).resolve().parent.parent

# What the environment says

_env = Env(eager=False)

DEBUG = _env.bool("DEBUG", False)
SECRET_KEY = _env.str("SECRET_KEY", "")
PORT = _env.int("PORT", 8000, validate=environment.between(1, 65535))
BASE_URL = _env.str("BASE_URL", f"http://127.0.0.1:{PORT}", validate=environment.is_web_address)
ALLOWED_HOSTS: list[str] = _env.list("ALLOWED_HOSTS", [], validate=environment.is_named_host_list)
VAR_DIR = BASE_DIR / _env.str("VAR_DIR", "var")
DATABASE_URL = _env.str("DATABASE_URL", "", validate=environment.is_database_url)
REDIS_URL = _env.str("REDIS_URL", "", validate=environment.is_redis_url)
CELERY_BROKER_URL = _env.str("CELERY_BROKER_URL", "", validate=environment.is_redis_url)
STATEMENT_TIMEOUT_SECONDS = _env.int("STATEMENT_TIMEOUT_SECONDS", 30, validate=environment.between(0, 86_400))
LOG_LEVEL = _env.str("LOG_LEVEL", "INFO", validate=environment.is_one_of(*environment.LOG_LEVELS))
# How many proxies stand in front of the web server, each adding the address it saw to X-Forwarded-For.
TRUSTED_PROXIES = _env.int("TRUSTED_PROXIES", 0, validate=environment.between(0, 10))
CONVERSATIONS_PER_ADDRESS_AND_HOUR = _env.int(
    "CONVERSATIONS_PER_ADDRESS_AND_HOUR", 60, validate=environment.between(1, 1_000_000)
)
LEAST_SECONDS_TO_FIRST_ANSWER = _env.float(
    "LEAST_SECONDS_TO_FIRST_ANSWER", 1.0, validate=environment.between(0, 60)
)
WEBHOOKS_ALLOW_HTTP = _env.bool("WEBHOOKS_ALLOW_HTTP", False)
WEBHOOKS_ALLOW_PRIVATE_NETWORKS = _env.bool("WEBHOOKS_ALLOW_PRIVATE_NETWORKS", False)
# Deliveries that one worker sends at one time.
WEBHOOKS_THREADS = _env.int("WEBHOOKS_THREADS", 16, validate=environment.between(1, 500))
METRICS = _env.bool("METRICS", False)
METRICS_TOKEN: str | None = _env.str("METRICS_TOKEN", None, validate=environment.is_token)
ANTHROPIC_API_KEY = _env.str("ANTHROPIC_API_KEY", "", validate=environment.is_blank_or_token)
ANTHROPIC_BASE_URL = _env.str("ANTHROPIC_BASE_URL", "", validate=environment.is_base_url)
# One model for all; without it each kind of work has its own (surveys/ai/claude).
ANTHROPIC_MODEL = _env.str("ANTHROPIC_MODEL", "", validate=environment.is_blank_or_token)
AI_PROVIDER = _env.str("AI_PROVIDER", "", validate=environment.is_one_of("", "anthropic", "local"))
# Scripts and analyses that one worker is at, at one time.
AI_THREADS = _env.int("AI_THREADS", 8, validate=environment.between(1, 100))
CREDITS_FOR_A_SCRIPT = _env.int("CREDITS_FOR_A_SCRIPT", 1, validate=environment.between(0, 1_000_000))
CREDITS_FOR_100_TEXTS = _env.int("CREDITS_FOR_100_TEXTS", 1, validate=environment.between(0, 1_000_000))
SECONDS_TO_WAIT_FOR_A_SCRIPT = _env.float(
    "SECONDS_TO_WAIT_FOR_A_SCRIPT", 60.0, validate=environment.between(0, 600)
)

environment.stop_at_wrong_values(_env)
AI_PROVIDER = AI_PROVIDER or ("anthropic" if ANTHROPIC_API_KEY else "local")
if AI_PROVIDER == "anthropic" and not ANTHROPIC_API_KEY:
    environment.stop(["AI_PROVIDER cannot be anthropic without ANTHROPIC_API_KEY."])

# What follows from it

_site = urlsplit(BASE_URL)
_is_secure = _site.scheme == "https"
BASE_URL = BASE_URL.rstrip("/")
ALLOWED_HOSTS = ALLOWED_HOSTS or ["localhost", "127.0.0.1", "[::1]", str(_site.hostname)]
CSRF_TRUSTED_ORIGINS = [f"{_site.scheme}://{_site.netloc}"]

if os.environ.get("COLLOQUY_SERVERS") == "none":  # manage.py says so for commands like collectstatic
    DATABASE_URL = DATABASE_URL or "postgresql:///no-database"
    REDIS_URL = REDIS_URL or "redis://no-redis"
try:
    DATABASE_URL = DATABASE_URL or embedded.attach("postgres", var_dir=VAR_DIR)
    REDIS_URL = REDIS_URL or embedded.attach("valkey", var_dir=VAR_DIR)
except CannotStart as failure:
    environment.stop([str(failure)])

_is_for_this_machine = _site.hostname in {"localhost", "127.0.0.1", "::1"}
SECRET_KEY = SECRET_KEY or environment.secret_key(
    VAR_DIR / "secret_key", debug=DEBUG, may_make=_is_for_this_machine
)
if SECRET_KEY == environment.KEY_FOR_DEVELOPMENT and not DEBUG:
    environment.stop(["SECRET_KEY cannot be used: it is the one for development, which everybody knows."])

# Django

INSTALLED_APPS = [
    "config",
    "communities",
    "webhooks",
    "xp",
    "surveys",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",  # for its static file, htmx itself
]
AUTH_USER_MODEL = "communities.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

MIDDLEWARE = [
    "config.metrics.MetricsMiddleware",  # around all others; absent where METRICS is off
    "surveys.pages.security.SecurityHeadersMiddleware",  # first: no other layer's refusal goes without
    "communities.http.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        # Our own pages: the next question is drawn in 0.12 ms of CPU, which took Django's templates 0.38.
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {"environment": "config.templating.environment"},
    },
    {
        # The admin's.
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Kept data

DATABASES = {
    "default": environment.django_database(DATABASE_URL, statement_timeout=STATEMENT_TIMEOUT_SECONDS)
}
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "colloquy",
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 1, "SOCKET_TIMEOUT": 1},
    },
}

# Static files: hashed names and far expiry where they were collected, else straight from the apps

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [folder for folder in (BASE_DIR / "static",) if folder.exists()]
_are_collected = not DEBUG and (STATIC_ROOT / "staticfiles.json").exists()
_is_collecting = sys.argv[1:2] == ["collectstatic"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if _are_collected or _is_collecting
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not _are_collected
WHITENOISE_AUTOREFRESH = not _are_collected  # looks for a file when it is asked for, not for all at the start

# Safety

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _is_secure
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True  # forms carry the token themselves
SECURE_HSTS_SECONDS = 31_536_000 if _is_secure else 0
SECURE_REDIRECT_EXEMPT = [
    r"^healthz$",
    r"^readyz$",
    r"^metrics$",
]  # asked by machines beside this one, without TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576
SILENCED_SYSTEM_CHECKS = [
    "security.W002",  # the Content-Security-Policy refuses frames, and knows the pages that may be framed
    "security.W005",  # whether other names below this one use TLS is not ours to say
    "security.W021",  # nor whether browsers shall remember that for ever
]

# The interface

REST_FRAMEWORK = {
    # All closed: what opens the interface is communities.http.views.CommunityViewSet.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "communities.http.schema.AutoSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "rest_framework.negotiation.DefaultContentNegotiation",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%SZ",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Colloquy",
    "DESCRIPTION": "Conversational surveys and polls.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    # Choices stay where they are used: the usual hook names them after fields, and many are called `status`.
    "POSTPROCESSING_HOOKS": ["communities.http.schema.add_components", "surveys.api.schema.add_components"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# Work for later: rows are the truth, Celery only wakes those who look at them

# Not under the name of the variable: Celery reads that itself, and knows no Unix socket by our spelling.
CELERY_BROKER_READ_URL = CELERY_BROKER_WRITE_URL = environment.celery_broker(CELERY_BROKER_URL or REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
}
# Three workers: what endpoints and models keep waiting, a pool of threads each works off. Messages are not
# acknowledged, as they only wake: what they were about is found again in the rows, and a worker has nothing
# to give back.
CELERY_TASK_QUEUES = [
    Queue(name, Exchange(name), routing_key=name, no_ack=True) for name in ("celery", "webhooks", "ai")
]
# Where that of webhooks is down its sweep waits with the rest, and wakes do not pile up. Jobs of AI are swept
# by another, which is free to end them when all threads are kept waiting.
CELERY_TASK_ROUTES = {
    "surveys.make_script": {"queue": "ai"},
    "surveys.run_analysis": {"queue": "ai"},
    "webhooks.deliver": {"queue": "webhooks"},
    "webhooks.sweep": {"queue": "webhooks"},
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SOFT_TIME_LIMIT = 300  # not for threads, which cannot be ended: each step there has its own limit
CELERY_TASK_TIME_LIMIT = 330
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 3  # seconds to finish in; what is not finished is found again
CELERY_WORKER_ENABLE_SOFT_SHUTDOWN_ON_IDLE = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_DB_REUSE_MAX = 1_000_000_000  # or Celery would connect to the database anew for each task
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

# Log

LOGGING_CONFIG = "config.logs.configure"
LOGGING = logs.settings(debug=DEBUG, level=LOG_LEVEL)
