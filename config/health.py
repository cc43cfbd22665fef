"""Health checks: whether the process is up, and whether it can reach its servers."""

from collections.abc import Callable

import structlog
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if the database and Redis answer, else 503, with the state of each."""
    states = {"database": _state("database", _query_database), "redis": _state("redis", _query_redis)}
    is_ready = set(states.values()) == {"ok"}
    body = {"status": "ok" if is_ready else "unavailable", **states}
    return JsonResponse(body, status=200 if is_ready else 503)


def _state(name: str, query: Callable[[], None]) -> str:
    try:
        query()
    except (DatabaseError, RedisError, OSError) as error:
        log.warning("A server does not answer.", server=name, failure=type(error).__name__)
        return "unavailable"
    return "ok"


def _query_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _query_redis() -> None:
    cache.get("readyz")
