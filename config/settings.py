"""Django's settings, read from environment variables. Every default is safe for a single machine."""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from environs import Env
from kombu import Exchange, Queue

from config import embedded, environment, logs
from config.servers import CannotStart

# Python's default is 700. With it, a process spends a sixth of its start on garbage collection of objects
# that it has just loaded.
gc.set_threshold(10_000)
django_stubs_ext.monkeypatch()  # The call allows type parameters at runtime, as in ModelAdmin[User].

BASE_DIR = Path(__file__).resolve().parent.parent
# The folder with the data of this installation: that of the sources, or the current one for a package.
HOME_DIR = BASE_DIR if (BASE_DIR / "manage.py").exists() else Path.cwd()

# Environment variables

_env = Env(eager=False)

DEBUG = _env.bool("DEBUG", False)
SECRET_KEY = _env.str("SECRET_KEY", "")
# Earlier keys, which still read what they have sealed or signed.
SECRET_KEY_FALLBACKS: list[str] = _env.list("SECRET_KEY_FALLBACKS", [], validate=environment.are_secret_keys)
PORT = _env.int("PORT", 8000, validate=environment.between(1, 65535))
BIND = _env.str("BIND", "127.0.0.1", validate=environment.is_bind_address)
WEB_CONCURRENCY = _env.int("WEB_CONCURRENCY", 2, validate=environment.between(1, 1000))
WEB_WORKER = _env.str("WEB_WORKER", "colloquy", validate=environment.is_one_of("colloquy", "gthread"))
# A web process is replaced after this many requests plus up to a quarter; 0 means never.
WEB_MAX_REQUESTS = _env.int("WEB_MAX_REQUESTS", 20_000, validate=environment.between(0, 100_000_000))
# The limits for slow clients. A request's body and a response get one second more for every 16 KiB.
_seconds = environment.between(0.1, 600)
SECONDS_TO_SEND_A_HEADER = _env.float("SECONDS_TO_SEND_A_HEADER", 10.0, validate=_seconds)
SECONDS_TO_SEND_A_BODY = _env.float("SECONDS_TO_SEND_A_BODY", 10.0, validate=_seconds)
SECONDS_TO_READ_A_RESPONSE = _env.float("SECONDS_TO_READ_A_RESPONSE", 30.0, validate=_seconds)
SECONDS_BETWEEN_REQUESTS = _env.float("SECONDS_BETWEEN_REQUESTS", 60.0, validate=_seconds)
# Limits of one web process: the connections, and the bytes of requests and of responses that it buffers for
# the connections.
WEB_CONNECTIONS = _env.int("WEB_CONNECTIONS", 4000, validate=environment.between(10, 100_000))
WEB_BUFFER = _env.int("WEB_BUFFER", 67_108_864, validate=environment.between(2_097_152, 2**40))
BASE_URL = _env.str("BASE_URL", f"http://127.0.0.1:{PORT}", validate=environment.is_web_address)
ALLOWED_HOSTS: list[str] = _env.list("ALLOWED_HOSTS", [], validate=environment.is_named_host_list)
VAR_DIR = HOME_DIR / _env.str("VAR_DIR", "var")
DATABASE_URL = _env.str("DATABASE_URL", "", validate=environment.is_database_url)
# A streaming replica for big readings, and the seconds that a reading waits until the replica has caught up.
DATABASE_REPLICA_URL = _env.str("DATABASE_REPLICA_URL", "", validate=environment.is_database_url)
DATABASE_REPLICA_SECONDS = _env.float("DATABASE_REPLICA_SECONDS", 0.5, validate=environment.between(0, 10))
REDIS_URL = _env.str("REDIS_URL", "", validate=environment.is_redis_url)
CELERY_BROKER_URL = _env.str("CELERY_BROKER_URL", "", validate=environment.is_redis_url)
STATEMENT_TIMEOUT_SECONDS = _env.int("STATEMENT_TIMEOUT_SECONDS", 30, validate=environment.between(0, 86_400))
PREPARED_STATEMENTS = _env.bool("PREPARED_STATEMENTS", True)
LOG_LEVEL = _env.str("LOG_LEVEL", "INFO", validate=environment.is_one_of(*environment.LOG_LEVELS))
# Proxies in front of the web server. Each proxy appends its client's address to X-Forwarded-For.
TRUSTED_PROXIES = _env.int("TRUSTED_PROXIES", 0, validate=environment.between(0, 10))
# Beyond these limits, people who begin a conversation on an open page first do a proof of work.
CONVERSATIONS_PER_ADDRESS_AND_MINUTE = _env.int(
    "CONVERSATIONS_PER_ADDRESS_AND_MINUTE", 30, validate=environment.between(1, 1_000_000)
)
CONVERSATIONS_PER_PROJECT_AND_MINUTE = _env.int(
    "CONVERSATIONS_PER_PROJECT_AND_MINUTE", 300, validate=environment.between(1, 1_000_000)
)
PROOF_OF_WORK_HASHES = _env.int("PROOF_OF_WORK_HASHES", 50_000, validate=environment.between(1, 10_000_000))
# The first limit is two moves a second. The second is for 300 people behind one address, who answer ten
# questions a minute.
MOVES_PER_VISITOR_AND_MINUTE = _env.int(
    "MOVES_PER_VISITOR_AND_MINUTE", 120, validate=environment.between(1, 1_000_000)
)
MOVES_PER_ADDRESS_AND_MINUTE = _env.int(
    "MOVES_PER_ADDRESS_AND_MINUTE", 3_000, validate=environment.between(1, 1_000_000)
)
# The limit of `give_xp` blocks in scripts of creators; admins may write more.
XP_PER_COMPLETION_BY_CREATORS = _env.int(
    "XP_PER_COMPLETION_BY_CREATORS", 1_000, validate=environment.between(0, 1_000_000)
)
LEAST_SECONDS_TO_FIRST_ANSWER = _env.float(
    "LEAST_SECONDS_TO_FIRST_ANSWER", 1.0, validate=environment.between(0, 60)
)
WEBHOOKS_ALLOW_HTTP = _env.bool("WEBHOOKS_ALLOW_HTTP", False)
WEBHOOKS_ALLOW_PRIVATE_NETWORKS = _env.bool("WEBHOOKS_ALLOW_PRIVATE_NETWORKS", False)
# One worker sends this many deliveries concurrently.
WEBHOOKS_THREADS = _env.int("WEBHOOKS_THREADS", 32, validate=environment.between(1, 500))
# The bytes of a picture's file and of our copy, and the bytes of all copies of a community.
PICTURE_BYTES = _env.int("PICTURE_BYTES", 2_097_152, validate=environment.between(1_024, 33_554_432))
PICTURES_BYTES_PER_COMMUNITY = _env.int(
    "PICTURES_BYTES_PER_COMMUNITY", 209_715_200, validate=environment.between(1_024, 2**40)
)
PICTURES_ALLOW_PRIVATE_NETWORKS = _env.bool("PICTURES_ALLOW_PRIVATE_NETWORKS", False)
METRICS = _env.bool("METRICS", False)
# The address of a collector; the packages of the extra `telemetry` read more variables that begin with OTEL_.
OTEL_EXPORTER_OTLP_ENDPOINT = _env.str(
    "OTEL_EXPORTER_OTLP_ENDPOINT", "", validate=environment.is_telemetry_address
)
METRICS_TOKEN: str | None = _env.str("METRICS_TOKEN", None, validate=environment.is_token)
ANTHROPIC_API_KEY = _env.str("ANTHROPIC_API_KEY", "", validate=environment.is_blank_or_token)
ANTHROPIC_BASE_URL = _env.str("ANTHROPIC_BASE_URL", "", validate=environment.is_base_url)
# If the variable is blank, each kind of work uses its own model (surveys/ai/claude).
ANTHROPIC_MODEL = _env.str("ANTHROPIC_MODEL", "", validate=environment.is_blank_or_token)
# The settings of OpenAI, or of a server with the same interface, such as a local server. If only the key is
# set, OpenAI itself is used.
OPENAI_API_KEY = _env.str("OPENAI_API_KEY", "", validate=environment.is_blank_or_token)
OPENAI_BASE_URL = _env.str("OPENAI_BASE_URL", "", validate=environment.is_base_url)
OPENAI_MODEL = _env.str("OPENAI_MODEL", "", validate=environment.is_blank_or_token)
AI_PROVIDER = _env.str("AI_PROVIDER", "", validate=environment.is_one_of("", "anthropic", "openai", "local"))
# One worker runs this many scripts and analyses concurrently.
AI_THREADS = _env.int("AI_THREADS", 8, validate=environment.between(1, 100))
# The minimum is 14 days, because an invitation is valid for 14 days, and the trail records the decisions of
# staff since it was sent.
AUDIT_DAYS = _env.int("AUDIT_DAYS", 365, validate=environment.between(14, 36_500))
# Without a body an event says little; bodies are deleted after 30 days.
EVENT_DAYS = _env.int("EVENT_DAYS", 90, validate=environment.between(31, 36_500))
UNANSWERED_DAYS = _env.int("UNANSWERED_DAYS", 30, validate=environment.between(2, 36_500))
CREDITS_FOR_A_SCRIPT = _env.int("CREDITS_FOR_A_SCRIPT", 1, validate=environment.between(0, 1_000_000))
CREDITS_FOR_A_QUESTION = _env.int("CREDITS_FOR_A_QUESTION", 1, validate=environment.between(0, 1_000_000))
AI_CALLS_AT_ONCE = _env.int("AI_CALLS_AT_ONCE", 4, validate=environment.between(1, 32))
# With 0, every answer is read by single calls.
AI_BULK_FROM = _env.int("AI_BULK_FROM", 0, validate=environment.between(0, 1_000_000_000))
AI_JOBS_PER_COMMUNITY_AND_HOUR = _env.int(
    "AI_JOBS_PER_COMMUNITY_AND_HOUR", 60, validate=environment.between(1, 1_000_000)
)
CREDITS_FOR_100_TEXTS = _env.int("CREDITS_FOR_100_TEXTS", 1, validate=environment.between(0, 1_000_000))
CREDITS_FOR_10_FOLLOW_UPS = _env.int(
    "CREDITS_FOR_10_FOLLOW_UPS", 1, validate=environment.between(0, 1_000_000)
)
# Anybody who answers can cause further questions. These credits remain for scripts and analyses.
CREDITS_KEPT_FROM_FOLLOW_UPS = _env.int(
    "CREDITS_KEPT_FROM_FOLLOW_UPS", 5, validate=environment.between(0, 1_000_000)
)
FOLLOW_UPS_PER_COMMUNITY_AND_HOUR = _env.int(
    "FOLLOW_UPS_PER_COMMUNITY_AND_HOUR", 600, validate=environment.between(1, 1_000_000)
)
FOLLOW_UPS_PER_PROJECT_AND_DAY = _env.int(
    "FOLLOW_UPS_PER_PROJECT_AND_DAY", 500, validate=environment.between(1, 1_000_000)
)
FOLLOW_UP_SECONDS = _env.int("FOLLOW_UP_SECONDS", 6, validate=environment.between(1, 60))
MINUTES_UNTIL_A_FOLLOW_UP_IS_SKIPPED = _env.int(
    "MINUTES_UNTIL_A_FOLLOW_UP_IS_SKIPPED", 30, validate=environment.between(1, 10_000)
)
SECONDS_TO_WAIT_FOR_A_SCRIPT = _env.float(
    "SECONDS_TO_WAIT_FOR_A_SCRIPT", 60.0, validate=environment.between(0, 600)
)

