"""Reads and checks environment variables. Any wrong value stops the start with a sentence that names it."""

import ipaddress
import os
import re
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.utils import parseaddr
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import psycopg
from environs import Env, EnvValidationError, ValidationError
from psycopg.conninfo import conninfo_to_dict

from communities.identity_providers import ProviderCredentials

SHORTEST_KEY = 20
DEVELOPMENT_KEY = "django-insecure-only-for-development-with-debug-on"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LIBPQ_TO_DJANGO = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
# A reading leaves a replica whose machine has vanished after so many seconds, and uses the primary.
LIMITS_OF_A_REPLICA = {
    "connect_timeout": 2,
    "tcp_user_timeout": 5_000,  # milliseconds
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}


def between(minimum: float, maximum: float) -> Callable[[float], None]:
    """A check that a number is within these bounds, inclusive."""

    def check(number: float) -> None:
        if not minimum <= number <= maximum:
            raise ValidationError(f"it must be between {minimum} and {maximum}.")

    return check


def is_web_address(text: str) -> None:
    """A check for the address of a site: http or https, a host, perhaps a port, and no path."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        has_host = False
    if not has_host or parts.scheme not in {"http", "https"} or parts.path.strip("/") or parts.query:
        raise ValidationError("it must be an address like https://surveys.example.org.")


def is_bind_address(text: str) -> None:
    """A check for an address to listen on: an IP address, or a host name that can be resolved."""
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        try:
            socket.getaddrinfo(text, None)
        except (OSError, UnicodeError):
            message = "it must be an address of this machine, like 127.0.0.1 or 0.0.0.0."
            raise ValidationError(message) from None


def is_this_machine(host: str) -> bool:
    """Whether a host, as in BIND, can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_base_url(text: str) -> None:
    """A check for the base URL of an API: http or https, a host, and perhaps a path. It may be blank."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        has_host = False
    if text and (not has_host or parts.scheme not in {"http", "https"} or parts.query):
        raise ValidationError("it must be an address like https://api.example.org.")


def is_telemetry_address(text: str) -> None:
    """A check for the address of a collector of traces, which needs its packages. It may be blank."""
    is_base_url(text)
    if text and find_spec("opentelemetry.sdk") is None:
        raise ValidationError("it needs the packages of the extra `telemetry`, which are not installed.")


def is_database_url(text: str) -> None:
    """Check that libpq accepts the URL. The message of libpq is not repeated, because it contains the
    password.
    """
    try:
        is_postgres = not text or text.startswith(("postgres://", "postgresql://"))
        conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        is_postgres = False
    if not is_postgres:
        raise ValidationError("it must be a URL like postgresql://user:password@host:5432/name.")


def is_redis_url(text: str) -> None:
    """A check for the URL of a Redis or Valkey, over the network or a Unix socket. It may be blank."""
    if text and urlsplit(text).scheme not in {"redis", "rediss", "unix"}:
        raise ValidationError("it must be a URL like redis://host:6379/0 or unix:///path/to/socket?db=0.")


def is_one_of(*choices: str) -> Callable[[str], None]:
    """A check for one of these words."""

    def check(text: str) -> None:
        if text not in choices:
            raise ValidationError(f"it must be one of {', '.join(filter(None, choices))}.")

    return check


def is_blank_or_token(text: str) -> None:
    """A check that this is blank or can be sent in a header."""
    if text:
        is_token(text)


def is_token(text: str) -> None:
    """A check that this can be sent in a header and is not empty."""
    if not text or not all("!" <= character <= "~" for character in text):
        raise ValidationError("it must consist of visible ASCII characters without spaces.")


def is_named_host_list(hosts: list[str]) -> None:
    """A check that hosts have no scheme, path or spaces."""
    invalid = [host for host in hosts if "/" in host or " " in host]
    if invalid:
        raise ValidationError(f"it must be host names separated by commas; {invalid[0]!r} is not one.")


def are_secret_keys(keys: list[str]) -> None:
    """A check that keys are as long as a SECRET_KEY should be."""
    if any(len(key.strip()) < SHORTEST_KEY for key in keys):
        raise ValidationError(f"each key needs {SHORTEST_KEY} characters or more, separated by commas.")


def stop_on_wrong_values(env: Env) -> None:
    """Exit with one sentence for each variable that has a wrong value (rule 12.1)."""
    try:
        env.seal()
    except EnvValidationError as error:
        errors = error.error_messages
        assert isinstance(errors, dict)
        stop([f"{name} cannot be used: {_as_clause(messages)}" for name, messages in sorted(errors.items())])


def stop(sentences: list[str]) -> NoReturn:
    """Exit with code 1 and these sentences on standard error."""
    sys.exit("\n".join(sentences))


def _as_clause(messages: Any) -> str:
    text = str(messages[0] if isinstance(messages, list) else messages)
    return text[:1].lower() + text[1:]


MAIL_SCHEMES = {"smtp": 587, "smtps": 465}


def is_mail_url(text: str) -> None:
    """A check for the URL of a mail server. It may be blank."""
    try:
        parts = urlsplit(text)
        is_server = parts.scheme in MAIL_SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_server = False
    if text and (not is_server or parts.path.strip("/") or parts.query):
        raise ValidationError("it must be a URL like smtp://user:password@host:587 or smtps://host.")


def is_blank_or_sender(text: str) -> None:
    """A check that this is blank, or an address from which mails can be sent, with or without a name."""
    _, address = parseaddr(text)
    if text and ("@" not in address or not text.isprintable()):
        raise ValidationError("it must be an address like Colloquy <surveys@example.org>.")


def django_mail(url: str, *, folder: Path) -> dict[str, Any]:
    """Django's settings for a mail server, or for mails as files in a folder if the URL is blank.

    `smtp` encrypts after connecting (STARTTLS) if a password is sent, and `smtps` encrypts from the start.
    """
    if not url:
        return {
            "EMAIL_BACKEND": "config.mail_files.EmailBackend",
            "EMAIL_FILE_PATH": str(folder),
        }
    parts = urlsplit(url)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or MAIL_SCHEMES[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and bool(parts.username),
    }


def sign_in_provider(env: Env, provider: str) -> ProviderCredentials:
    """Read the credentials of one identity provider (rule 12.12)."""
    prefix = f"SIGN_IN_{provider.upper()}_"
    return ProviderCredentials(
        provider,
        env.str(f"{prefix}CLIENT_ID", "", validate=is_blank_or_token),
        env.str(f"{prefix}CLIENT_SECRET", "", validate=is_blank_or_token),
        env.str(f"{prefix}BASE_URL", "", validate=is_base_url).rstrip("/"),
    )


def half_configured_providers(providers: Mapping[str, ProviderCredentials]) -> list[str]:
    """A sentence for each identity provider that has some credentials, but not all that it needs."""
    return [
        f"SIGN_IN_{name.upper()}_CLIENT_{'SECRET' if provider.client_id else 'ID'} is not set: "
        "an identity provider needs both its id and its secret."
        if provider.needs_client_id
        else f"SIGN_IN_{name.upper()}_CLIENT_SECRET is not set: it is the platform's web API key."
        for name, provider in providers.items()
        if (provider.client_id or provider.client_secret) and not provider.is_offered
    ]


CHAT_API = "https://discord.com/api/v10"


@dataclass(frozen=True, slots=True)
class ChatApplication:
    """Our application on the chat platform: its id, the key that signs its requests, its secrets."""

    application_id: str
    public_key: str
    bot_token: str = field(repr=False)
    client_secret: str = field(repr=False)
    api_base_url: str


def is_blank_or_public_key(text: str) -> None:
    """A check that this is blank, or an Ed25519 key in hex that accepts only signatures of its owner."""
    if not text:
        return
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise ValidationError("it must be the application's public key: 64 hexadecimal digits.")
    # The import is here because it takes 50 ms, and only installations with the variable need it.
    from nacl.bindings import crypto_core_ed25519_is_valid_point  # noqa: PLC0415

    # The result is False for points of small order, too, which accept forged signatures.
    if not crypto_core_ed25519_is_valid_point(bytes.fromhex(text)):
        raise ValidationError("it is no public key of an application.")


def is_blank_or_id(text: str) -> None:
    """A check that this is blank, or an id of the chat platform."""
    if text and not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise ValidationError("it must be an id of the chat platform, in digits.")


def chat_application(env: Env) -> dict[str, str]:
    """Read the application's variables, by their names."""
    return {
        "CHAT_APPLICATION_ID": env.str("CHAT_APPLICATION_ID", "", validate=is_blank_or_id),
        "CHAT_PUBLIC_KEY": env.str("CHAT_PUBLIC_KEY", "", validate=is_blank_or_public_key),
        "CHAT_BOT_TOKEN": env.str("CHAT_BOT_TOKEN", "", validate=is_blank_or_token),
        "CHAT_CLIENT_SECRET": env.str("CHAT_CLIENT_SECRET", "", validate=is_blank_or_token),
        "CHAT_API_BASE_URL": env.str("CHAT_API_BASE_URL", "", validate=is_base_url),
    }


