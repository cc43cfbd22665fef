"""The check that a process fits its database. Every process makes the check before it serves or works."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib.metadata import version

import psycopg
import structlog
from django.conf import settings
from django.db import DatabaseError, connection, connections
from redis.exceptions import RedisError

from communities.ground import redis_connection, replica, sealing
from config import checks, environment, secret_key
from config.postgresql import pooler

log = structlog.get_logger("colloquy.startup")


def check() -> None:
    """Log the versions of this process and its servers (rule 12.590), and exit with a sentence if it does not
    fit its database.

    A database that does not respond, or that has no tables yet, is not checked; `/readyz` reports it.
    """
    try:
        log.info("startup.versions", **_versions())
        sentences = _problems()
    except (DatabaseError, psycopg.Error) as error:
        log.warning("startup.unchecked", failure=type(error).__name__)
        return
    finally:
        connections.close_all()  # Processes that are forked from this process must not share connections.
    if sentences:
        environment.stop(sentences)


def check_proxy() -> None:
    """Log a sentence if requests by https cannot be known as such. Only web processes get requests."""
    if checks.lacks_proxy():
        log.warning("startup.proxy", problem=checks.NO_PROXY)


def _versions() -> dict[str, str]:
    """The versions of this process and its servers; a server that does not respond is left out."""
    versions: dict[str, str] = {
        "colloquy": str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        "python": platform.python_version(),
        "django": version("django"),
    }
    with suppress(DatabaseError, psycopg.Error):
        connection.ensure_connection()
        major, minor = divmod(connection.connection.info.server_version, 10_000)
        versions["postgresql"] = f"{major}.{minor}"
    with suppress(RedisError, OSError):
        versions["redis"] = str(redis_connection.client().info("server")["redis_version"])
    return versions


def _problems() -> list[str]:
    sentences = []
    if settings.PREPARED_STATEMENTS and not pooler.keeps_prepared_statements():
        sentences.append(pooler.LOSES_STATEMENTS.format("DATABASE_URL"))
    if replica.is_set():
        sentences += _problems_of_replica()
    if not secret_key.is_right():
        sentences.append(secret_key.WRONG)
    else:
        secret_key.record()
        sealing.hash_root()  # No request reads it later.
    return sentences


def _problems_of_replica() -> list[str]:
    """Log a replica that is not read now, which stops nothing; return the sentence about its pooler."""
    state = replica.measure(max_wait=settings.DATABASE_REPLICA_SECONDS).state
    if state != replica.State.OK:
        log.warning("startup.replica", state=state)
    if state == replica.State.UNAVAILABLE or not settings.PREPARED_STATEMENTS:
        return []
    with replica.instead_of_primary():
        is_right = pooler.keeps_prepared_statements()
    return [] if is_right else [pooler.LOSES_STATEMENTS.format("DATABASE_REPLICA_URL")]