EMAIL_URL = _env.str("EMAIL_URL", "", validate=environment.is_mail_url)
EMAIL_FROM = _env.str("EMAIL_FROM", "", validate=environment.is_blank_or_sender)
# The limit is for links and invitations to addresses that the reader's account has not confirmed.
UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = _env.int(
    "UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY", 1_000, validate=environment.between(0, 1_000_000)
)
# Identity providers. Each provider with credentials is offered. The game store has a key, and no client id.
SIGN_IN_PROVIDERS = {
    provider: environment.sign_in_provider(_env, provider)
    for provider in ("chat", "video", "streaming", "game_store", "membership")
}
_chat = environment.chat_application(_env)
# The hours without a visit after which a session ends, and the hours after which a session ends in any case.
_hours = environment.between(1, 24 * 366)
SESSION_HOURS = (
    _env.int("SESSION_IDLE_HOURS", 24 * 14, validate=_hours),
    _env.int("SESSION_MAX_HOURS", 24 * 90, validate=_hours),
)
STAFF_SESSION_HOURS = (
    _env.int("STAFF_SESSION_IDLE_HOURS", 24, validate=_hours),
    _env.int("STAFF_SESSION_MAX_HOURS", 24 * 7, validate=_hours),
)

environment.stop_on_wrong_values(_env)
if _faults := [
    *environment.half_configured_providers(SIGN_IN_PROVIDERS),
    *environment.missing_of_chat(_chat),
]:
    environment.stop(_faults)
