"""The OpenAPI description of the interface, which is public."""

import hashlib
from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import condition, require_safe
from drf_spectacular.generators import SchemaGenerator


def _etag(_: HttpRequest) -> str:
    return f'"{hashlib.sha256(_schema()).hexdigest()[:32]}"'


@csrf_exempt  # `require_safe` refuses what could change something
@require_safe
@gzip_page
@cache_control(max_age=300)
@condition(etag_func=_etag)
def schema(request: HttpRequest) -> HttpResponse:
    """The description, which is public. A copy that the client has is not sent again."""
    return HttpResponse(_schema(), content_type="application/json")


@cache
def _schema() -> bytes:
    """Return the description, generated once for each process, which takes about a second. It does not change
    at runtime.
    """
    description = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(description, option=orjson.OPT_NON_STR_KEYS, default=str)


def description() -> dict[str, Any]:
    """Return the OpenAPI description as plain JSON."""
    read: dict[str, Any] = orjson.loads(_schema())
    return read
