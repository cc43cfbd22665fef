"""Forms as browsers send them. Django's test client would send multipart, which our forms refuse."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.test.client import MULTIPART_CONTENT, RequestFactory

CONTENT_TYPE = "application/x-www-form-urlencoded"
_generic, _encode = RequestFactory.generic, RequestFactory._encode_data  # type: ignore[attr-defined]


def send_as_browsers_do() -> None:
    """Let all test clients of this process send forms as browsers do."""
    RequestFactory._encode_data = _encoded  # type: ignore[attr-defined]
    RequestFactory.generic = _sent  # type: ignore[method-assign, assignment]


def _encoded(factory: RequestFactory, data: Any, content_type: str) -> bytes:
    if content_type is MULTIPART_CONTENT:
        return urlencode(data, doseq=True).encode()
    encoded: bytes = _encode(factory, data, content_type)
    return encoded


def _sent(
    factory: RequestFactory,
    method: str,
    path: str,
    data: Any = "",
    content_type: str | None = "application/octet-stream",
    *arguments: Any,
    **more: Any,
) -> Any:
    if content_type is MULTIPART_CONTENT:
        content_type = CONTENT_TYPE
    return _generic(factory, method, path, data, content_type, *arguments, **more)