CHAT = environment.chat_of(_chat)  # None means that no chat platform is connected.
SIGN_IN_PROVIDERS = environment.with_chat_application(SIGN_IN_PROVIDERS, CHAT)
AI_PROVIDER = AI_PROVIDER or ("anthropic" if ANTHROPIC_API_KEY else "local")
if AI_PROVIDER == "anthropic" and not ANTHROPIC_API_KEY:
    environment.stop(["AI_PROVIDER cannot be used: anthropic needs ANTHROPIC_API_KEY."])
if AI_PROVIDER == "openai" and not (OPENAI_MODEL and (OPENAI_BASE_URL or OPENAI_API_KEY)):
    environment.stop(
        ["AI_PROVIDER cannot be used: openai needs OPENAI_MODEL, and OPENAI_BASE_URL or OPENAI_API_KEY."]
    )
if AI_PROVIDER == "openai" and find_spec("openai") is None:
    environment.stop(["AI_PROVIDER cannot be used: openai needs the package `openai`, an extra of Colloquy."])

# Derived settings

_site = urlsplit(BASE_URL)
_is_secure = _site.scheme == "https"
BASE_URL = BASE_URL.rstrip("/")
BIND = BIND.strip("[]")
ALLOWED_HOSTS = ALLOWED_HOSTS or ["localhost", "127.0.0.1", "[::1]", str(_site.hostname)]
CSRF_TRUSTED_ORIGINS = [f"{_site.scheme}://{_site.netloc}"]

