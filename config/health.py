"""Health checks: whether the process is up, and whether it can do its work with its servers."""

from collections.abc import Callable

import structlog
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from communities.ground import replica
from config import secret_key

log = structlog.get_logger(__name__)
NOT_NEEDED = {"redis", "replica"}  # Without these servers no request fails.

# Writes that leave no dead rows and need no lock on which others would wait. The first takes a number of a
# sequence, which a read-only server refuses. The second writes 128 kB to a temporary file, which a full disk
# refuses. (An update of a row could reuse the space of an earlier row.) Both take 0.5 ms of the database's
# CPU.
_WRITE = """
    SET LOCAL statement_timeout = '3s';
    SET LOCAL synchronous_commit = off;
    SET LOCAL work_mem = '64kB';
    WITH spilled AS MATERIALIZED (SELECT repeat('x', 16384) FROM generate_series(1, 8))
    SELECT nextval('config_readiness'), (SELECT count(*) FROM spilled)
"""


@csrf_exempt
@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Return 200 as long as the process answers (rule 12.6)."""
    return JsonResponse({"status": "ok"})


@csrf_exempt
@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Return 200 if the database answers and accepts writes, and SECRET_KEY is the right key; else 503
    (rule 12.16).

    Without Redis no request fails, so the process is ready, but `degraded`; so it is without the replica
    (rule 12.942).
    """
    looked_up = states()
    broken = {name for name, state in looked_up.items() if state != "ok"}
    status = "unavailable" if broken - NOT_NEEDED else "degraded" if broken else "ok"
    return JsonResponse({"status": status, **looked_up}, status=503 if status == "unavailable" else 200)


def states() -> dict[str, str]:
    """The state of the database, Redis, the SECRET_KEY, and the replica if there is one: `ok`, or the
    problem.
    """
    database, key = _state("database", _query_database), "unknown"
    if database == "ok":
        key = _key_state()
        database = _state("database", _write_to_database, failed="unwritable")
    looked_up = {"database": database, "redis": _state("redis", _query_redis), "secret_key": key}
    if replica.is_set() and database != "unavailable":
        looked_up["replica"] = replica.state()
    return looked_up


def _state(name: str, query: Callable[[], None], *, failed: str = "unavailable") -> str:
    try:
        query()
    except (DatabaseError, RedisError, OSError) as error:
        cause = type(error.__cause__ or error).__name__
        log.warning("A server does not answer, or refuses to write.", server=name, failure=cause)
        return failed
    return "ok"


def _key_state() -> str:
    try:
        return "ok" if secret_key.is_right() else "wrong"
    except DatabaseError:
        return "unknown"


def _query_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _write_to_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_WRITE)


def _query_redis() -> None:
    cache.get("readyz")
