"""What those who look after the installation ask: is the process up, and can it work?"""

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
def process_is_up(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def servers_answer(request: HttpRequest) -> JsonResponse:
    """200 where both servers answer, else 503; each is named with its own state."""
    states = {"database": _state("database", _ask_database), "redis": _state("redis", _ask_redis)}
    is_ready = set(states.values()) == {"ok"}
    body = {"status": "ok" if is_ready else "unavailable", **states}
    return JsonResponse(body, status=200 if is_ready else 503)


def _state(name: str, ask: Callable[[], None]) -> str:
    try:
        ask()
    except (DatabaseError, RedisError, OSError) as failure:
        log.warning("A server does not answer.", server=name, failure=type(failure).__name__)
        return "unavailable"
    return "ok"


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    cache.get("readyz")