if os.environ.get("COLLOQUY_SERVERS") == "none":  # Commands like collectstatic set this value.
    DATABASE_URL = DATABASE_URL or "postgresql:///no-database"
    REDIS_URL = REDIS_URL or "redis://no-redis"
try:
    DATABASE_URL = DATABASE_URL or embedded.attach("postgres", var_dir=VAR_DIR)
    REDIS_URL = REDIS_URL or embedded.attach("valkey", var_dir=VAR_DIR)
except CannotStart as error:
    environment.stop([str(error)])

_is_local = environment.is_this_machine(str(_site.hostname))
SECRET_KEY = SECRET_KEY or environment.default_secret_key(
    VAR_DIR / "secret_key", debug=DEBUG, is_local=_is_local
)
if SECRET_KEY == environment.DEVELOPMENT_KEY and not DEBUG:
    environment.stop(["SECRET_KEY cannot be used: it is the public development key, which needs DEBUG."])
if SECRET_KEY in SECRET_KEY_FALLBACKS:
    environment.stop(["SECRET_KEY_FALLBACKS cannot be used: it contains SECRET_KEY itself."])

# Django

INSTALLED_APPS = [
    "config",
    "communities",
    "webhooks",
    "xp",
    "surveys",
    "communities.admin_app.AdminConfig",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",  # The app is for its static file, htmx itself.
]
AUTH_USER_MODEL = "communities.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

MIDDLEWARE = [
    # This is the outermost middleware of all. Its module is not even imported if telemetry is off.
    *(["config.telemetry.TelemetryMiddleware"] if OTEL_EXPORTER_OTLP_ENDPOINT else []),
    "config.metrics.MetricsMiddleware",  # All layers below are counted. It is absent if METRICS is off.
    "surveys.drawing.security.SecurityHeadersMiddleware",  # The errors of all layers below have its headers.
    "communities.gate.middleware.RequestMiddleware",
    "config.bodies.BodyMiddleware",  # This middleware precedes all layers that may read the body.
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    # This middleware skips to the last layer if possible.
    "communities.gate.middleware.SessionlessMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    # This middleware is inside the other layers, because it handles exceptions of its views first.
    "communities.accounts.middleware.AccountAreaMiddleware",
    "communities.gate.middleware.InnermostMiddleware",
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]

TEMPLATES = [
    {
        # The engine of our own pages. A question renders in 0.12 ms of CPU, compared with 0.38 ms for
        # Django's templates.
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "environment": "config.templating.environment",
            "context_processors": ["communities.accounts.frame.context"],
        },
    },
    {
        # The engine of the admin.
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates" / "staff"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader", "config.templating.AppLoader"],
                )
            ],
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
# A password has at least eight characters of any kind. Rules for the kinds of characters make
# passwords worse.
_django = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"{_django}.MinimumLengthValidator", "OPTIONS": {"min_length": 8}},
    {"NAME": f"{_django}.CommonPasswordValidator"},
    {
        "NAME": f"{_django}.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("username", "name", "email")},
    },
    {"NAME": "communities.accounts.passwords.NoWordsOfOurs"},
]