def missing_of_chat(variables: Mapping[str, str]) -> list[str]:
    """Return a sentence that names the missing variables, if only some of the application's variables are set
    (rule 12.13).
    """
    wanted = [name for name in variables if name != "CHAT_API_BASE_URL"]
    missing = [name for name in wanted if not variables[name]]
    if not missing or len(missing) == len(wanted):
        return []
    verb = "is" if len(missing) == 1 else "are"
    return [f"{' and '.join(missing)} {verb} not set: the chat platform needs {', '.join(wanted)}."]


def chat_of(variables: Mapping[str, str]) -> ChatApplication | None:
    """The application, if its variables are set."""
    if not variables["CHAT_APPLICATION_ID"]:
        return None
    return ChatApplication(
        variables["CHAT_APPLICATION_ID"],
        variables["CHAT_PUBLIC_KEY"],
        variables["CHAT_BOT_TOKEN"],
        variables["CHAT_CLIENT_SECRET"],
        (variables["CHAT_API_BASE_URL"] or CHAT_API).rstrip("/"),
    )


def with_chat_application(
    providers: Mapping[str, ProviderCredentials], application: ChatApplication | None
) -> dict[str, ProviderCredentials]:
    """Return the identity providers. The chat platform uses our application, unless it has its own
    credentials.
    """
    chat = providers["chat"]
    if application is None or chat.client_id or chat.client_secret:
        return dict(providers)
    own = replace(chat, client_id=application.application_id, client_secret=application.client_secret)
    return {**providers, "chat": own}


