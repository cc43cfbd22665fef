"""Django's cache in Redis. Values are JSON, because unpickling could run code that an attacker has stored
(rule 12.8).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson
from django_redis.client import DefaultClient
from django_redis.serializers.base import BaseSerializer

from communities.ground import wire

_MISSING = object()


class JsonSerializer(BaseSerializer):  # type: ignore[misc] # django-redis has no types
    def dumps(self, value: Any) -> bytes:
        return wire.render(value)

    def loads(self, value: bytes) -> Any:
        return orjson.loads(value)


class JsonClient(DefaultClient):  # type: ignore[misc] # django-redis has no types
    """A cache client that treats a value that is not JSON as absent."""

    def get(self, key: str, default: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().get(key, default, *args, **kwargs)
        except orjson.JSONDecodeError:
            return default

    def get_many(self, keys: Collection[str], *args: Any, **kwargs: Any) -> dict[str, Any]:
        found = {key: self.get(key, _MISSING, *args, **kwargs) for key in keys}
        return {key: value for key, value in found.items() if value is not _MISSING}