# Accounts: signing in, second factors and connected accounts, by django-allauth with our hooks and templates

LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "account"
ACCOUNT_ADAPTER = "communities.accounts.adapters.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "communities.accounts.adapters.PlatformAdapter"
MFA_ADAPTER = "communities.accounts.adapters.FactorAdapter"
ACCOUNT_LOGIN_METHODS = {"email", "username"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_MAX_EMAIL_ADDRESSES = 5
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False  # `communities.accounts` ends the other sessions.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_RATE_LIMITS = False  # `communities.accounts.limits` counts atomically, and also without Redis.
# The sign-in asks no question, because `communities.accounts.lifetimes` decides.
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True  # The confirmation signs in only the browser that signed up.
ACCOUNT_FORMS = {
    name: f"communities.accounts.forms.{form}"
    for name, form in {
        "login": "SignIn",
        "signup": "SignUp",
        "add_email": "AddAddress",
        "change_password": "ChangePassword",
        "set_password": "SetPassword",
        "reset_password": "AskReset",
        "reset_password_from_key": "ResetPassword",
        "reauthenticate": "Reauthenticate",
    }.items()
}
MFA_FORMS = {
    name: f"communities.accounts.forms.{form}"
    for name, form in {
        "authenticate": "EnterCode",
        "authenticate_webauthn": "EnterPasskey",
        "reauthenticate": "ReauthenticateByCode",
        "activate_totp": "AddAuthenticatorApp",
        "deactivate_totp": "RemoveAuthenticatorApp",
        "generate_recovery_codes": "NewRecoveryCodes",
        "add_webauthn": "AddPasskey",
        "edit_webauthn": "RenamePasskey",
        "login_webauthn": "SignInByPasskey",
        "reauthenticate_webauthn": "ReauthenticateByPasskey",
    }.items()
}
MFA_RATE_LIMITS = False
MFA_ALLOW_UNVERIFIED_EMAIL = True  # People who sign in by an identity provider may have no address.
MFA_RECOVERY_CODES_SHOW_ONCE = True  # `communities.accounts.recovery_codes` stores hashes.
MFA_SUPPORTED_TYPES = ["recovery_codes", "totp", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
# All passkeys were added by devices that support user verification.
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_TRUST_ENABLED = True
MFA_TOTP_ISSUER = "Colloquy"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not _is_secure
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False  # An e-mail address of another site proves nothing.
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"  # No address of another site is stored.
# `communities.services.people.source_tokens` stores the tokens, encrypted.
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_LOGIN_ON_GET = False
SOCIALACCOUNT_FORMS = {"disconnect": "communities.accounts.providers.forms.DisconnectForm"}

# Mail, which the worker sends

globals().update(environment.django_mail(EMAIL_URL, folder=VAR_DIR / "mail"))
DEFAULT_FROM_EMAIL = EMAIL_FROM or f"Colloquy <no-reply@{_site.hostname}>"
EMAIL_TIMEOUT = 15

# Database and cache

DATABASES = {
    "default": environment.django_database(
        DATABASE_URL,
        statement_timeout=STATEMENT_TIMEOUT_SECONDS,
        prepared_statements=PREPARED_STATEMENTS,
    )
}
if DATABASE_REPLICA_URL:
    DATABASES["replica"] = environment.django_database(
        DATABASE_REPLICA_URL,
        statement_timeout=STATEMENT_TIMEOUT_SECONDS,
        prepared_statements=PREPARED_STATEMENTS,
        limits=environment.LIMITS_OF_A_REPLICA,
    )
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "colloquy",
        "OPTIONS": {
            "SOCKET_CONNECT_TIMEOUT": 1,
            "SOCKET_TIMEOUT": 1,
            "CLIENT_CLASS": "config.redis_cache.JsonClient",
            "SERIALIZER": "config.redis_cache.JsonSerializer",
        },
    },
}

# Static files: with hashed names and long expiry after collectstatic, else straight from the apps

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
# A file is found when it is requested, and not with all other files at the start.
WHITENOISE_AUTOREFRESH = not _are_collected

# Security

