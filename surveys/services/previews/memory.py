"""Where a preview's walk is stored: signed in its form, and for a day in the cache, never in a table.

The form alone is enough to continue, also while Redis is down. The cache makes the walk available after a
reload, and in the panel beside the page.
"""

from __future__ import annotations

from typing import Any

import orjson
import structlog
from django.core import signing
from django.core.cache import cache
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from surveys.services.previews.walk import Walk

KEPT_FOR = 24 * 3600  # seconds
MOST_KEPT = 8  # walks of one person
MOST_BYTES = 262_144  # of all these walks; beyond this limit the walks that were unused longest are deleted
_SALT = "surveys.preview"

log = structlog.get_logger("colloquy.preview")


def seal(place: str, walk: Walk) -> str:
    """The walk as a signed text. `place` identifies the person and the previewed script."""
    return signing.dumps(walk.as_json(), salt=f"{_SALT}:{place}", compress=True)


def unsealed(place: str, sent: str) -> Walk | None:
    """The walk in a signed text of this place; None if there is none."""
    try:
        return Walk.from_json(signing.loads(sent, salt=f"{_SALT}:{place}"))
    except (signing.BadSignature, KeyError, TypeError):
        return None


def remember(place: str, walk: Walk) -> bool:
    """Store the walk for a reload. Returns whether that worked: a single walk may have too many bytes."""
    try:
        kept = {name: each for name, each in _kept(place).items() if name != place} | {place: walk.as_json()}
        while len(kept) > MOST_KEPT or len(orjson.dumps(kept)) > MOST_BYTES:
            del kept[next(iter(kept))]
        cache.set(_key(place), kept, KEPT_FOR)
    except (ConnectionInterrupted, RedisError) as fault:
        log.warning("preview.not_kept", reason=str(fault)[:200])
        return False
    return place in kept


def recall(place: str) -> Walk | None:
    """The walk that was stored last."""
    try:
        values = _kept(place).get(place)
        return None if values is None else Walk.from_json(values)
    except (ConnectionInterrupted, RedisError):
        return None
    except (KeyError, TypeError, AttributeError, ValueError):  # the cached value is not in our format
        return None


def _kept(place: str) -> dict[str, Any]:
    """The walks of the place's person, in the order of their last use."""
    kept: dict[str, Any] = cache.get(_key(place)) or {}
    return kept


def _key(place: str) -> str:
    return f"previews:{place.partition(':')[0]}"
