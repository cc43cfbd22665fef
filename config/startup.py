"""The check that a process fits its database. Every process makes the check before it serves or works."""

from __future__ import annotations

import psycopg
import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from communities.ground import sealing
from config import environment, secret_key
from config.postgresql import pooler

log = structlog.get_logger("colloquy.startup")


def check() -> None:
    """Exit with a sentence if this process does not fit its database.

    A database that does not respond, or that has no tables yet, is not checked; `/readyz` reports it.
    """
    try:
        sentences = _problems()
    except (DatabaseError, psycopg.Error) as error:
        log.warning("startup.unchecked", failure=type(error).__name__)
        return
    finally:
        connection.close()  # Processes that are forked from this process must not share the connection.
    if sentences:
        environment.stop(sentences)


def _problems() -> list[str]:
    sentences = []
    if settings.PREPARED_STATEMENTS and not pooler.keeps_prepared_statements():
        sentences.append(pooler.LOSES_STATEMENTS)
    if not secret_key.is_right():
        sentences.append(secret_key.WRONG)
    else:
        secret_key.record()
        sealing.hash_root()  # No request reads it later.
    return sentences
