"""The OpenAPI description that this version generates."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from drf_spectacular.generators import SchemaGenerator


@cache
def described() -> dict[str, Any]:
    """The description as plain JSON."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return orjson.loads(orjson.dumps(schema, default=str, option=orjson.OPT_NON_STR_KEYS))