SESSION_SERIALIZER = "django.contrib.sessions.serializers.JSONSerializer"
SESSION_COOKIE_AGE = 3600 * SESSION_HOURS[0]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _is_secure
# Browsers accept a cookie named __Host- only from exactly this host, and only with TLS.
_prefix = "__Host-" if _is_secure else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_prefix}colloquy_session", f"{_prefix}colloquy_csrf"
KNOWN_BROWSER_COOKIE_NAME = f"{_prefix}colloquy_browser"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
MFA_TRUST_COOKIE_NAME = f"{_prefix}colloquy_trusted"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True  # Forms contain the token, so scripts need not read the cookie.
SECURE_HSTS_SECONDS = 31_536_000 if _is_secure else 0
SECURE_REDIRECT_EXEMPT = [
    r"^healthz$",
    r"^readyz$",
    r"^metrics$",
]  # These addresses are requested inside the network, without TLS.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
# The limit applies everywhere; `communities.gate.bodies` limits each address.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8_388_608
SILENCED_SYSTEM_CHECKS = [
    "security.W002",  # Content-Security-Policy controls framing, with exceptions for embeddable pages.
    "security.W005",  # Subdomains belong to the operator, who may serve them without TLS.
    "security.W021",  # HSTS preloading is the operator's decision.
]

# REST interface

REST_FRAMEWORK = {
    # The default is closed. Only communities.gate.views.CommunityViewSet opens its views.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "communities.gate.schema.AutoSchema",
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
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "communities.gate.schema.add_components",
        "surveys.api.schema.add_components",
        "communities.gate.schema_shared.share",
    ],
    # Relative to the address of the description.
    "SERVERS": [{"url": "/", "description": "The site that serves this description."}],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# Background work: database rows describe the work, and Celery messages only wake the workers

# The name is not CELERY_BROKER_URL, because Celery reads that variable itself and does not understand our
# unix:// URLs.
CELERY_BROKER_READ_URL = CELERY_BROKER_WRITE_URL = environment.celery_broker(CELERY_BROKER_URL or REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
}
# The queues of three workers. The two workers that wait for endpoints and AI providers use threads. Messages
# are not acknowledged, because they only wake a worker, and the rows still describe the work.
CELERY_TASK_QUEUES = [
    Queue(name, Exchange(name), routing_key=name, no_ack=True) for name in ("celery", "webhooks", "ai")
]
# The webhook sweep shares the queue of deliveries, so wakes do not pile up while that worker is down. The
# sweep of AI jobs remains on the default queue, because it must run while all AI threads are busy.
CELERY_TASK_ROUTES = {
    "surveys.make_script": {"queue": "ai"},
    "surveys.run_analysis": {"queue": "ai"},
    "surveys.count_results": {"queue": "ai"},
    "surveys.import_file": {"queue": "ai"},
    "surveys.cancel_bulk": {"queue": "ai"},
    "surveys.count_places": {"queue": "ai"},
    "surveys.ask_further": {"queue": "ai"},
    "webhooks.deliver": {"queue": "webhooks"},
    "webhooks.sweep": {"queue": "webhooks"},
    # This queue has threads, and the task waits for a mail server.
    "communities.send_mails": {"queue": "webhooks"},
    # This queue has threads, and the task waits for hosts of pictures.
    "communities.fetch_pictures": {"queue": "webhooks"},
    # This queue has threads, and the task waits for the chat platform.
    "communities.refresh_members": {"queue": "webhooks"},
    "communities.sweep_chat": {"queue": "webhooks"},
    "communities.check_chat": {"queue": "webhooks"},
    "communities.reconcile_chat": {"queue": "webhooks"},
    "surveys.send_public_message": {"queue": "webhooks"},
    "surveys.remove_public_message": {"queue": "webhooks"},
    "surveys.send_summary": {"queue": "webhooks"},
    "surveys.advance_in_chat": {"queue": "webhooks"},
    "xp.grant_role": {"queue": "webhooks"},
}
CELERY_ACCEPT_CONTENT = ["json"]  # A message in another form, such as a pickle, is refused.
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = CELERY_EVENT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
# The limit does not apply to threads, which cannot be killed. There each step has its own timeout.
CELERY_TASK_SOFT_TIME_LIMIT = 300
CELERY_TASK_TIME_LIMIT = 330
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 3  # seconds. The rows still describe unfinished work.
CELERY_WORKER_ENABLE_SOFT_SHUTDOWN_ON_IDLE = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Each connection is kept. By default Celery opens a connection for each task.
CELERY_DB_REUSE_MAX = 1_000_000_000
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

# Logging

LOGGING_CONFIG = "config.logs.configure"
LOGGING = logs.settings(log_format=logs.default_format(debug=DEBUG), level=LOG_LEVEL, debug=DEBUG)