def django_database(
    url: str,
    *,
    statement_timeout: int,
    prepared_statements: bool = True,
    limits: Mapping[str, int] = MappingProxyType({"connect_timeout": 5}),
) -> dict[str, Any]:
    """Django's settings for a libpq URL, with timeouts after which a hanging session releases its locks.

    `statement_timeout` is in seconds; 0 means no limit. `limits` are parameters of libpq that the URL may
    replace.
    """
    parts = dict(conninfo_to_dict(url))
    address = {key: str(parts.pop(name)) for name, key in LIBPQ_TO_DJANGO.items() if name in parts}
    timeouts = {
        "statement_timeout": statement_timeout,
        "lock_timeout": 10,
        "idle_in_transaction_session_timeout": 60,
    }
    options = [f"-c {name}={seconds}s" for name, seconds in timeouts.items()]
    # With these options, the locks of a client machine that loses power are released within a minute.
    options += ["-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"]
    options += [str(parts.pop("options", ""))]
    return {
        "ENGINE": "config.postgresql",
        "NAME": "colloquy",
        **address,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **limits,
            "application_name": "colloquy",
            # The value is for communities.ground.statements, because the ORM's own statements are never
            # prepared.
            "prepare_threshold": 2 if prepared_statements else None,
            **parts,
            "options": " ".join(options).strip(),
        },
    }


def celery_broker(redis_url: str) -> str:
    """The URL in Celery's syntax, which differs for Unix sockets."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    number = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair).get("db", "0")
    return f"redis+socket://{parts.path}?virtual_host={number}"


def default_secret_key(file: Path, *, debug: bool, is_local: bool) -> str:
    """Return the key of an installation without SECRET_KEY. On a local installation, the key is generated and
    stored in `file`.

    Any other site may have several machines. Each would generate a different key, so the start stops. With
    `debug` a public development key is used.
    """
    if file.exists() or is_local:
        return stored_secret(file)
    if debug:
        return DEVELOPMENT_KEY
    return stop(["SECRET_KEY is not set: unless BASE_URL is this machine, it must be 50 random characters."])


def _write_once(file: Path, text: str) -> None:
    """Write a new file unless it exists. If two processes write, one succeeds, and none reads a half-written
    file.
    """
    descriptor, temporary = tempfile.mkstemp(dir=file.parent)  # Only the owner can read the file.
    try:
        with open(descriptor, "w") as new:
            new.write(text)
        with suppress(FileExistsError):
            os.link(temporary, file)
    finally:
        os.unlink(temporary)


def stored_secret(file: Path) -> str:
    """The secret in this file, generated on the first call. Only the file's owner can read it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _write_once(file, secrets.token_urlsafe(64))
    except PermissionError:
        stop([f"VAR_DIR is {file.parent}, which cannot be written: set another folder, or set SECRET_KEY."])
    try:
        return file.read_text().strip()
    except PermissionError:
        stop([f"SECRET_KEY is not set, and {file} belongs to another user: set SECRET_KEY or VAR_DIR."])
