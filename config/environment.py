"""What the environment may say about an installation; every wrong value is told at the start, by name."""

import os
import secrets
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import psycopg
from environs import Env, EnvValidationError, ValidationError
from psycopg.conninfo import conninfo_to_dict

KEY_FOR_DEVELOPMENT = "django-insecure-only-for-development-with-debug-on"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LIBPQ_TO_DJANGO = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def between(least: int, most: int) -> Callable[[float], None]:
    """A check that a number lies within its bounds, both included."""

    def check(number: float) -> None:
        if not least <= number <= most:
            raise ValidationError(f"it must be between {least} and {most}.")

    return check


def is_web_address(text: str) -> None:
    """A check that this is where a site can be: http or https, a host, and nothing behind it."""
    try:
        parts = urlsplit(text)
        names_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        names_host = False
    if not names_host or parts.scheme not in {"http", "https"} or parts.path.strip("/") or parts.query:
        raise ValidationError("it must be an address like https://surveys.example.org.")


def is_base_url(text: str) -> None:
    """A check that this is where an interface can be: http or https, a host, and perhaps a path."""
    try:
        parts = urlsplit(text)
        names_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        names_host = False
    if text and (not names_host or parts.scheme not in {"http", "https"} or parts.query):
        raise ValidationError("it must be an address like https://api.example.org.")


def is_database_url(text: str) -> None:
    """A check that libpq understands the URL; its own words are not repeated, for they hold the password."""
    try:
        names_postgres = not text or text.startswith(("postgres://", "postgresql://"))
        conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        names_postgres = False
    if not names_postgres:
        raise ValidationError("it must be a URL like postgresql://user:password@host:5432/name.")


def is_redis_url(text: str) -> None:
    """A check that this is a URL of a Redis or Valkey, by network or by Unix socket."""
    if text and urlsplit(text).scheme not in {"redis", "rediss", "unix"}:
        raise ValidationError("it must be a URL like redis://host:6379/0 or unix:///path/to/socket?db=0.")


def is_one_of(*choices: str) -> Callable[[str], None]:
    """A check that this is one of some words."""

    def check(text: str) -> None:
        if text not in choices:
            raise ValidationError(f"it must be one of {', '.join(filter(None, choices))}.")

    return check


def is_blank_or_token(text: str) -> None:
    """A check that this can be sent in a header, where it is not blank."""
    if text:
        is_token(text)


def is_token(text: str) -> None:
    """A check that this can be sent in a header, and is not empty by mistake."""
    if not text or not all("!" <= character <= "~" for character in text):
        raise ValidationError("it must be visible ASCII characters, without blanks.")


def is_named_host_list(hosts: list[str]) -> None:
    """A check that hosts are given without scheme, port or blanks."""
    wrong = [host for host in hosts if "/" in host or " " in host]
    if wrong:
        raise ValidationError(f"it must be host names with commas between them, and {wrong[0]!r} is none.")


def stop_at_wrong_values(env: Env) -> None:
    """End the start with one sentence for each variable that cannot be used."""
    try:
        env.seal()
    except EnvValidationError as invalid:
        errors = invalid.error_messages
        assert isinstance(errors, dict)
        stop([f"{name} cannot be used: {_as_clause(messages)}" for name, messages in sorted(errors.items())])


def stop(sentences: list[str]) -> NoReturn:
    """End the start with these sentences on standard error and the exit code 1."""
    sys.exit("\n".join(sentences))


def _as_clause(messages: Any) -> str:
    text = str(messages[0] if isinstance(messages, list) else messages)
    return text[:1].lower() + text[1:]


def django_database(url: str, *, statement_timeout: int) -> dict[str, Any]:
    """A libpq URL as Django's settings, with time limits that free the locks of what hangs.

    `statement_timeout` is in seconds; 0 is none.
    """
    parts = dict(conninfo_to_dict(url))
    named = {theirs: str(parts.pop(ours)) for ours, theirs in LIBPQ_TO_DJANGO.items() if ours in parts}
    limits = {
        "statement_timeout": statement_timeout,
        "lock_timeout": 10,
        "idle_in_transaction_session_timeout": 60,
    }
    as_options = [f"-c {name}={seconds}s" for name, seconds in limits.items()]
    # Within a minute the locks of a machine that has lost power are free.
    as_options += ["-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"]
    options = " ".join([*as_options, str(parts.pop("options", ""))]).strip()
    return {
        "ENGINE": "config.postgresql",
        "NAME": "colloquy",
        **named,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 5,
            "application_name": "colloquy",
            "prepare_threshold": 2,  # for communities.statements; what the ORM sends is never prepared
            **parts,
            "options": options,
        },
    }


def celery_broker(redis_url: str) -> str:
    """Celery spells a Unix socket in its own way."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    number = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair).get("db", "0")
    return f"redis+socket://{parts.path}?virtual_host={number}"


def secret_key(file: Path, *, debug: bool, may_make: bool) -> str:
    """The key of an installation that was told none: made and kept on one machine; a known one under DEBUG.

    Elsewhere several machines may serve the site, who would each make their own, so the start stops.
    """
    if file.exists() or may_make:
        return kept_secret(file)
    if debug:
        return KEY_FOR_DEVELOPMENT
    return stop(["SECRET_KEY is not set: a site at an address of its own needs 50 random characters."])


def _write_once(file: Path, text: str) -> None:
    """Write beside the place and link it there: of two processes one wins, and nobody reads half a file."""
    descriptor, beside = tempfile.mkstemp(dir=file.parent)  # readable for the owner alone
    try:
        with open(descriptor, "w") as new:
            new.write(text)
        with suppress(FileExistsError):
            os.link(beside, file)
    finally:
        os.unlink(beside)


def kept_secret(file: Path) -> str:
    """The secret key of a machine that was given none, made once and readable for its owner alone."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _write_once(file, secrets.token_urlsafe(64))
    except PermissionError:
        stop([f"VAR_DIR is {file.parent}, which cannot be written: name another folder, or set SECRET_KEY."])
    try:
        return file.read_text().strip()
    except PermissionError:
        stop([f"SECRET_KEY is not set, and {file} belongs to another user: set it, or another VAR_DIR."])
