"""What every process checks before it serves or works: that it suits the database."""

from __future__ import annotations

import structlog
from django.db import DatabaseError, connection

from config import environment, secret_key

log = structlog.get_logger("colloquy.startup")


def check() -> None:
    """Exit with a sentence if this process does not suit its database.

    A database that does not answer, or has no tables yet, is not checked: `/readyz` tells about it.
    """
    try:
        is_right = secret_key.is_right()
        if is_right:
            secret_key.record()
    except DatabaseError as error:
        log.warning("startup.unchecked", failure=type(error).__name__)
        return
    finally:
        connection.close()  # processes that are forked from this one must not share it
    if not is_right:
        environment.stop([secret_key.WRONG])
